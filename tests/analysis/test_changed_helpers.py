"""Helpers that a release declares otherwise than the facts about them assume."""

from __future__ import annotations

import pytest

from derivlint.analysis.interpretation.callee import call_facts
from derivlint.cpp.declarations.declaration import Function, declarations_from_json
from derivlint.cpp.declarations.header import read_declarations
from derivlint.formula import Call, parse_formula
from derivlint.lint import run_rules
from derivlint.model import build_model
from derivlint.operators.history import bundled_versions, load_release
from derivlint.operators.reference.definitions import DefinitionKind, definitions
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

HELPERS = {name: each for name, each in definitions().items() if each.kind is DefinitionKind.HELPER}
#: The entries of PyTorch 2.15 whose helpers take the matrix as well, and compute from it what has no gradient.
OF_2_15 = """\
- name: _linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)
  A: linalg_det_backward(grad, result, A, LU, pivots)
  result: linalg_det_jvp(A_t, result, A_p, LU, pivots, A_p.is_contiguous() && !A_p.is_complex())
  output_differentiability: [True, False, False]

- name: _linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)
  A: slogdet_backward(grad_sign, grad_logabsdet, A, sign, LU, pivots)
  sign, logabsdet: slogdet_jvp(LU, pivots, A_t, A_p, sign, A_p.is_contiguous() && !A_p.is_complex())
  output_differentiability: [True, True, False, False]

- name: _linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, \
Tensor pivots, Tensor info)
  A, B: linalg_solve_backward(grad, result, A, LU, pivots, left, grad_input_mask[1])
  result: "linalg_solve_jvp(A_t, B_t, result, A_p, LU, pivots, left)"
  output_differentiability: [True, False, False, False]
"""


def helpers(version: str) -> dict[str, list[Function]]:
    """The helpers that a release declares."""
    spaces = declarations_from_json(load_release(version).declarations or {}).functions
    return {name: list(overloads) for names in spaces.values() for name, overloads in names.items()}


def is_defined_with(name: str, function: Function) -> bool:
    """Whether the definition of a helper counts for a declaration."""
    tree = parse_formula(f"{name}()").tree
    assert isinstance(tree, Call)
    call = call_facts(tree, function)
    definition = HELPERS[name]
    return call is not None and call.is_of(definition.parameters, definition.required)


def found(yaml: str, natives: NativeFunctions) -> list[str]:
    """The rules that find something."""
    result = run_rules(build_model(SourceFile("derivatives.yaml", yaml), natives), load_rules())
    assert result.internal_errors == 0
    return [item.rule for item in result.diagnostics]


def test_the_determinants_of_2_15() -> None:
    assert found(OF_2_15, load_release("2.15")) == []


#: Declarations with another order, with more or with fewer parameters, and right entries that call them.
CHANGED = {
    "order": (
        "Tensor var_backward(Tensor grad, at::OptionalIntArrayRef dim, const Tensor& self, "
        "const std::optional<c10::Scalar>& correction, bool keepdim);",
        "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
        "self: var_backward(grad, dim, self, correction, keepdim)",
    ),
    "count": (
        "Tensor mvlgamma_backward(const Tensor& grad, int64_t order, const Tensor& self, int64_t p);",
        "mvlgamma(Tensor self, int p) -> Tensor",
        "self: mvlgamma_backward(grad, 0, self, p)",
    ),
    "names": (
        "Tensor log1p_backward(const Tensor& self, const Tensor& grad);",
        "log1p(Tensor self) -> Tensor",
        "self: log1p_backward(self, grad)",
        "result: auto_element_wise",
    ),
    "inserted": (
        "Tensor maybe_multiply(bool is_exact, const Tensor& t, const Scalar& s);",
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "self: handle_r_to_c(self.scalar_type(), grad)",
        "other: handle_r_to_c(other.scalar_type(), maybe_multiply(true, grad, alpha.conj()))",
    ),
    "left out": (
        "Tensor linalg_det_jvp(const Tensor& dA, const Tensor& det, const Tensor& A, const Tensor& LU, "
        "const Tensor& pivots);",
        "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
        "output_differentiability: [True, False, False]",
        "A: linalg_det_backward(grad, result, A, LU, pivots)",
        "result: linalg_det_jvp(A_t, result, A_p, LU, pivots)",
    ),
}


@pytest.mark.parametrize("change", CHANGED)
def test_other_parameters(change: str, bundled_natives: NativeFunctions) -> None:
    """Nothing is known of such a helper."""
    declaration, schema, *lines = CHANGED[change]
    own = read_declarations(f"namespace torch::autograd::generated::details {{ {declaration} }}").declarations.to_json()
    known = bundled_natives.declarations
    assert known is not None
    functions = {space: {**names, **own["functions"].get(space, {})} for space, names in known["functions"].items()}
    assert functions != known["functions"]
    natives = bundled_natives.with_declarations({**known, "functions": functions}, complete=True)
    assert found("\n  ".join((f"- name: {schema}", *lines, "")), natives) == []


def test_what_the_facts_of_a_release_are_dropped_for() -> None:
    """Most helpers are declared as the definitions have them, in all releases; of no other one a fact counts."""
    changed = {
        (name, version)
        for version in bundled_versions()
        for name, overloads in helpers(version).items()
        if name in HELPERS and not any(is_defined_with(name, each) for each in overloads)
    }
    assert {name for name, _ in changed} == {
        "cholesky_solve_backward",
        "linalg_det_jvp",
        "linalg_lstsq_backward",
        "linalg_solve_jvp",
        "slogdet_jvp",
    }
