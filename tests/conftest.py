"""Shared fixtures and options: the files and operators of the installed torch, and which tests need them."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from derivlint.schema import NativeFunctions, load_index, read_native_functions
from derivlint.source import SourceFile
from tests.precompiled import begin, compiler

#: The markers of tests that ``--light`` skips.
HEAVY = ("full", "growth", "long", "tools", "torch")
#: The markers of files to run first, in order; the slowest folders come before the last marker.
FIRST = ("forks", "long", "tools", "growth")
SLOW = ("emit", "emit_python", "lsp", "lint", "operators", "safety", "verify")
#: The folders and files of ``-m quick``: the most effective tests, in two minutes.
QUICK = (
    *("analysis", "cpp", "formats", "formula", "graph", "model", "rules", "schema", "slips", "source", "yaml_reader"),
    "cli/test_check.py",
    "cli/test_fix.py",
    "conformance/test_historical_bugs.py",
    "conformance/test_mutants.py",
    "conformance/test_released_findings.py",
    "conformance/test_semantic_mutants.py",
    "test_layers.py",
)
#: The fixtures that need PyTorch.
FIXTURES = frozenset({"packaged", "precompiled_headers", "toolchain"})
TESTS = Path(__file__).parent
#: The modules that ``--light`` does without.
TORCH = ("numpy", "torch", "torchgen")


#: Environment variables of users that change the output of child processes.
PREFERENCES = ("DERIVLINT_DEBUG", "DERIVLINT_OUTPUT_FORMAT", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE")


def pytest_configure(config: pytest.Config) -> None:
    """Run child processes without the user's environment variables."""
    for name in PREFERENCES:
        os.environ.pop(name, None)
    # read when modules are imported, here and in the workers
    if config.getoption("campaign"):
        os.environ["DERIVLINT_CAMPAIGN"] = "1"
        if config.option.markexpr == "not full":
            config.option.markexpr = ""
    if config.getoption("update"):
        os.environ["DERIVLINT_UPDATE_GOLDEN"] = "1"
    # what a loaded machine can miss says nothing about the code: neither a time for one example nor one for all; on CI
    # the examples are the same in every run, and new ones are the business of fuzz/
    settings.register_profile(
        "derivlint",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=bool(os.environ.get("CI")),
        max_examples=300 if config.getoption("campaign") else 100,
        print_blob=True,
    )
    settings.load_profile("derivlint")
    # one worker per processor: further threads of PyTorch would only spin
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # models have cycles and live long: the default thresholds of the collector take a sixth of the time
    gc.set_threshold(200_000, 50, 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--light", action="store_true", help="leave out what needs PyTorch, ruff or pre-commit, or takes long"
    )
    parser.addoption("--update", action="store_true", help="write the golden files again; read what changes")
    parser.addoption("--campaign", action="store_true", help="run all of what is sampled by default; this takes hours")


@cache
def is_quick(path: Path) -> bool:
    """Whether a file is among the quick ones."""
    return any(path.is_relative_to(TESTS / name) for name in QUICK)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the import of other files with ``-m quick``."""
    if config.option.markexpr == "quick" and collection_path.suffix == ".py" and not is_quick(collection_path):
        return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Collect no tests from modules that import PyTorch, directly or not, with ``--light``."""
    report = yield
    if not collector.config.getoption("light") or report.outcome != "failed":
        return report
    call: pytest.CallInfo[object] | None = getattr(report, "call", None)
    cause = call.excinfo.value.__cause__ if call is not None and call.excinfo is not None else None
    if isinstance(cause, ModuleNotFoundError) and (cause.name or "").partition(".")[0] in TORCH:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f'imports "{cause.name}"')
    return report


# pytest selects by markers in the same hook
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip heavy tests with ``--light``; without it, skip nothing.

    Files that fork or take long come first: forks of a small process are cheap, and the workers finish together.
    """
    ranks: dict[Path, int] = {}
    for item in items:
        if is_quick(item.path) and item.get_closest_marker("growth") is None:
            item.add_marker("quick")
        rank = next((at for at, name in enumerate(FIRST) if item.get_closest_marker(name) is not None), len(FIRST))
        if item.path.parent.name in SLOW:
            rank = min(rank, FIRST.index("long"))
        ranks[item.path] = min(rank, ranks.get(item.path, rank))
    items.sort(key=lambda item: ranks[item.path])
    if not config.getoption("light"):
        return
    left_out = [item for item in items if needs_more(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not needs_more(item)]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Precompile PyTorch's headers while tests that fork run, so that no worker waits."""
    config = session.config
    is_first = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"
    needed = any("precompiled_headers" in names_of(item) for item in session.items)
    if is_first and needed and not config.option.collectonly and (folder := headers_folder(config)) is not None:
        process = begin(folder)

        def wait() -> None:
            process.wait()

        config.add_cleanup(wait)


def needs_more(item: pytest.Item) -> bool:
    """Whether a test needs PyTorch or a tool, or is marked as slow."""
    return not FIXTURES.isdisjoint(names_of(item)) or any(item.get_closest_marker(name) is not None for name in HEAVY)


def names_of(item: pytest.Item) -> Sequence[str]:
    """The fixtures of a test."""
    names: Sequence[str] = getattr(item, "fixturenames", ())
    return names


def headers_folder(config: pytest.Config) -> Path | None:
    """The folder of PyTorch's precompiled headers; None if tests do without."""
    cache: pytest.Cache | None = getattr(config, "cache", None)
    if config.getoption("campaign") or config.getoption("light") or sys.platform != "linux" or cache is None:
        return None
    return cache.mkdir("derivlint-headers")


def packaged_folder() -> Path:
    """The folder of YAML files in the installed torchgen."""
    spec = find_spec("torchgen")
    assert spec is not None, "these tests need PyTorch; --light leaves them out"
    assert spec.origin is not None
    return Path(spec.origin).parent / "packaged"


@pytest.fixture
def collector_off() -> Iterator[None]:
    """Disable the cyclic garbage collector, as the language server does."""
    gc.collect()
    gc.disable()
    yield
    # sessions freeze their long-lived objects
    gc.unfreeze()
    gc.enable()


@pytest.fixture(scope="session")
def packaged() -> Path:
    """The files of the installed PyTorch; tests that need PyTorch request this fixture, directly or not."""
    return packaged_folder()


@pytest.fixture(scope="session")
def derivatives_path(packaged: Path) -> Path:
    return packaged / "autograd" / "derivatives.yaml"


@pytest.fixture(scope="session")
def native_functions_path(packaged: Path) -> Path:
    return packaged / "ATen" / "native" / "native_functions.yaml"


@pytest.fixture(scope="session")
def tags_path(packaged: Path) -> Path:
    return packaged / "ATen" / "native" / "tags.yaml"


@pytest.fixture(scope="session")
def installed_natives(native_functions_path: Path, tags_path: Path) -> NativeFunctions:
    """The operators of the installed torch, read from its files."""
    return read_native_functions([SourceFile.read(native_functions_path)], tags=SourceFile.read(tags_path))


@pytest.fixture(scope="session")
def bundled_natives() -> NativeFunctions:
    """The operators of the bundled index."""
    return load_index()


@pytest.fixture(scope="module")
def precompiled_headers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Precompile PyTorch's headers, except for campaigns (:mod:`tests.precompiled`)."""
    with ExitStack() as stack:
        if (folder := headers_folder(request.config)) is not None:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setenv("CXX", str(compiler(folder)))
        yield


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let children receive SIGINT, which background jobs of a shell ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
