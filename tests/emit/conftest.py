"""The model of the shipped file, its nodes, and torchgen's reading of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from derivlint.emit.nodes import NodeClass, node_classes
from derivlint.model import Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile


@pytest.fixture(scope="session")
def model(derivatives_path: Path, installed_natives: NativeFunctions) -> Model:
    return build_model(SourceFile.read(derivatives_path), installed_natives)


@pytest.fixture(scope="session")
def classes(model: Model) -> tuple[NodeClass, ...]:
    return node_classes(model)


@pytest.fixture(scope="session")
def torchgen_functions(native_functions_path: Path, tags_path: Path) -> list[Any]:
    """All operators, sorted as torchgen sorts them."""
    # without PyTorch, other tests of the folder run
    from torchgen.api import cpp
    from torchgen.gen import parse_native_yaml

    natives = parse_native_yaml(str(native_functions_path), str(tags_path)).native_functions
    return sorted(natives, key=lambda each: cpp.name(each.func))


@pytest.fixture(scope="session")
def torchgen_infos(
    derivatives_path: Path, native_functions_path: Path, tags_path: Path, torchgen_functions: list[Any]
) -> tuple[dict[Any, Any], list[Any]]:
    """The infos of all entries, with those that torchgen adds for foreach functions; operators with their infos."""
    from torchgen.api.autograd import match_differentiability_info
    from torchgen.packaged.autograd.load_derivatives import load_derivatives

    cached, _ = load_derivatives(str(derivatives_path), str(native_functions_path), str(tags_path))
    infos = dict(cached)
    return infos, match_differentiability_info(torchgen_functions, infos)
