"""Candidates that are one small edit away from the formula that stands there.

Edits are made on the syntax tree, and keep the rest of the text. Each kind has a weight, the number of times that the
history of PyTorch's derivatives.yaml corrects such a slip; the more there are of a kind, the less likely is each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from enum import Enum
from itertools import combinations
from math import log

from msgspec import Struct

from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.library import HELPERS
from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Conditional,
    Edit,
    Expr,
    Index,
    Member,
    Name,
    Node,
    Number,
    Parenthesized,
    Unary,
    apply_edits,
    unparenthesized,
    walk,
)
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Model, Role
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRAD, GRAD_INPUT_MASK, GRADS
from derivlint.model.keys import AUTO_ELEMENT_WISE, AUTO_LINEAR
from derivlint.model.scope import is_internal, visible_names
from derivlint.operators.siblings import forgotten_methods, siblings
from derivlint.operators.special import WHERE
from derivlint.repair.candidates import Candidate, Target


class Slip(Enum):
    """A kind of slip."""

    CONJUGATE = "conjugate"
    ARGUMENT_COUNT = "argument count"
    GUARD = "guard"
    METHOD = "method"
    COMPARISON = "comparison"
    HELPER = "helper"
    VARIABLE = "variable"
    FACTOR = "factor"
    SIGN = "wrong sign"
    EXCHANGE = "exchange"
    INDEX = "index"
    FLAG = "flag"
    OPERATOR = "operator"
    CONSTANT = "constant"
    OPERAND = "operand"
    BRANCH = "branch"
    WHOLE = "whole"


#: How many of 150 corrected formulas of PyTorch's history had a slip of a kind; nearly none is counted as three.
WEIGHTS = {
    Slip.CONJUGATE: 61,
    Slip.ARGUMENT_COUNT: 16,
    Slip.GUARD: 10,
    Slip.METHOD: 10,
    Slip.COMPARISON: 7,
    Slip.HELPER: 6,
    Slip.VARIABLE: 5,
    **dict.fromkeys((Slip.FACTOR, Slip.SIGN, Slip.EXCHANGE, Slip.INDEX, Slip.FLAG), 3),
    **dict.fromkeys((Slip.OPERATOR, Slip.CONSTANT, Slip.OPERAND, Slip.BRANCH, Slip.WHOLE), 3),
}
#: How many times as likely a slip is at a place that a finding underlines.
AT_FINDING = 50
#: So many helpers with a similar name are tried.
MAX_SIBLINGS = 8
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_ARITHMETIC = ("+", "-", "*", "/")
_LOGIC = {"&&": "||", "||": "&&", "&": "|", "|": "&"}
_NUMBERS = ("0", "1", "2", "3", "0.5", "-1")
_FLAGS = {"true": "false", "false": "true"}


class _Change(Struct, frozen=True):
    """An edit of a formula.

    Attributes:
        slip: the kind of slip that it undoes.
        edit: the edit.
        cause: the slip, in words.
    """

    slip: Slip
    edit: Edit
    cause: str


def edited_formulas(target: Target, model: Model) -> Iterator[Candidate]:
    """The candidates for a wrong formula that are one edit away from it, the likeliest first."""
    formula = target.formula
    if formula is None or formula.text is None or not formula.is_exact():
        return iter(())
    text = formula.text
    texts = {text}
    candidates = []
    changes = [*_Changes(model, formula)]
    counts = Counter(change.slip for change in changes)
    spans = [item.span for item in target.findings if item.key == target.key and item.span != formula.value_span]
    for change in changes:
        likelihood = WEIGHTS[change.slip] / counts[change.slip]
        place = formula.range(change.edit.start, change.edit.end)
        if any(span.start <= place.end and place.start <= span.end for span in spans):
            likelihood *= AT_FINDING
        candidate = apply_edits(text, [change.edit])
        if candidate not in texts:
            texts.add(candidate)
            candidates.append(Candidate(candidate, "edit", -log(likelihood), (change.edit,), change.cause))
    return iter(sorted(candidates, key=lambda candidate: candidate.cost))


class _Changes:
    """The changes of one formula."""

    def __init__(self, model: Model, formula: DerivativeFormula) -> None:
        self._model = model
        self._formula = formula
        self._text = formula.text or ""
        self._tree = formula.parsed.tree
        self._names = _names(formula)
        self._tensors = _tensors(formula)
        nodes = list(walk(self._tree)) if self._tree is not None else []
        self._nodes = nodes
        self._parents = {child: node for node in nodes for child in node.children}
        self._typed = _typed(model, formula)

    def __iter__(self) -> Iterator[_Change]:
        if self._tree is None:
            return
        yield from self._of_whole(self._tree)
        for node in self._nodes:
            match node:
                case Name():
                    yield from self._of_name(node)
                case Number():
                    yield from self._of_number(node)
                case Index():
                    yield from self._of_index(node)
                case Unary():
                    yield self._dropped(Slip.SIGN, node, node.operand, f'"{node.op}" is superfluous')
                case Binary():
                    yield from self._of_binary(node)
                case Call():
                    yield from self._of_call(node)
                case Conditional():
                    yield from self._of_conditional(node)
                case _:
                    pass
            if isinstance(node, Expr) and self._is_value(node):
                yield from self._put_on(node)

    # ---- texts

    def _of(self, node: Node) -> str:
        return self._text[node.start : node.end]

    def _operand(self, node: Expr) -> str:
        """The text of an expression, in parentheses where it would fall apart as a part of another one."""
        text = self._of(node)
        return f"({text})" if isinstance(node, (Binary, Conditional, Unary)) else text

    def _replaced(self, slip: Slip, node: Node, text: str, cause: str) -> _Change:
        return _Change(slip, Edit(node.start, node.end, text), cause)

    def _dropped(self, slip: Slip, node: Expr, kept: Expr, cause: str) -> _Change:
        """An expression replaced by a part of it, without parentheses that are not needed any more."""
        place: Node = node
        parent = self._parents.get(node)
        part = unparenthesized(kept)
        is_atom = not isinstance(part, (Binary, Conditional, Unary))
        if is_atom and isinstance(parent, Parenthesized):
            place = parent
        text = self._of(part) if is_atom or place is self._tree else self._of(kept)
        return self._replaced(slip, place, text, cause)

    # ---- nodes

    def _of_whole(self, tree: Expr) -> Iterator[_Change]:
        whole = self._operand(tree)
        yield self._replaced(Slip.SIGN, tree, f"-{whole}", "the sign is wrong")
        for factor in ("2", "0.5"):
            yield self._replaced(Slip.FACTOR, tree, f"{whole} * {factor}", f"the factor {factor} is missing")
        if self._formula.role is Role.FORWARD:
            for word in (AUTO_LINEAR, AUTO_ELEMENT_WISE):
                yield self._replaced(Slip.WHOLE, tree, word, f"{quoted(word)} is meant")

    def _of_name(self, node: Name) -> Iterator[_Change]:
        name = node.simple
        parent = self._parents.get(node)
        if name is None or (isinstance(parent, Call) and parent.callee is node):
            return
        if name in _FLAGS:
            yield self._replaced(Slip.FLAG, node, _FLAGS[name], f"{quoted(_FLAGS[name])} is meant")
            return
        for other in self._names:
            if other != name and not (isinstance(parent, Index) and parent.object is node and other != GRADS):
                yield self._replaced(Slip.VARIABLE, node, other, f"{quoted(other)} is meant, not {quoted(name)}")

    def _of_number(self, node: Number) -> Iterator[_Change]:
        numbers = dict.fromkeys((*_near(node.text), *_NUMBERS))
        parent = self._parents.get(node)
        slip = Slip.INDEX if isinstance(parent, Index) else Slip.CONSTANT
        for number in numbers:
            if number != node.text:
                yield self._replaced(slip, node, number, f"{number} is meant, not {node.text}")

    def _of_index(self, node: Index) -> Iterator[_Change]:
        if self._of(node.object) == GRADS:
            for name in self._tensors:
                yield self._replaced(Slip.INDEX, node, name, f"{quoted(name)} is meant, not {quoted(self._of(node))}")

    def _of_binary(self, node: Binary) -> Iterator[_Change]:
        for group, slip in ((_COMPARISONS, Slip.COMPARISON), (_ARITHMETIC, Slip.OPERATOR)):
            if node.op in group:
                for op in group:
                    if op != node.op:
                        yield self._operator(slip, node, op)
        if node.op in _LOGIC:
            yield self._operator(Slip.OPERATOR, node, _LOGIC[node.op])
        for kept, dropped in ((node.left, node.right), (node.right, node.left)):
            if node.op in (*_ARITHMETIC, *_LOGIC):
                cause = f"{quoted(self._of(dropped))} is superfluous"
                yield self._dropped(Slip.OPERAND, node, kept, cause)
        if node.op in ("-", "/"):
            text = f"{self._operand(node.right)} {node.op} {self._operand(node.left)}"
            yield self._replaced(Slip.EXCHANGE, node, text, f'the operands of "{node.op}" are exchanged')

    def _operator(self, slip: Slip, node: Binary, op: str) -> _Change:
        cause = f'"{op}" is meant, not "{node.op}"'
        return _Change(slip, Edit(node.op_start, node.op_start + len(node.op), op), cause)

    def _of_conditional(self, node: Conditional) -> Iterator[_Change]:
        for branch in (node.then, node.otherwise):
            yield self._dropped(Slip.BRANCH, node, branch, "the condition is superfluous")
        text = f"{self._of(node.condition)} ? {self._of(node.otherwise)} : {self._of(node.then)}"
        yield self._replaced(Slip.BRANCH, node, text, "the branches are exchanged")

    def _of_call(self, node: Call) -> Iterator[_Change]:
        callee = node.callee
        if isinstance(callee, Member):
            slip = Slip.CONJUGATE if callee.name == forgotten_methods()[0] else Slip.METHOD
            yield self._dropped(slip, node, callee.object, f"{quoted('.' + callee.name)} is superfluous")
            for name in siblings(callee.name):
                cause = f"{quoted(name)} is meant, not {quoted(callee.name)}"
                yield _Change(Slip.HELPER, Edit(callee.name_start, callee.name_end, name), cause)
        elif isinstance(callee, Name):
            part = callee.parts[-1]
            for name in (*siblings(part.identifier), *self._similar(part.identifier, len(node.args))):
                cause = f"{quoted(name)} is meant, not {quoted(part.identifier)}"
                yield _Change(Slip.HELPER, Edit(part.start, part.start + len(part.identifier), name), cause)
            for argument in node.args[:1]:
                yield self._dropped(Slip.METHOD, node, argument, f"{quoted(part.identifier)} is superfluous")
        yield from self._of_arguments(node)

    def _of_arguments(self, node: Call) -> Iterator[_Change]:
        arguments = node.args
        texts = [self._of(argument) for argument in arguments]
        for first, second in combinations(range(len(texts)), 2):
            if texts[first] == texts[second]:
                continue
            one, two = arguments[first], arguments[second]
            between = self._text[one.end : two.start]
            edit = Edit(one.start, two.end, texts[second] + between + texts[first])
            slip = Slip.BRANCH if _callee(node) == WHERE and first else Slip.EXCHANGE
            yield _Change(slip, edit, f"{quoted(texts[first])} and {quoted(texts[second])} are swapped")
        for index, argument in enumerate(arguments):
            start = arguments[index - 1].end if index else argument.start
            end = argument.end if index or len(arguments) == 1 else arguments[1].start
            cause = f"the argument {quoted(texts[index])} is superfluous"
            yield _Change(Slip.ARGUMENT_COUNT, Edit(start, end, ""), cause)
        parameters = self._parameters(node)
        for index in range(len(arguments) + 1):
            names = parameters[index : index + 1] or self._names
            for name in names:
                if name not in self._names and name not in _FLAGS:
                    continue
                text = f"{name}, " if index < len(arguments) else f", {name}" if arguments else name
                place = arguments[index].start if index < len(arguments) else node.end - 1
                yield _Change(Slip.ARGUMENT_COUNT, Edit(place, place, text), f"the argument {quoted(name)} is missing")

    def _put_on(self, node: Expr) -> Iterator[_Change]:
        """A method, a factor or a sign put on a tensor."""
        parent = self._parents.get(node)
        text = self._operand(node)
        for index, method in enumerate(forgotten_methods()):
            slip = Slip.METHOD if index else Slip.CONJUGATE
            yield self._replaced(slip, node, f"{text}.{method}()", f"{quoted(f'.{method}()')} is missing")
        if isinstance(parent, (Call, Parenthesized, Conditional)) or (isinstance(parent, Binary) and parent.op != "*"):
            yield self._replaced(Slip.SIGN, node, f"-{text}", f"the sign of {quoted(self._of(node))} is wrong")
        if isinstance(node, Binary) and node.op in ("*", "/"):
            return
        for name in self._tensors:
            if name != self._of(node):
                yield self._replaced(Slip.FACTOR, node, f"{text} * {name}", f"the factor {quoted(name)} is missing")

    # ---- facts

    def _is_value(self, node: Expr) -> bool:
        """Whether an expression is a tensor, or may be."""
        parent = self._parents.get(node)
        if isinstance(parent, Call) and parent.callee is node:
            return False
        if isinstance(node, Name):
            return node.simple in self._tensors and not (isinstance(parent, Member))
        if isinstance(node, (Number, Parenthesized, BraceList)):
            return False
        return isinstance(node, (Call, Binary, Index))

    def _parameters(self, node: Call) -> Sequence[str]:
        """The names of the parameters of a function that is called, as far as they are known."""
        if self._typed is None:
            return ()
        name = _callee(node)
        for function in self._model.typing.library.functions(HELPERS, name or "").functions:
            return [parameter.name for parameter in function.parameters]
        return ()

    def _similar(self, name: str, count: int) -> list[str]:
        """The helpers with names most like that of another one which take as many arguments."""
        library = self._model.typing.library
        parts = set(name.split("_")) - {"backward", "jvp", ""}
        names = []
        for other in library.function_names(HELPERS):
            functions = library.functions(HELPERS, other).functions if parts & set(other.split("_")) else ()
            if other != name and any(item.required <= count <= len(item.parameters) for item in functions):
                names.append(other)
        return sorted(names, key=lambda other: -SequenceMatcher(None, name, other).ratio())[:MAX_SIBLINGS]


def _callee(node: Call) -> str | None:
    callee = node.callee
    if isinstance(callee, Member):
        return callee.name
    return callee.parts[-1].identifier if isinstance(callee, Name) else None


def _near(number: str) -> Iterable[str]:
    if number.isdigit():
        yield from (str(int(number) + 1), f"-{number}")
        if int(number):
            yield str(int(number) - 1)
            yield f"1. / {number}"


def _names(formula: DerivativeFormula) -> tuple[str, ...]:
    """The variables that a formula can use, those of the other gradients one by one."""
    names = [name for name in visible_names(formula) if not is_internal(name)]
    return tuple(dict.fromkeys(name for name in names if name not in (GRADS, GRAD_INPUT_MASK)))


def _tensors(formula: DerivativeFormula) -> tuple[str, ...]:
    """The variables that are tensors."""
    function, info = formula.entry.function, formula.body.info
    if function is None or info is None:
        return ()
    names = [binding.name for binding in function.arguments if binding.is_tensor_like]
    names += [output.name for output in function.outputs]
    if formula.role is Role.FORWARD:
        return (*(name + suffix for name in names for suffix in (PRIMAL, TANGENT)), *names)
    flags = info.output_differentiability or [output.type.is_tensor_like for output in function.outputs]
    count = sum(flags)
    gradients = [f"{GRADS}[{index}]" for index in range(count)] if count > 1 else []
    return (GRAD, *gradients, *info.available_named_gradients, *names)


def _typed(model: Model, formula: DerivativeFormula) -> TypedFormula | None:
    formulas = analyses_of(model).formulas_of(formula.body)
    return next((item for item in formulas if item.written is formula), None)
