"""The model of the shipped file, and its nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.emit.nodes import NodeClass, node_classes
from derivlint.model import Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile


@pytest.fixture(scope="module")
def model(derivatives_path: Path, installed_natives: NativeFunctions) -> Model:
    return build_model(SourceFile.read(derivatives_path), installed_natives)


@pytest.fixture(scope="module")
def classes(model: Model) -> tuple[NodeClass, ...]:
    return node_classes(model)
