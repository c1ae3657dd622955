"""Slips of one token in formulas, by their syntax trees."""

from __future__ import annotations

import re
from collections.abc import Iterator

from derivlint.formula import (
    Binary,
    Call,
    Conditional,
    Index,
    Member,
    Name,
    Node,
    Number,
    Parenthesized,
    String,
    Unary,
)
from derivlint.model import DerivativeFormula
from tests.mutators.syntax import Change, FormulaSlip, callees, names, nodes, text_of

#: Functions that are taken for each other.
NEAR = (
    ("sin", "cos"), ("sinh", "cosh"), ("exp", "expm1"), ("sqrt", "rsqrt"), ("log", "log1p"), ("add", "sub"),
    ("mul", "div"), ("ge", "gt"), ("le", "lt"), ("eq", "ne"), ("tril", "triu"), ("sum", "mean"), ("sgn", "abs"),
    ("zeros_like", "ones_like"), ("mH", "mT"), ("unsqueeze", "squeeze"),
)  # fmt: skip
_OTHER_FUNCTION = {**dict(NEAR), **{b: a for a, b in NEAR}}
_ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*"}
_COMPARISONS = {">": "<", "<": ">", ">=": ">", "<=": "<", "==": "!=", "!=": "=="}
_DIMENSIONS = ("dim", "dim0", "dim1", "dims", "diagonal", "offset", "start", "end", "n", "k", "axis1", "axis2")


def _variables(formula: DerivativeFormula) -> Iterator[tuple[Name, str]]:
    called = {node.callee.start for node in nodes(formula, Node) if isinstance(node, Call)}
    return ((node, name) for node, name in names(formula) if node.start not in called or _is_variable(formula, name))


def _is_variable(formula: DerivativeFormula, name: str) -> bool:
    return name in _visible(formula)


def _visible(formula: DerivativeFormula) -> list[str]:
    function = formula.entry.function
    if function is None:
        return []
    return [binding.name for binding in function.arguments] + [output.name for output in function.outputs]


def _typos(name: str) -> Iterator[str]:
    """A name with two letters exchanged, one left out, one twice, one in the other case."""
    middle = len(name) // 2
    if len(name) > 2:
        yield name[:middle] + name[middle + 1 :]
        yield name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :]
        yield name[:middle] + name[middle] + name[middle:]
    yield name[0].swapcase() + name[1:]


def misspelt_variable(formula: DerivativeFormula) -> Iterator[Change]:
    for node, name in _variables(formula):
        yield from ((node.start, node.end, other) for other in _typos(name) if other != name)


def misspelt_function(formula: DerivativeFormula) -> Iterator[Change]:
    for start, end, name in callees(formula):
        yield from ((start, end, other) for other in _typos(name) if other != name)


def other_tensor(formula: DerivativeFormula) -> Iterator[Change]:
    function = formula.entry.function
    if function is None:
        return
    tensors = [each.name for each in function.arguments if each.is_tensor_like] + ["result", "grad"]
    for node, name in _variables(formula):
        if name in tensors:
            yield from ((node.start, node.end, other) for other in tensors if other != name)


def other_argument(formula: DerivativeFormula) -> Iterator[Change]:
    function = formula.entry.function
    if function is None:
        return
    others = [each.name for each in function.arguments if not each.is_tensor_like]
    for node, name in _variables(formula):
        if name in others:
            yield from ((node.start, node.end, other) for other in others if other != name)


def near_function(formula: DerivativeFormula) -> Iterator[Change]:
    for start, end, name in callees(formula):
        if name in _OTHER_FUNCTION:
            yield start, end, _OTHER_FUNCTION[name]


def arithmetic(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Binary):
        if node.op in _ARITHMETIC:
            yield node.op_start, node.op_start + len(node.op), _ARITHMETIC[node.op]


def comparison(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Binary):
        if node.op in _COMPARISONS:
            yield node.op_start, node.op_start + len(node.op), _COMPARISONS[node.op]


def assignment(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Binary):
        if node.op == "==":
            yield node.op_start, node.op_start + 2, "="


def lost_operator(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Binary):
        if node.op in _ARITHMETIC:
            yield node.op_start, node.op_start + len(node.op), ""


def sign(formula: DerivativeFormula) -> Iterator[Change]:
    tree = formula.parsed.tree
    if tree is not None:
        yield tree.start, tree.start, "-"
    for node in nodes(formula, Unary):
        if node.op == "-":
            yield node.start, node.operand.start, ""


def number(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Number):
        yield from ((node.start, node.end, other) for other in ("0", "1", "2", "3", "0.5") if other != node.text)


def number_type(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Number):
        if node.text.isdigit():
            yield node.start, node.end, f"{node.text}.5"
        elif isinstance(node, Number) and "." in node.text:
            yield node.start, node.end, node.text.partition(".")[0] or "0"


def truth_value(formula: DerivativeFormula) -> Iterator[Change]:
    for node, name in names(formula):
        if name in ("true", "false"):
            yield node.start, node.end, "false" if name == "true" else "true"


def negated_flag(formula: DerivativeFormula) -> Iterator[Change]:
    function = formula.entry.function
    arguments = [each.argument for each in function.arguments if each.argument is not None] if function else []
    flags = {argument.name for argument in arguments if str(argument.type) == "bool"}
    for node, name in _variables(formula):
        if name in flags:
            yield node.start, node.end, f"!{name}"


def string(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, String):
        if len(node.text) > 3:
            yield node.start + 1, node.start + 2, ""


def swapped_arguments(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Node):
        for one, other in zip(node.args, node.args[1:], strict=False) if isinstance(node, Call) else ():
            first, second = text_of(formula, one), text_of(formula, other)
            if first != second:
                yield one.start, other.end, f"{second}{formula.parsed.text[one.end : other.start]}{first}"


def dropped_argument(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Call):
        if len(node.args) > 1:
            yield node.args[0].start, node.args[1].start, ""
            for before, one in zip(node.args, node.args[1:], strict=False):
                yield before.end, one.end, ""


def repeated_argument(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Node):
        for one in node.args if isinstance(node, Call) else ():
            yield one.end, one.end, f", {text_of(formula, one)}"


def _of_text(pattern: str, replacement: str) -> FormulaSlip:
    """A slip at every place that matches."""
    compiled = re.compile(pattern)

    def found(formula: DerivativeFormula) -> Iterator[Change]:
        for match in compiled.finditer(formula.parsed.text):
            yield match.start(), match.end(), match.expand(replacement)

    return found


def moved_bracket(formula: DerivativeFormula) -> Iterator[Change]:
    """``(a + b) * c`` becomes ``(a + b * c)``."""
    for node in nodes(formula, Binary):
        if isinstance(node.left, Parenthesized):
            yield node.left.end - 1, node.end, f"{formula.parsed.text[node.left.end : node.end]})"


def lost_brackets(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Parenthesized):
        yield node.start, node.end, text_of(formula, node.inner)


def dimension(formula: DerivativeFormula) -> Iterator[Change]:
    for node, name in _variables(formula):
        if name in _DIMENSIONS:
            yield node.start, node.end, f"{name} - 1"
            yield node.start, node.end, f"{name} + 1"
            yield node.start, node.end, "0"


def _suffixed(suffix: str, other: str) -> FormulaSlip:
    def found(formula: DerivativeFormula) -> Iterator[Change]:
        for node, name in names(formula):
            if name.endswith(suffix):
                yield node.end - len(suffix), node.end, other

    return found


def grads_index(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Index):
        if text_of(formula, node.object) in ("grads", "result"):
            (argument,) = node.args
            if isinstance(argument, Number) and argument.text.isdigit():
                yield argument.start, argument.end, str(int(argument.text) + 1)
                yield argument.start, argument.end, str(int(argument.text) ^ 1)


def gradient_form(formula: DerivativeFormula) -> Iterator[Change]:
    for node, name in names(formula):
        if name == "grad":
            yield node.start, node.end, "grads[0]"
            yield node.start, node.end, "grads"
            yield node.start, node.end, "grad_output"
    for index in nodes(formula, Index):
        if text_of(formula, index.object) == "grads":
            yield index.start, index.end, "grad"


def mask(formula: DerivativeFormula) -> Iterator[Change]:
    for index in nodes(formula, Index):
        if text_of(formula, index.object) == "grad_input_mask":
            (argument,) = index.args
            if isinstance(argument, Number) and argument.text.isdigit():
                yield argument.start, argument.end, str(int(argument.text) ^ 1)
                yield argument.start, argument.end, str(int(argument.text) + 1)
    for node, name in names(formula):
        if name == "grad_input_mask":
            yield node.start, node.end, "{true, true, true}"
            yield node.start, node.end, "output_mask"


def lost_method(formula: DerivativeFormula) -> Iterator[Change]:
    """``self.conj()`` becomes ``self``."""
    for node in nodes(formula, Call):
        if isinstance(node.callee, Member) and not node.args:
            yield node.callee.object.end, node.end, ""


def superfluous_method(formula: DerivativeFormula) -> Iterator[Change]:
    tensors = {"self", "grad", "other", "result", "self_t", "self_p"}
    for node, name in _variables(formula):
        if name in tensors:
            yield from ((node.end, node.end, f".{method}()") for method in ("conj", "neg", "abs", "t", "sum"))


def factor(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Binary):
        if node.op in ("*", "/"):
            yield node.left.end, node.right.end, ""
            yield node.right.end, node.right.end, f" {node.op} {text_of(formula, node.right)}"
            if node.op == "*":
                yield node.left.start, node.right.start, ""


def branch(formula: DerivativeFormula) -> Iterator[Change]:
    for node in nodes(formula, Conditional):
        then, otherwise = text_of(formula, node.then), text_of(formula, node.otherwise)
        between = formula.parsed.text[node.then.end : node.otherwise.start]
        if then != otherwise:
            yield node.then.start, node.otherwise.end, f"{otherwise}{between}{then}"
        yield node.start, node.end, then
        yield node.start, node.end, otherwise
        yield node.condition.start, node.condition.end, f"!({text_of(formula, node.condition)})"


def symint(formula: DerivativeFormula) -> Iterator[Change]:
    for start, end, name in callees(formula):
        if name.endswith("_symint"):
            yield start, end, name.removesuffix("_symint")
        elif name.startswith("sym_"):
            yield start, end, name.removeprefix("sym_")


def lost_call(formula: DerivativeFormula) -> Iterator[Change]:
    """``self.dim()`` becomes ``self.dim``."""
    for node in nodes(formula, Call):
        if not node.args:
            yield node.callee.end, node.end, ""


def automatic(formula: DerivativeFormula) -> Iterator[Change]:
    tree = formula.parsed.tree
    if tree is None or formula.role.name != "FORWARD":
        return
    words = ("auto_linear", "auto_element_wise", "auto_linaer", "auto_elementwise", "non_differentiable")
    yield from ((tree.start, tree.end, word) for word in words if formula.text != word)


def not_differentiable(formula: DerivativeFormula) -> Iterator[Change]:
    tree = formula.parsed.tree
    if tree is not None and formula.role.name == "BACKWARD":
        yield tree.start, tree.end, "non_differentiable"
        yield tree.start, tree.end, f'not_implemented("{formula.entry.operator}")'
        yield tree.start, tree.end, "zeros_like(self)"
        yield tree.start, tree.end, "grad"


FORMULA_SLIPS: dict[str, FormulaSlip] = {
    "misspelt variable": misspelt_variable, "misspelt function": misspelt_function, "other tensor": other_tensor,
    "other argument": other_argument, "near function": near_function, "arithmetic": arithmetic,
    "comparison": comparison, "assignment": assignment, "lost operator": lost_operator, "sign": sign, "number": number,
    "number type": number_type, "boolean": truth_value, "negated flag": negated_flag, "string": string,
    "swapped arguments": swapped_arguments, "dropped argument": dropped_argument,
    "repeated argument": repeated_argument, "lost opening bracket": _of_text(r"\(", ""),
    "lost closing bracket": _of_text(r"\)", ""), "superfluous bracket": _of_text(r"\)", "))"),
    "moved bracket": moved_bracket, "lost brackets": lost_brackets, "lost comma": _of_text(r", ", " "),
    "double comma": _of_text(r", ", ",, "), "full stop": _of_text(r", ", ". "),
    "arrow": _of_text(r"(?<=\w)\.(?=[a-z])", "->"), "lost full stop": _of_text(r"(?<=\w)\.(?=[a-z])", ""),
    "single colon": _of_text(r"::", ":"), "lost namespace": _of_text(r"\b(at|std|c10)::", ""),
    "other namespace": _of_text(r"\bat::", "std::"), "semicolon": _of_text(r"$", ";"),
    "blank in name": _of_text(r"(?<=[a-z])_(?=[a-z])", " "), "dimension": dimension,
    "tangent for primal": _suffixed("_p", "_t"), "primal for tangent": _suffixed("_t", "_p"),
    "lost suffix p": _suffixed("_p", ""), "lost suffix t": _suffixed("_t", ""), "grads index": grads_index,
    "gradient form": gradient_form, "mask": mask, "lost method": lost_method, "superfluous method": superfluous_method,
    "factor": factor, "branch": branch, "symint": symint, "lost call": lost_call, "automatic": automatic,
    "not differentiable": not_differentiable,
}  # fmt: skip
