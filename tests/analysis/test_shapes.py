"""Formulas over the sizes of tensors: what cannot fit is found, and what fits or is not known is silent."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from derivlint.analysis.shapes.compare import ShapeProblem, wrong_shapes_of
from derivlint.formula import Binary, Call, Expr, Member, Name, walk
from derivlint.lint import run_rules
from derivlint.model import Model, build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.verify.mutants import entry_text

#: The defects of PyTorch's file; tests/conformance/test_defects.py runs them.
DEFECTS = {
    ("masked_scatter_backward", "result", ShapeProblem.TANGENT),
    ("normal.Tensor_Tensor", "result", ShapeProblem.TANGENT),
    ("_conv_depthwise2d", "self, weight, bias", ShapeProblem.OPERANDS),
    ("conv_depthwise3d", "self, weight, bias", ShapeProblem.OPERANDS),
    ("narrow_copy", "self", ShapeProblem.OPERANDS),
    ("squeeze.dim", "self", ShapeProblem.GRADIENT),
}
#: So many formulas are written in another way.
REWRITES = 300
OURS = {"wrong-gradient-shape", "wrong-tangent-shape", "illegal-operand-shapes"}


def problems(model: Model) -> set[tuple[str | None, str, ShapeProblem]]:
    return {
        (entry.operator, each.formula.written.key_text, problem)
        for entry in model.entries
        for problem in ShapeProblem
        for each in wrong_shapes_of(model, entry, problem)
    }


def of_text(natives: NativeFunctions, text: str) -> set[tuple[str | None, str, ShapeProblem]]:
    return problems(build_model(SourceFile("d.yaml", text), natives))


@pytest.fixture(scope="module")
def released(derivatives_path: str, bundled_natives: NativeFunctions) -> Model:
    return build_model(SourceFile.read(derivatives_path), bundled_natives)


def test_the_released_file_has_its_defects_and_no_others(released: Model) -> None:
    assert problems(released) == DEFECTS


def test_positions_are_counted_from_both_ends(bundled_natives: NativeFunctions) -> None:
    """From the second last element, two elements end where the end would be 0."""
    text = (
        "- name: narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor\n"
        "  self: slice_backward_wrapper(grad, self.sym_sizes(), dim, start, start + length, 1)\n"
        "- name: select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)\n"
        "  self: slice_backward_wrapper(grad.unsqueeze(dim), self.sym_sizes(), dim, index, index + 1, 1)\n"
    )
    assert of_text(bundled_natives, text) == {
        (operator, "self", ShapeProblem.OPERANDS) for operator in ("narrow_copy", "select.int")
    }


UNARY = "- name: tanh(Tensor self) -> Tensor\n  self: "
BINARY = "- name: atan2(Tensor self, Tensor other) -> Tensor\n  self: "


@pytest.mark.parametrize(
    "text",
    [
        # nothing is known about the function
        UNARY + "mine::something(grad, self)\n",
        # larger than the input, which was broadcast: the engine sums it up
        BINARY + "grad * other / (self * self + other * other)\n",
        # one dimension of size one more
        UNARY + "(grad * (1 - result * result)).unsqueeze(0)\n",
        # what is written has the sizes of what it is written into, but for views
        BINARY + "(grad * other).clone().mul_(self)\n",
        UNARY + "grad.clone().unsqueeze_(0)\n",
        # sizes that depend on values
        "- name: masked_select(Tensor self, Tensor mask) -> Tensor\n  self: grad.unsqueeze(0)\n",
        # an operator of someone else
        "- name: mine(Tensor self) -> Tensor\n  self: grad.sum()\n",
    ],
)
def test_what_is_legal_or_unknown_is_silent(text: str, bundled_natives: NativeFunctions) -> None:
    assert of_text(bundled_natives, text) == set()


REDUCED = "- name: amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (REDUCED + "  self: grad\n", ShapeProblem.GRADIENT),
        (REDUCED + "  self: restore_reduced_dims(grad, dim, !keepdim) * ones_like(self)\n", ShapeProblem.OPERANDS),
        (REDUCED + "  self: grad.expand_symint(self.sym_sizes())\n", ShapeProblem.OPERANDS),
        ("- name: abs_(Tensor(a!) self) -> Tensor(a!)\n  self: (grad * self.sgn()).sum()\n", ShapeProblem.GRADIENT),
        (BINARY + "zeros_like(self).add_(grad * other)\n", ShapeProblem.OPERANDS),
        (
            "- name: put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor\n"
            "  source: grad.take(index)\n",
            ShapeProblem.GRADIENT,
        ),
        (
            "- name: index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor\n"
            "  source: grad.index_select(dim, index).expand_as(source)\n",
            ShapeProblem.OPERANDS,
        ),
        ("- name: t(Tensor(a) self) -> Tensor(a)\n  self: grad.clone()\n", ShapeProblem.GRADIENT),
        (
            "- name: select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)\n"
            "  self: select_backward_symint(grad, self.sym_sizes(), dim - 1, index)\n",
            ShapeProblem.OPERANDS,
        ),
        (
            "- name: squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)\n"
            "  self: unsqueeze_to(grad, dim, self.sym_sizes())\n"
            "  result: self_t.squeeze(dim - 1)\n",
            ShapeProblem.TANGENT,
        ),
    ],
)
def test_what_cannot_fit_is_found(text: str, problem: ShapeProblem, bundled_natives: NativeFunctions) -> None:
    (found,) = of_text(bundled_natives, text)
    assert found[2] is problem


def test_a_formula_is_not_judged_where_another_rule_speaks(bundled_natives: NativeFunctions) -> None:
    """A number, an undeclared name, a gradient that is squared."""
    for formula in ("grad * self.sum(1)", "grad.summ()", "(grad * grad).sum()"):
        text = f"- name: cos(Tensor self) -> Tensor\n  self: {formula}\n"
        result = run_rules(build_model(SourceFile("d.yaml", text), bundled_natives), load_rules())
        rules = {each.rule for each in result.diagnostics}
        assert rules & OURS == set()
        assert rules


def rewrites(text: str, tree: Expr) -> Iterator[tuple[int, int, str]]:
    """Changes of a formula that mean the same."""
    for node in walk(tree):
        here = text[node.start : node.end]
        if isinstance(node, Binary):
            left, right = text[node.left.start : node.left.end], text[node.right.start : node.right.end]
            if node.op in ("+", "*"):
                yield node.start, node.end, f"({right}) {node.op} ({left})"
            if node.op == "-":
                yield node.start, node.end, f"({left} + (-({right})))"
        elif isinstance(node, Name) and node.simple in ("grad", "self", "result", "other", "self_t", "self_p"):
            yield node.start, node.end, f"({here})"
            yield node.start, node.end, f"{here}.clone()"
            yield node.start, node.end, f"(-(-{here}))"
            yield node.start, node.end, f"{here}.expand_as({here})"
            yield node.start, node.end, f"{here}.unsqueeze(0).squeeze(0)"
        elif isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name in ("exp", "conj", "sgn"):
            owner = text[node.callee.object.start : node.callee.object.end]
            yield node.start, node.end, f"at::{node.callee.name}({owner})"


def test_formulas_written_in_another_way_are_silent(released: Model) -> None:
    dice = random.Random(22)
    formulas = [written for entry in released.entries for body in entry.bodies for written in body.formulas]
    tried = 0
    while tried < REWRITES:
        written = dice.choice(formulas)
        tree = written.parsed.tree
        changes = [] if tree is None or written.auto is not None else list(rewrites(written.parsed.text, tree))
        if not changes:
            continue
        tried += 1
        start, end, text = dice.choice(changes)
        formula = written.parsed.text[:start] + text + written.parsed.text[end:]
        assert of_text(released.natives, entry_text(released, written, formula)) <= DEFECTS, formula
