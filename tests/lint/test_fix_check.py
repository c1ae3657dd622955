"""No fix is offered that leaves a formula which does not compile, or which numbers refute."""

from __future__ import annotations

import pytest

from derivlint.lint import Diagnostic
from derivlint.project.check import check_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

GATHER = "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor"
FILL = "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor"


def found(schema: str, formula: str, natives: NativeFunctions) -> tuple[Diagnostic, ...]:
    source = SourceFile("d.yaml", f"- name: {schema}\n  self: '{formula}'\n")
    return check_source(source, natives, Settings(), Settings().selected(load_rules())).shown


@pytest.mark.parametrize(
    ("schema", "formula", "rule"),
    [
        # the nearest name is of another function
        ("sinh(Tensor self) -> Tensor", "grad * self.sinhh().conj()", "undefined-member"),
        ("cos(Tensor self) -> Tensor", "grad * -self.coss().conj()", "undefined-member"),
        # the comparison is true of every element
        (FILL, "grad.masked_fill((mask = mask), 0)", "assignment-in-formula"),
        # the formula would be refuted for another reason
        ("exp(Tensor self) -> Tensor", "grad * reslt.sin()", "undefined-name"),
    ],
)
def test_a_guess_that_makes_a_wrong_formula_is_not_offered(
    schema: str, formula: str, rule: str, bundled_natives: NativeFunctions
) -> None:
    findings = [item for item in found(schema, formula, bundled_natives) if item.rule == rule]
    assert len(findings) == 1
    assert findings[0].fix is None


@pytest.mark.parametrize(
    ("schema", "formula", "text"),
    [
        ("exp(Tensor self) -> Tensor", "grad * reslt.conj()", "result"),
        ("cos(Tensor self) -> Tensor", "grad * -self.sinn().conj()", "sin"),
        (GATHER, "gather_backward(grad, self, dim, index, sparse_grad=sparse_grad)", "sparse_grad"),
        (GATHER, "gather_backward(grad, self, dim, idnex, sparse_grad)", "index"),
    ],
)
def test_a_fix_that_makes_the_right_formula_is_offered(
    schema: str, formula: str, text: str, bundled_natives: NativeFunctions
) -> None:
    (finding,) = found(schema, formula, bundled_natives)
    assert finding.fix is not None
    assert [edit.text for edit in finding.fix.edits] == [text]


@pytest.mark.parametrize("formula", ["f(**kwargs)", "[g for g in grads]", 'not_implemented(f"exp {self}")'])
def test_what_has_no_counterpart_has_help_and_no_fix(formula: str, bundled_natives: NativeFunctions) -> None:
    (finding,) = found("exp(Tensor self) -> Tensor", formula, bundled_natives)
    assert finding.rule == "python-in-formula"
    assert finding.help is not None
    assert finding.fix is None
