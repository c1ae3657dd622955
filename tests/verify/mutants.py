"""Formulas changed at random, by their syntax trees, as authors slip: signs, factors, arguments, names, functions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from derivlint.formula import Binary, Call, Conditional, Expr, Index, Member, Name, Number, Unary, walk
from derivlint.model import DerivativeFormula, Model, build_model
from derivlint.source import SourceFile
from derivlint.verify.code.functions import FormulaFunction, collect

#: A change of a formula: the range that is replaced, and by what.
Change = tuple[int, int, str]
Mutator = Callable[[str, Expr, DerivativeFormula], Iterator[Change]]

#: Functions that are taken for each other.
NEAR = (
    ("sin", "cos"), ("sinh", "cosh"), ("exp", "expm1"), ("sqrt", "rsqrt"), ("log", "log1p"), ("add", "sub"),
    ("mul", "div"), ("ge", "gt"), ("le", "lt"), ("eq", "ne"), ("tril", "triu"), ("sum", "mean"), ("sgn", "abs"),
    ("zeros_like", "ones_like"), ("mH", "mT"), ("unsqueeze", "squeeze"), ("conj", "neg"), ("square", "abs"),
)  # fmt: skip
_OTHER = {**dict(NEAR), **{b: a for a, b in NEAR}}
_OPERATORS = {"+": "-", "-": "+", "*": "/", "/": "*", ">": "<", "<": ">", ">=": ">", "<=": "<", "==": "!=", "!=": "=="}


def _sign(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    yield tree.start, tree.end, f"-({text[tree.start : tree.end]})"
    for node in walk(tree):
        if isinstance(node, Unary) and node.op == "-":
            yield node.start, node.end, text[node.operand.start : node.operand.end]


def _operator(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    for node in walk(tree):
        if isinstance(node, Binary) and node.op in _OPERATORS:
            yield node.op_start, node.op_start + len(node.op), _OPERATORS[node.op]


def _constant(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    for node in walk(tree):
        if isinstance(node, Number):
            yield node.start, node.end, f"({node.text} + 1)"
            yield node.start, node.end, f"({node.text} - 1)"


def _factor(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    for node in walk(tree):
        if isinstance(node, Binary) and node.op in ("*", "/"):
            left, right = text[node.left.start : node.left.end], text[node.right.start : node.right.end]
            yield node.start, node.end, left
            yield node.start, node.end, f"{left} {node.op} {right} {node.op} {right}"
            if node.op == "*":
                yield node.start, node.end, right


def _arguments(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    for node in walk(tree):
        if isinstance(node, Call):
            for one, other in zip(node.args, node.args[1:], strict=False):
                first, second = text[one.start : one.end], text[other.start : other.end]
                if first != second:
                    yield one.start, other.end, f"{second}{text[one.end : other.start]}{first}"


def _conjugation(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    for node in walk(tree):
        if isinstance(node, Call) and isinstance(node.callee, Member) and not node.args:
            target = text[node.callee.object.start : node.callee.object.end]
            if node.callee.name in ("conj", "neg", "reciprocal"):
                yield node.start, node.end, target
            if node.callee.name == "mH":
                yield node.start, node.end, f"{target}.mT()"


def _function(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    for node in walk(tree):
        if isinstance(node, Member) and node.name in _OTHER:
            yield node.name_start, node.name_end, _OTHER[node.name]
        elif isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.simple in _OTHER:
            yield node.callee.start, node.callee.end, _OTHER[node.callee.simple]


def _variable(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    """Another tensor than the one that is meant."""
    function = formula.entry.function
    assert function is not None
    tensors = [each.name for each in function.schema.arguments.flat_all if str(each.type) in ("Tensor", "Tensor(a!)")]
    others = [*tensors, "result", "grad"]
    for node in walk(tree):
        if isinstance(node, Name) and node.simple in others:
            yield from ((node.start, node.end, other) for other in others if other != node.simple)


def _tangent(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    for node in walk(tree):
        if isinstance(node, Name) and node.simple is not None and node.simple.endswith(("_p", "_t")):
            yield node.start, node.end, node.simple[:-1] + ("t" if node.simple.endswith("_p") else "p")


def _dimension(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    for node in walk(tree):
        if isinstance(node, Name) and node.simple in ("dim", "dim0", "dim1", "diagonal", "offset", "k", "n", "p"):
            yield node.start, node.end, f"{node.simple} - 1"
            yield node.start, node.end, f"{node.simple} + 1"


def _flag(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    function = formula.entry.function
    assert function is not None
    flags = {each.name for each in function.schema.arguments.flat_all if str(each.type) == "bool"}
    for node in walk(tree):
        if isinstance(node, Name) and node.simple in ("true", "false"):
            yield node.start, node.end, "false" if node.simple == "true" else "true"
        elif isinstance(node, Name) and node.simple in flags:
            yield node.start, node.end, f"!{node.simple}"


def _mask(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    for node in walk(tree):
        if isinstance(node, Index) and text[node.object.start : node.object.end] == "grad_input_mask":
            (argument,) = node.args
            if isinstance(argument, Number) and argument.text.isdigit():
                yield argument.start, argument.end, str(int(argument.text) ^ 1)
        elif isinstance(node, Name) and node.simple == "grad_input_mask":
            yield node.start, node.end, "std::array<bool, 2>{grad_input_mask[1], grad_input_mask[0]}"


def _branch(text: str, tree: Expr, formula: DerivativeFormula) -> Iterator[Change]:
    for node in walk(tree):
        if isinstance(node, Conditional):
            yield node.start, node.end, text[node.then.start : node.then.end]
            yield node.start, node.end, text[node.otherwise.start : node.otherwise.end]


MUTATORS: dict[str, Mutator] = {
    "sign": _sign, "operator": _operator, "constant": _constant, "factor": _factor, "arguments": _arguments,
    "conjugation": _conjugation, "function": _function, "variable": _variable, "tangent": _tangent,
    "dimension": _dimension, "flag": _flag, "mask": _mask, "branch": _branch,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed formula.

    Attributes:
        kind: the kind of the change.
        before: the formula as it was.
        after: as it is.
        original: the function of the formula as it was.
        function: the function of the changed one.
    """

    kind: str
    before: str
    after: str
    original: FormulaFunction
    function: FormulaFunction


def mutants(model: Model, functions: list[FormulaFunction], seed: int, count: int) -> list[Mutant]:
    """As many mutants, of formulas and kinds of changes drawn at random, that have a function of their own."""
    drawn = random.Random(seed)
    found: list[Mutant] = []
    seen = set()
    while len(found) < count:
        original = drawn.choice(functions)
        formula = original.written.parsed
        if formula.tree is None or formula.text.startswith("auto_"):
            continue
        kind = drawn.choice(sorted(MUTATORS))
        changes = list(MUTATORS[kind](formula.text, formula.tree, original.written))
        if not changes:
            continue
        start, end, text = drawn.choice(changes)
        after = formula.text[:start] + text + formula.text[end:]
        place = (original.spec.operator, original.spec.key, after)
        if place in seen:
            continue
        seen.add(place)
        function = _changed(model, original, after)
        if function is not None:
            found.append(Mutant(kind, formula.text, after, original, function))
    return found


def _changed(model: Model, original: FormulaFunction, formula: str) -> FormulaFunction | None:
    """The function of another formula in place of one; None where there is none."""
    source = SourceFile("derivatives.yaml", entry_text(model, original.written, formula))
    for each in collect(build_model(source, model.natives)).functions:
        if each.spec.key == original.spec.key and each.spec.kind == original.spec.kind:
            return each
    return None


def entry_text(model: Model, written: DerivativeFormula, formula: str) -> str:
    """The text of an entry with one formula changed."""
    text, whole, value = model.source.text, written.entry.span, written.value_span
    end = "\n" if text[value.start : value.end].endswith("\n") else ""
    return f"- {text[whole.start : value.start]}{json.dumps(formula)}{end}{text[value.end : whole.end]}\n"
