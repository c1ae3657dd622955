"""What several test files share: the files of the installed torch and its operators."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from derivlint.schema import NativeFunctions, load_index, read_native_functions
from derivlint.source import SourceFile


def packaged() -> Path:
    """The folder of YAML files that the installed torchgen ships."""
    spec = find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "packaged"


@pytest.fixture(scope="session")
def derivatives_path() -> Path:
    return packaged() / "autograd" / "derivatives.yaml"


@pytest.fixture(scope="session")
def native_functions_path() -> Path:
    return packaged() / "ATen" / "native" / "native_functions.yaml"


@pytest.fixture(scope="session")
def tags_path() -> Path:
    return packaged() / "ATen" / "native" / "tags.yaml"


@pytest.fixture(scope="session")
def installed_natives(native_functions_path: Path, tags_path: Path) -> NativeFunctions:
    """The operators of the installed torch, read from its files."""
    return read_native_functions([SourceFile.read(native_functions_path)], tags=SourceFile.read(tags_path))


@pytest.fixture(scope="session")
def bundled_natives() -> NativeFunctions:
    """The operators of the bundled index."""
    return load_index()
