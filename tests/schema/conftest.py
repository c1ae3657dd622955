"""The installed PyTorch, as derivlint reads it and as torchgen does."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from derivlint.schema import InstalledTorch, NativeFunctions, installed_torch, read_native_functions
from derivlint.source import SourceFile


@pytest.fixture(scope="session")
def installed(packaged: Path) -> InstalledTorch:
    found = installed_torch()
    assert found is not None
    assert found.native_functions.is_relative_to(packaged)
    return found


@pytest.fixture(scope="session")
def natives(installed: InstalledTorch) -> NativeFunctions:
    assert installed.tags is not None
    return read_native_functions([SourceFile.read(installed.native_functions)], tags=SourceFile.read(installed.tags))


@pytest.fixture(scope="session")
def reference(installed: InstalledTorch) -> list[Any]:
    """torchgen's native functions of the same file."""
    gen = import_module("torchgen.gen")
    functions: list[Any] = gen.parse_native_yaml(str(installed.native_functions), str(installed.tags)).native_functions
    return functions
