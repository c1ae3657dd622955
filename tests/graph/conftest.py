"""The entries of the installed torch, for graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.graph.differentiation.entries import Entries
from derivlint.model import build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile


@pytest.fixture(scope="session")
def entries(derivatives_path: Path, installed_natives: NativeFunctions) -> Entries:
    return Entries(build_model(SourceFile.read(derivatives_path), installed_natives))
