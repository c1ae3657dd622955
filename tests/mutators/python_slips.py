"""Notations of Python in the place of those of C++, by the syntax trees of formulas."""

from __future__ import annotations

import random
from collections.abc import Iterator

from derivlint.cpp.library import library_of
from derivlint.formula import Binary, BraceList, Call, Conditional, Member, Name, Node, Number, String, Unary
from derivlint.model import DerivativeFormula, Model
from derivlint.schema import NativeFunctions
from tests.mutators.syntax import Change, FormulaSlip, methods, nodes, text_of

#: Methods of C++ and what Python has for them.
_ATTRIBUTES = {
    "scalar_type": "dtype", "dim": "ndim", "device": "device", "sym_sizes": "shape", "mT": "mT", "mH": "mH", "t": "T",
    "is_sparse": "is_sparse", "layout": "layout",
}  # fmt: skip
_NAMES = {"true": "True", "false": "False", "nullopt": "None"}


def power(formula: DerivativeFormula) -> Iterator[Change]:
    for call, callee in methods(formula, 1):
        if callee.name == "pow" and not isinstance(call.args[0], Binary | Conditional):
            yield call.start, call.end, f"({text_of(formula, callee.object)}**{text_of(formula, call.args[0])})"


def square(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Binary):
        if node.op == "*" and text_of(formula, node.left) == text_of(formula, node.right):
            yield node.left.end, node.end, " ** 2"


def attribute(formula: DerivativeFormula) -> Iterator[Change]:
    for call, callee in methods(formula, 0):
        if callee.name in _ATTRIBUTES and not callee.arrow:
            yield callee.name_start, call.end, _ATTRIBUTES[callee.name]


def item_of_shape(formula: DerivativeFormula) -> Iterator[Change]:
    for call, callee in methods(formula, 1):
        if callee.name in ("sym_size", "size"):
            argument = text_of(formula, call.args[0])
            yield callee.name_start, call.end, f"shape[{argument}]"
            yield callee.name_start, call.end, f"size()[{argument}]"


def word(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Name):
        if node.parts[-1].identifier in _NAMES:
            yield node.start, node.end, _NAMES[node.parts[-1].identifier]
        if isinstance(node, Call) and text_of(formula, node) == "Tensor()":
            yield node.start, node.end, "None"


def is_none(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Node):
        inner = node.operand if isinstance(node, Unary) and node.op == "!" else node
        if (
            isinstance(inner, Call)
            and isinstance(inner.callee, Member)
            and inner.callee.name in ("defined", "has_value")
        ):
            words = "is None" if inner is not node else "is not None"
            yield node.start, node.end, f"{text_of(formula, inner.callee.object)} {words}"


def module(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Call):
        if isinstance(node.callee, Name) and len(node.callee.parts) == 2:
            first = node.callee.parts[0]
            if first.identifier == "at":
                yield node.start, node.callee.parts[1].start, "torch."
                yield node.start, node.callee.parts[1].start, "F."


def conditional(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Conditional):
        condition, then, otherwise = (text_of(formula, each) for each in (node.condition, node.then, node.otherwise))
        yield node.start, node.end, f"{then} if {condition} else {otherwise}"


def brackets(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Call):
        for argument in node.args:
            if isinstance(argument, BraceList) and argument.items:
                inside = formula.parsed.text[argument.start + 1 : argument.end - 1]
                yield argument.start, argument.end, f"[{inside}]"
                yield argument.start, argument.end, f"({inside}{',' if len(argument.items) == 1 else ''})"


def single_quotes(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Node):
        text = text_of(formula, node)
        if isinstance(node, String) and "'" not in text and text.startswith('"'):
            yield node.start, node.end, f"'{text[1:-1]}'"


def matrix_product(formula: DerivativeFormula) -> Iterator[Change]:
    for call, callee in methods(formula, 1):
        if callee.name in ("matmul", "mm") and not isinstance(call.args[0], Binary | Conditional | Unary):
            yield callee.object.end, call.end, f" @ {text_of(formula, call.args[0])}"


def comment(formula: DerivativeFormula) -> Iterator[Change]:
    tree = formula.parsed.tree
    if tree is not None and formula.text is not None and tree.end == len(formula.text):
        yield tree.end, tree.end, "  # see the paper"


def underscore(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Number):
        if len(node.text) > 3 and node.text.isdecimal():
            yield node.start, node.end, f"{node.text[:-3]}_{node.text[-3:]}"


def keyword_arguments(natives: NativeFunctions) -> FormulaSlip:
    """The last argument of a call with the name of its parameter."""
    library = library_of(natives)

    def keyword(formula: DerivativeFormula) -> Iterator[Change]:
        for node in nodes(formula, Node):
            if not isinstance(node, Call) or not node.args:
                continue
            callee = node.callee
            if isinstance(callee, Name) and len(callee.parts) <= 2:
                name = callee.parts[-1].identifier
                functions = (library.functions("at", name).functions, library.helpers_elsewhere(name).functions)
            elif isinstance(callee, Member):
                methods = library.methods(library.type_named("at::Tensor"), callee.name)  # type: ignore[arg-type]
                functions = (methods.functions if methods is not None else (), ())
            else:
                continue
            parameters = {
                function.parameters[len(node.args) - 1].name
                for overloads in functions
                for function in overloads
                if len(function.parameters) >= len(node.args)
            }
            argument = node.args[-1]
            yield from ((argument.start, argument.start, f"{name}=") for name in sorted(parameters - {""}))

    return keyword


def index_none(formula: DerivativeFormula) -> Iterator[Change]:
    for call, callee in methods(formula, 1):
        if callee.name == "unsqueeze" and text_of(formula, call.args[0]) in ("0", "-1", "1"):
            index = {"0": "None", "-1": "..., None", "1": ":, None"}[text_of(formula, call.args[0])]
            yield callee.object.end, call.end, f"[{index}]"


def selection(formula: DerivativeFormula) -> Iterator[Change]:
    for call, callee in methods(formula, 2):
        if callee.name == "select" and text_of(formula, call.args[0]) in ("0", "-1", "1"):
            before = {"0": "", "-1": "..., ", "1": ":, "}[text_of(formula, call.args[0])]
            yield callee.object.end, call.end, f"[{before}{text_of(formula, call.args[1])}]"


def dtype(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Name):
        if node.parts[-1].identifier.startswith("k") and len(node.parts) == 2:
            names = {"kFloat": "float32", "kDouble": "float64", "kLong": "int64", "kBool": "bool", "kInt": "int32"}
            name = names.get(node.parts[-1].identifier)
            if name is not None:
                yield node.start, node.end, f"torch.{name}"


def constant(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Name):
        if node.simple == "M_PI":
            yield from ((node.start, node.end, f"{owner}.pi") for owner in ("math", "np", "torch"))


def length(formula: DerivativeFormula) -> Iterator[Change]:
    for call, callee in methods(formula, 0):
        if callee.name == "size":
            yield call.start, call.end, f"len({text_of(formula, callee.object)})"


def python_slips(natives: NativeFunctions) -> dict[str, FormulaSlip]:
    """The kinds of slips, each with what makes it."""
    return {
        "power": power, "square": square, "attribute": attribute, "item of shape": item_of_shape, "word": word,
        "is None": is_none, "module": module, "conditional": conditional, "brackets": brackets,
        "single quotes": single_quotes, "matrix product": matrix_product, "comment": comment, "underscore": underscore,
        "keyword": keyword_arguments(natives), "index None": index_none, "selection": selection, "dtype": dtype,
        "constant": constant, "length": length,
    }  # fmt: skip


def drawn(
    model: Model, natives: NativeFunctions, seed: int, count: int
) -> Iterator[tuple[DerivativeFormula, str, int]]:
    """Formulas of a file with one to three notations of Python in each, drawn at random, and how many."""
    dice = random.Random(seed)
    makers = python_slips(natives)
    places: dict[str, list[tuple[DerivativeFormula, Change]]] = {}
    for entry in model.entries:
        for formula in entry.formulas if len(entry.bodies) == 1 else ():
            if formula.is_expression:
                for kind, make in makers.items():
                    places.setdefault(kind, []).extend((formula, change) for change in make(formula))
    kinds = [kind for kind, items in places.items() if items]
    for _ in range(count):
        formula, change = dice.choice(places[dice.choice(kinds)])
        changes = [change]
        for _ in range(dice.choice((0, 0, 1, 2))):
            others = [
                other
                for formula_of, other in places[dice.choice(kinds)]
                if formula_of is formula and all(other[1] < one[0] or one[1] < other[0] for one in changes)
            ]
            changes += [dice.choice(others)] if others else []
        text = formula.text or ""
        for start, end, replacement in sorted(changes, reverse=True):
            text = text[:start] + replacement + text[end:]
        yield formula, text, len(changes)
