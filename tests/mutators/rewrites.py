"""Formulas written in another way that means the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.cpp_type import TENSOR
from derivlint.formula import Binary, Call, Conditional, Expr, Index, Member, Name, Number, Parenthesized, Unary, walk
from derivlint.model import Model
from derivlint.schema import NativeFunction
from tests.mutators.syntax import Change

#: Gives the equal forms of one formula.
Rewrite = Callable[["Written"], Iterator[Change]]


class Written:
    """A formula with the types of its parts."""

    def __init__(self, model: Model, formula: TypedFormula) -> None:
        self.model = model
        self.formula = formula
        self.written = formula.written
        self.text = formula.text
        self.nodes = tuple(walk(formula.tree))
        #: what is called or looked into, and must keep its form
        self.bound = {
            inner
            for node in self.nodes
            if isinstance(node, (Call, Member, Index))
            for inner in ((node.callee,) if isinstance(node, Call) else (node.object,))
        }

    def of(self, node: Expr) -> str:
        """The text of a part."""
        return self.text[node.start : node.end]

    def closed(self, node: Expr) -> str:
        """The text of a part, in parentheses where it needs them as an operand."""
        return self.of(node) if isinstance(node, (Name, Number, Call, Parenthesized, Index)) else f"({self.of(node)})"

    def is_tensor(self, node: Expr) -> bool:
        """Whether a part is a tensor."""
        return self.formula.type_of(node) == TENSOR

    def functions(self, name: str) -> tuple[NativeFunction, ...]:
        """The operators of a name."""
        return tuple(self.model.natives.with_base(name))


def _commuted(written: Written) -> Iterator[Change]:
    for node in written.nodes:
        if isinstance(node, Binary) and node.op in ("+", "*"):
            yield node.start, node.end, f"{written.closed(node.right)} {node.op} {written.closed(node.left)}"


def _parenthesized(written: Written) -> Iterator[Change]:
    for node in written.nodes:
        if isinstance(node, (Call, Binary, Conditional)) and node not in written.bound:
            yield node.start, node.end, f"({written.of(node)})"


def _as_function(written: Written) -> Iterator[Change]:
    for node in written.nodes:
        if isinstance(node, Call) and isinstance(node.callee, Member) and written.is_tensor(node.callee.object):
            functions = written.functions(node.callee.name)
            if functions and all("function" in each.variants and not each.manual_cpp_binding for each in functions):
                arguments = ", ".join(map(written.of, (node.callee.object, *node.args)))
                yield node.start, node.end, f"at::{node.callee.name}({arguments})"


def _as_method(written: Written) -> Iterator[Change]:
    for node in written.nodes:
        if isinstance(node, Call) and isinstance(node.callee, Name) and node.args and written.is_tensor(node.args[0]):
            name = node.callee.parts[-1].identifier
            functions = written.functions(name)
            if functions and all("method" in each.variants for each in functions):
                first, *others = node.args
                yield node.start, node.end, f"{written.closed(first)}.{name}({', '.join(map(written.of, others))})"


def _negated(written: Written) -> Iterator[Change]:
    for node in written.nodes:
        if isinstance(node, Unary) and node.op == "-" and written.is_tensor(node.operand):
            yield node.start, node.end, f"{written.closed(node.operand)}.neg()"
        if isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name == "neg":
            yield node.start, node.end, f"(-{written.closed(node.callee.object)})"


def _swapped_branches(written: Written) -> Iterator[Change]:
    for node in written.nodes:
        if isinstance(node, Conditional):
            condition, then, otherwise = map(written.of, (node.condition, node.then, node.otherwise))
            yield node.start, node.end, f"!({condition}) ? {otherwise} : {then}"


def _halved(written: Written) -> Iterator[Change]:
    for node in written.nodes:
        if not isinstance(node, Binary) or node.op != "/" or not written.is_tensor(node.left):
            continue
        if isinstance(node.right, Number) and node.right.text in ("2", "2.", "2.0"):
            yield node.start, node.end, f"{written.closed(node.left)} * 0.5"


def _contiguous(written: Written) -> Iterator[Change]:
    function = written.written.entry.function
    names = {
        each.name
        for each in (function.arguments if function is not None else ())
        if each.argument is not None and str(each.argument.type) == "Tensor"
    }
    for node in written.nodes:
        if isinstance(node, Name) and node.simple in names and node not in written.bound and written.is_tensor(node):
            yield node.end, node.end, ".contiguous()"


def _plus_zero(written: Written) -> Iterator[Change]:
    for node in written.nodes:
        if isinstance(node, Binary) and _is_number(written, node) and written.formula.is_backward:
            yield node.start, node.end, f"({written.closed(node)} + 0)"


def _times_one(written: Written) -> Iterator[Change]:
    for node in written.nodes:
        if isinstance(node, Binary) and _is_number(written, node):
            yield node.start, node.end, f"({written.closed(node)} * 1)"


def _is_number(written: Written, node: Binary) -> bool:
    """Whether a part is a tensor of numbers; a mask plus zero is not a mask."""
    return node.op in ("+", "-", "*", "/") and written.is_tensor(node)


REWRITES: dict[str, Rewrite] = {
    "commuted": _commuted, "parenthesized": _parenthesized, "as function": _as_function, "as method": _as_method,
    "negated": _negated, "swapped branches": _swapped_branches, "halved": _halved, "contiguous": _contiguous,
    "plus zero": _plus_zero, "times one": _times_one,
}  # fmt: skip


def written_formulas(model: Model) -> dict[int, list[Written]]:
    """The formulas of the entries that can be rewritten, by the position of the entry."""
    analyses = analyses_of(model)
    found: dict[int, list[Written]] = {}
    for entry in model.entries:
        for formula in analyses.formulas(entry):
            written = formula.written
            if written.auto is None and written.is_exact() and written.parsed.text == formula.text:
                found.setdefault(entry.index, []).append(Written(model, formula))
    return found
