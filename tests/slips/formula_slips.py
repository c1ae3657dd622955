"""Slips of one token in formulas, by their syntax trees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

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
    walk,
)
from derivlint.model import DerivativeFormula

#: A change of a text: the range that is replaced, and by what.
Change = tuple[int, int, str]
FormulaSlip = Callable[[DerivativeFormula], Iterator[Change]]

#: Functions that are taken for each other.
NEAR = (
    ("sin", "cos"),
    ("sinh", "cosh"),
    ("exp", "expm1"),
    ("sqrt", "rsqrt"),
    ("log", "log1p"),
    ("add", "sub"),
    ("mul", "div"),
    ("ge", "gt"),
    ("le", "lt"),
    ("eq", "ne"),
    ("tril", "triu"),
    ("sum", "mean"),
    ("sgn", "abs"),
    ("zeros_like", "ones_like"),
    ("mH", "mT"),
    ("unsqueeze", "squeeze"),
)
_OTHER_FUNCTION = {**dict(NEAR), **{b: a for a, b in NEAR}}
_ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*"}
_COMPARISONS = {">": "<", "<": ">", ">=": ">", "<=": "<", "==": "!=", "!=": "=="}
_DIMENSIONS = ("dim", "dim0", "dim1", "dims", "diagonal", "offset", "start", "end", "n", "k", "axis1", "axis2")


def _nodes(line: DerivativeFormula) -> Iterator[Node]:
    tree = line.formula.tree
    return walk(tree) if tree is not None else iter(())


def _text(line: DerivativeFormula, node: Node) -> str:
    return line.formula.text[node.start : node.end]


def _named(line: DerivativeFormula) -> Iterator[tuple[Name, str]]:
    for node in _nodes(line):
        if isinstance(node, Name) and node.simple is not None:
            yield node, node.simple


def _callees(line: DerivativeFormula) -> Iterator[tuple[int, int, str]]:
    """The names of called functions and methods."""
    for node in _nodes(line):
        if isinstance(node, Call) and isinstance(node.callee, Name):
            part = node.callee.parts[-1]
            yield part.start, part.end, part.identifier
        elif isinstance(node, Call) and isinstance(node.callee, Member):
            yield node.callee.name_start, node.callee.name_end, node.callee.name


def _variables(line: DerivativeFormula) -> Iterator[tuple[Name, str]]:
    called = {node.callee.start for node in _nodes(line) if isinstance(node, Call)}
    return ((node, name) for node, name in _named(line) if node.start not in called or _is_variable(line, name))


def _is_variable(line: DerivativeFormula, name: str) -> bool:
    return name in _visible(line)


def _visible(line: DerivativeFormula) -> list[str]:
    function = line.entry.function
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


def misspelt_variable(line: DerivativeFormula) -> Iterator[Change]:
    for node, name in _variables(line):
        yield from ((node.start, node.end, other) for other in _typos(name) if other != name)


def misspelt_function(line: DerivativeFormula) -> Iterator[Change]:
    for start, end, name in _callees(line):
        yield from ((start, end, other) for other in _typos(name) if other != name)


def other_tensor(line: DerivativeFormula) -> Iterator[Change]:
    function = line.entry.function
    if function is None:
        return
    tensors = [each.name for each in function.arguments if each.is_tensor_like] + ["result", "grad"]
    for node, name in _variables(line):
        if name in tensors:
            yield from ((node.start, node.end, other) for other in tensors if other != name)


def other_argument(line: DerivativeFormula) -> Iterator[Change]:
    function = line.entry.function
    if function is None:
        return
    others = [each.name for each in function.arguments if not each.is_tensor_like]
    for node, name in _variables(line):
        if name in others:
            yield from ((node.start, node.end, other) for other in others if other != name)


def near_function(line: DerivativeFormula) -> Iterator[Change]:
    for start, end, name in _callees(line):
        if name in _OTHER_FUNCTION:
            yield start, end, _OTHER_FUNCTION[name]


def arithmetic(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Binary) and node.op in _ARITHMETIC:
            yield node.op_start, node.op_start + len(node.op), _ARITHMETIC[node.op]


def comparison(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Binary) and node.op in _COMPARISONS:
            yield node.op_start, node.op_start + len(node.op), _COMPARISONS[node.op]


def assignment(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Binary) and node.op == "==":
            yield node.op_start, node.op_start + 2, "="


def lost_operator(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Binary) and node.op in _ARITHMETIC:
            yield node.op_start, node.op_start + len(node.op), ""


def sign(line: DerivativeFormula) -> Iterator[Change]:
    tree = line.formula.tree
    if tree is not None:
        yield tree.start, tree.start, "-"
    for node in _nodes(line):
        if isinstance(node, Unary) and node.op == "-":
            yield node.start, node.operand.start, ""


def number(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Number):
            yield from ((node.start, node.end, other) for other in ("0", "1", "2", "3", "0.5") if other != node.text)


def number_type(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Number) and node.text.isdigit():
            yield node.start, node.end, f"{node.text}.5"
        elif isinstance(node, Number) and "." in node.text:
            yield node.start, node.end, node.text.partition(".")[0] or "0"


def truth_value(line: DerivativeFormula) -> Iterator[Change]:
    for node, name in _named(line):
        if name in ("true", "false"):
            yield node.start, node.end, "false" if name == "true" else "true"


def negated_flag(line: DerivativeFormula) -> Iterator[Change]:
    function = line.entry.function
    arguments = [each.argument for each in function.arguments if each.argument is not None] if function else []
    flags = {argument.name for argument in arguments if str(argument.type) == "bool"}
    for node, name in _variables(line):
        if name in flags:
            yield node.start, node.end, f"!{name}"


def string(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, String) and len(node.text) > 3:
            yield node.start + 1, node.start + 2, ""


def swapped_arguments(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        for one, other in zip(node.args, node.args[1:], strict=False) if isinstance(node, Call) else ():
            first, second = _text(line, one), _text(line, other)
            if first != second:
                yield one.start, other.end, f"{second}{line.formula.text[one.end : other.start]}{first}"


def dropped_argument(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Call) and len(node.args) > 1:
            yield node.args[0].start, node.args[1].start, ""
            for before, one in zip(node.args, node.args[1:], strict=False):
                yield before.end, one.end, ""


def repeated_argument(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        for one in node.args if isinstance(node, Call) else ():
            yield one.end, one.end, f", {_text(line, one)}"


def _of_text(pattern: str, replacement: str) -> FormulaSlip:
    """A slip at every place that matches."""
    compiled = re.compile(pattern)

    def found(line: DerivativeFormula) -> Iterator[Change]:
        for match in compiled.finditer(line.formula.text):
            yield match.start(), match.end(), match.expand(replacement)

    return found


def moved_bracket(line: DerivativeFormula) -> Iterator[Change]:
    """``(a + b) * c`` becomes ``(a + b * c)``."""
    for node in _nodes(line):
        if isinstance(node, Binary) and isinstance(node.left, Parenthesized):
            yield node.left.end - 1, node.end, f"{line.formula.text[node.left.end : node.end]})"


def lost_brackets(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Parenthesized):
            yield node.start, node.end, _text(line, node.inner)


def dimension(line: DerivativeFormula) -> Iterator[Change]:
    for node, name in _variables(line):
        if name in _DIMENSIONS:
            yield node.start, node.end, f"{name} - 1"
            yield node.start, node.end, f"{name} + 1"
            yield node.start, node.end, "0"


def _suffixed(suffix: str, other: str) -> FormulaSlip:
    def found(line: DerivativeFormula) -> Iterator[Change]:
        for node, name in _named(line):
            if name.endswith(suffix):
                yield node.end - len(suffix), node.end, other

    return found


def grads_index(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Index) and _text(line, node.object) in ("grads", "result"):
            (argument,) = node.args
            if isinstance(argument, Number) and argument.text.isdigit():
                yield argument.start, argument.end, str(int(argument.text) + 1)
                yield argument.start, argument.end, str(int(argument.text) ^ 1)


def gradient_form(line: DerivativeFormula) -> Iterator[Change]:
    for node, name in _named(line):
        if name == "grad":
            yield node.start, node.end, "grads[0]"
            yield node.start, node.end, "grads"
            yield node.start, node.end, "grad_output"
    for index in _nodes(line):
        if isinstance(index, Index) and _text(line, index.object) == "grads":
            yield index.start, index.end, "grad"


def mask(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Index) and _text(line, node.object) == "grad_input_mask":
            (argument,) = node.args
            if isinstance(argument, Number) and argument.text.isdigit():
                yield argument.start, argument.end, str(int(argument.text) ^ 1)
                yield argument.start, argument.end, str(int(argument.text) + 1)
    for node, name in _named(line):
        if name == "grad_input_mask":
            yield node.start, node.end, "{true, true, true}"
            yield node.start, node.end, "output_mask"


def lost_method(line: DerivativeFormula) -> Iterator[Change]:
    """``self.conj()`` becomes ``self``."""
    for node in _nodes(line):
        if isinstance(node, Call) and isinstance(node.callee, Member) and not node.args:
            yield node.callee.object.end, node.end, ""


def superfluous_method(line: DerivativeFormula) -> Iterator[Change]:
    tensors = {"self", "grad", "other", "result", "self_t", "self_p"}
    for node, name in _variables(line):
        if name in tensors:
            yield from ((node.end, node.end, f".{method}()") for method in ("conj", "neg", "abs", "t", "sum"))


def factor(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Binary) and node.op in ("*", "/"):
            yield node.left.end, node.right.end, ""
            yield node.right.end, node.right.end, f" {node.op} {_text(line, node.right)}"
            if node.op == "*":
                yield node.left.start, node.right.start, ""


def branch(line: DerivativeFormula) -> Iterator[Change]:
    for node in _nodes(line):
        if isinstance(node, Conditional):
            then, otherwise = _text(line, node.then), _text(line, node.otherwise)
            between = line.formula.text[node.then.end : node.otherwise.start]
            if then != otherwise:
                yield node.then.start, node.otherwise.end, f"{otherwise}{between}{then}"
            yield node.start, node.end, then
            yield node.start, node.end, otherwise
            yield node.condition.start, node.condition.end, f"!({_text(line, node.condition)})"


def symint(line: DerivativeFormula) -> Iterator[Change]:
    for start, end, name in _callees(line):
        if name.endswith("_symint"):
            yield start, end, name.removesuffix("_symint")
        elif name.startswith("sym_"):
            yield start, end, name.removeprefix("sym_")


def lost_call(line: DerivativeFormula) -> Iterator[Change]:
    """``self.dim()`` becomes ``self.dim``."""
    for node in _nodes(line):
        if isinstance(node, Call) and not node.args:
            yield node.callee.end, node.end, ""


def automatic(line: DerivativeFormula) -> Iterator[Change]:
    tree = line.formula.tree
    if tree is None or line.role.name != "FORWARD":
        return
    words = ("auto_linear", "auto_element_wise", "auto_linaer", "auto_elementwise", "non_differentiable")
    yield from ((tree.start, tree.end, word) for word in words if line.text != word)


def not_differentiable(line: DerivativeFormula) -> Iterator[Change]:
    tree = line.formula.tree
    if tree is not None and line.role.name == "BACKWARD":
        yield tree.start, tree.end, "non_differentiable"
        yield tree.start, tree.end, f'not_implemented("{line.entry.operator}")'
        yield tree.start, tree.end, "zeros_like(self)"
        yield tree.start, tree.end, "grad"


FORMULA_SLIPS: dict[str, FormulaSlip] = {
    "misspelt variable": misspelt_variable,
    "misspelt function": misspelt_function,
    "other tensor": other_tensor,
    "other argument": other_argument,
    "near function": near_function,
    "arithmetic": arithmetic,
    "comparison": comparison,
    "assignment": assignment,
    "lost operator": lost_operator,
    "sign": sign,
    "number": number,
    "number type": number_type,
    "boolean": truth_value,
    "negated flag": negated_flag,
    "string": string,
    "swapped arguments": swapped_arguments,
    "dropped argument": dropped_argument,
    "repeated argument": repeated_argument,
    "lost opening bracket": _of_text(r"\(", ""),
    "lost closing bracket": _of_text(r"\)", ""),
    "superfluous bracket": _of_text(r"\)", "))"),
    "moved bracket": moved_bracket,
    "lost brackets": lost_brackets,
    "lost comma": _of_text(r", ", " "),
    "double comma": _of_text(r", ", ",, "),
    "full stop": _of_text(r", ", ". "),
    "arrow": _of_text(r"(?<=\w)\.(?=[a-z])", "->"),
    "lost full stop": _of_text(r"(?<=\w)\.(?=[a-z])", ""),
    "single colon": _of_text(r"::", ":"),
    "lost namespace": _of_text(r"\b(at|std|c10)::", ""),
    "other namespace": _of_text(r"\bat::", "std::"),
    "semicolon": _of_text(r"$", ";"),
    "blank in name": _of_text(r"(?<=[a-z])_(?=[a-z])", " "),
    "dimension": dimension,
    "tangent for primal": _suffixed("_p", "_t"),
    "primal for tangent": _suffixed("_t", "_p"),
    "lost suffix p": _suffixed("_p", ""),
    "lost suffix t": _suffixed("_t", ""),
    "grads index": grads_index,
    "gradient form": gradient_form,
    "mask": mask,
    "lost method": lost_method,
    "superfluous method": superfluous_method,
    "factor": factor,
    "branch": branch,
    "symint": symint,
    "lost call": lost_call,
    "automatic": automatic,
    "not differentiable": not_differentiable,
}
