"""Formulas in Python give what compiled ones give."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from derivlint.model import Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from derivlint.verify.code.engine import compiled
from derivlint.verify.code.functions import collect
from derivlint.verify.code.interpreter import InterpretedFunctions
from derivlint.verify.code.translation import translate_formulas
from tests.verify.conftest import NEEDS_COMPILER
from tests.verify.values import same

CHOSEN = {"addcmul", "atan2", "mul.Tensor", "logsumexp", "std.correction", "elu_", "stack", "_foreach_div.List", "mm"}


def _arguments(operator: str) -> list[Any]:
    """Arguments of an operator as its schema orders them."""
    import torch

    torch.manual_seed(0)
    matrix = torch.rand(3, 3, dtype=torch.float64) + 0.5
    arguments: dict[str, list[Any]] = {
        "addcmul": [matrix, matrix + 1, matrix.mT, 0.7],
        "atan2": [matrix, matrix.mT],
        "mul.Tensor": [matrix, matrix[0]],
        "logsumexp": [matrix, [1], False],
        "std.correction": [matrix, [0], 1, True],
        "elu_": [matrix - 1, 1.0, 1.0, 1.0],
        "stack": [[matrix, matrix + 1], 1],
        "_foreach_div.List": [[matrix, matrix + 1], [matrix.mT, matrix]],
        "mm": [matrix, matrix.mT],
    }
    return arguments[operator]


def test_nearly_all_formulas_can_be_translated(model: Model) -> None:
    """Those that cannot say why; ratchet."""
    functions = collect(model).functions
    found = translate_formulas(model, functions)
    assert len(found.functions) >= 1140
    assert len(found.functions) + len(found.refused) == len(functions)
    assert all(reason for reason in found.refused.values())
    json.dumps([each.to_json() for each in found.formulas])


def test_a_formula_that_cannot_be_translated_is_left_out_with_the_reason(installed_natives: NativeFunctions) -> None:
    """A helper that no one knows has no Python, neither for tensors nor for lists of them."""
    text = "- name: sin(Tensor self) -> Tensor\n  self: no_such_helper(grad, self)\n"
    model = build_model(SourceFile("derivatives.yaml", text), installed_natives)
    found = translate_formulas(model, collect(model).functions)
    assert found.refused == dict.fromkeys((0, 1), 'there is no Python for "no_such_helper"')
    assert found.functions == ()


@pytest.mark.full
@NEEDS_COMPILER
# PyTorch imports its decompositions of forward mode so, at the first formula that needs one
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_translated_formulas_give_what_compiled_ones_give(model: Model, tmp_path: Path) -> None:
    """Backward and forward, of lists, in place, with saved sizes and masks, to the last digits."""
    import torch

    from derivlint.verify.code.functions import BACKWARD
    from derivlint.verify.comparison.checked_point import CheckedPoint
    from derivlint.verify.comparison.failures import Tally
    from derivlint.verify.comparison.numeric import OperatorAtPoint
    from derivlint.verify.inputs.points import SamplePoint, generator

    functions = collect(model, CHOSEN).functions
    load: Any = torch.ops.load_library
    load(str(compiled(model, functions, tmp_path).library))
    translated = translate_formulas(model, functions)
    spec = [each.spec for each in translated.functions]
    python = InterpretedFunctions([each.to_json() for each in translated.formulas], spec)
    compared = set()
    for each in spec:
        names = each.targets if each.kind == BACKWARD else each.tangents
        found = []
        for namespace in (torch.ops.derivlint_verify, python):
            subject = OperatorAtPoint(each, SamplePoint(_arguments(each.operator)), namespace)
            called = subject.call(subject.point.values)
            at = CheckedPoint(subject, called, names, partial(generator, 0), Tally(), lambda number: None)
            value = at.gradients(each, at.cotangents) if each.kind == BACKWARD else at.tangents(each, at.variables)
            found.append(value)
        assert same(*found), each
        compared.add(each.operator)
    assert compared == CHOSEN
