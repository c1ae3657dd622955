"""Tests may be asynchronous, and those of a module may share a server."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator

import pytest

from tests.lsp.editor import PATIENCE, Editor


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The event loop of the asynchronous tests of a module."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def editor(loop: asyncio.AbstractEventLoop) -> Iterator[Editor]:
    """An editor of a trusted workspace, for tests that open files of their own."""
    editor = loop.run_until_complete(Editor().__aenter__())
    yield editor
    loop.run_until_complete(editor.__aexit__(None, None, None))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine to its end; other tests are run as always."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    test = asyncio.wait_for(pyfuncitem.obj(**arguments), 4 * PATIENCE)
    loop = pyfuncitem.funcargs.get("loop")
    if isinstance(loop, asyncio.AbstractEventLoop):
        loop.run_until_complete(test)
    else:
        asyncio.run(test)
    return True
