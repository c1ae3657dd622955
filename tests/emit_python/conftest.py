"""The module of PyTorch's own derivatives file, made once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from derivlint.analysis.differentiability.coverage import Aspect, coverage_of
from derivlint.analysis.differentiability.operators import Answer
from derivlint.emit.python.module import PythonModule, python_module
from derivlint.model import Model, build_model
from derivlint.schema import NativeFunctions, SchemaKind
from derivlint.source import SourceFile


@pytest.fixture(scope="session")
def real_model(derivatives_path: Path, bundled_natives: NativeFunctions) -> Model:
    return build_model(SourceFile.read(derivatives_path), bundled_natives)


@pytest.fixture(scope="session")
def real_module(real_model: Model) -> PythonModule:
    return python_module(real_model)


def facts_of(model: Model, module: PythonModule) -> dict[str, Any]:
    """What the gradient checks have to know of every operator of a module."""
    coverage = coverage_of(model)
    facts: dict[str, Any] = {}
    known = {item.operator: item for item in module.functions}
    for entry in model.entries:
        if entry.function is None or str(entry.function.canonical.name) not in known:
            continue
        function = entry.function.canonical
        written = known[str(function.name)]
        if written.operator in facts:
            continue
        bodies = [body for body in entry.bodies if body.key == "Default"]
        found = model.canonical_differentiability(bodies[0])
        assert found is not None
        rows = [row for row in coverage.of(function) if row.key == "Default"]
        facts[written.operator] = {
            "function": written.function_name,
            "arguments": [item.name for item in function.schema.arguments.flat_non_out],
            "differentiable": [
                name
                for item in found.info.derivatives
                if "not_implemented" not in item.formula
                for name in item.var_names
            ],
            "inplace": function.schema.kind is SchemaKind.inplace,
            "jvp": written.has_jvp,
            "outputs": len(function.schema.returns),
            "twice": rows[0].verdicts[Aspect.DOUBLE_BACKWARD].answer is Answer.YES,
        }
    return facts


@pytest.fixture(scope="session")
def written(real_model: Model, real_module: PythonModule, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module and the facts for the gradient checks."""
    folder = tmp_path_factory.mktemp("emit_python")
    (folder / "functions.py").write_text(real_module.text, encoding="utf-8")
    (folder / "facts.json").write_text(json.dumps(facts_of(real_model, real_module)), encoding="utf-8")
    return folder
