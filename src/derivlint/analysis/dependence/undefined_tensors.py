"""Gradients and optional arguments that may be undefined when a formula reads them.

The gradient of an unused output is an undefined tensor. Generated code handles it for one input and one output; for one
input and several outputs only if all are undefined; for several inputs never (see the top of derivatives.yaml). Follows
gen_autograd_functions.py (``DERIVATIVE_SINGLE`` and its like).

An omitted argument ``Tensor? weight`` is an undefined tensor too; operators reject both.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.interpretation.callee import CallFacts
from derivlint.analysis.interpretation.interpret import Interpretation, asks_metadata
from derivlint.analysis.typed import TypedFormula, seed_names, seed_of
from derivlint.cpp.cpp_type import TENSOR
from derivlint.cpp.expressions.consumer import Use
from derivlint.formula import Binary, Call, Conditional, Expr, Index, Member, Name, Node, Unary, unparenthesized, walk
from derivlint.model import Entry, Model, Role
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRAD, GRADS, gradients_of
from derivlint.model.index import EntryIndex
from derivlint.model.query import file_fact
from derivlint.operators import Book

DEFINED = "defined"
#: Backward operators that return undefined gradients for an undefined gradient (LinearAlgebra.cpp,
#: attention_backward.cu and others test for it first).
HANDLE_UNDEFINED = Book.by_hand("takes-undefined")
#: The minimum number of entries of a complete file; if almost none of its formulas tests for undefined gradients, it
#: has another contract.
WHOLE_FILE = 100
FEW = 10


class UnguardedRead(Struct, frozen=True):
    """An operator's read of a possibly undefined gradient or optional argument.

    Attributes:
        formula: the formula.
        node: the gradient or argument.
        name: its name.
        reader: the call or operator that reads it.
        operator: the name of the callee, empty for C++ operators.
    """

    formula: TypedFormula
    node: Expr
    name: str
    reader: Expr
    operator: str


def unguarded_reads(model: Model, interpretation: Interpretation) -> Iterator[UnguardedRead]:
    """The unguarded reads of possibly undefined gradients in a backward formula, once per gradient."""
    formula = interpretation.formula
    if not formula.is_backward or formula.written.names == ():
        return
    if not keeps_contract(model):
        return
    use = formula.evaluation.consumer.use
    gradients = gradients_of(formula.written.body)
    used = {item.index for _, item in gradients.indexed} | {word.text for _, word in gradients.named}
    if not used and GRADS in formula.variables:
        yield from _passed_lists(model, formula)
    several = len(used) > 1
    protected = use in (Use.GRADIENT, Use.ELEMENT_GRADIENT)
    if protected and (not several or use is Use.ELEMENT_GRADIENT):
        return
    yield from _Reader(model, formula, seed_names(formula), len(used) if protected else 0).first_reads()


def _passed_lists(model: Model, formula: TypedFormula) -> Iterator[UnguardedRead]:
    """The operators that get the list of all output gradients, which may be partly undefined."""
    if _tests_gradient(formula.tree):
        return
    for node in formula.nodes:
        call = formula.call(node) if isinstance(node, Call) else None
        if call is None or not _is_operator(model, call) or call.name in HANDLE_UNDEFINED:
            continue
        for argument in call.arguments:
            takes_list = argument.parameter is not None and argument.parameter.type is not TENSOR
            if takes_list and isinstance(argument.node, Name) and argument.node.simple == GRADS:
                yield UnguardedRead(formula, argument.node, GRADS, call.node, call.spelling)
                return


def _is_operator(model: Model, call: CallFacts) -> bool:
    """Whether a call is of a PyTorch operator, not of a helper or custom operator."""
    function = call.function
    return function is not None and not function.operators and bool(model.natives.with_base(call.name))


def unguarded_optionals(model: Model, interpretation: Interpretation) -> Iterator[UnguardedRead]:
    """The unguarded reads of optional tensors in a formula, once per tensor."""
    formula = interpretation.formula
    function = formula.written.entry.function
    if function is None or not formula.written.names:
        return
    optional = {
        argument.name
        for argument in function.schema.arguments.flat_non_out
        if (type := argument.type).is_nullable and type.is_tensor_like and type.is_list_like is None
    }
    names = [name.text for name in formula.written.names]
    if formula.is_backward and len(names) == 1:
        # the formula is evaluated only if this argument needs a gradient, so it is defined
        optional.discard(names[0])
    # in forward formulas, the bare name is the optional itself
    suffixes = ("",) if formula.is_backward else (PRIMAL, TANGENT)
    forms = frozenset(name + suffix for name in optional for suffix in suffixes)
    yield from _Reader(model, formula, forms).first_reads()


def keeps_contract(model: Model) -> bool:
    """Whether the formulas of a file should handle undefined gradients.

    PyTorch's do from 1.6 on; before, almost no formula tested for them.
    """
    return model.fact(_keeps_contract)


def _tests_of(entry: Entry) -> Iterator[tuple[str, int]]:
    """Count the formulas of an entry that test whether a gradient is defined."""
    trees = (
        formula.parsed.tree
        for formula in entry.formulas
        if formula.role is Role.BACKWARD and DEFINED in (formula.text or "")
    )
    yield "", sum(tree is not None and _tests_gradient(tree) for tree in trees)


#: All entries under a single key; the value is the number of formulas that test whether a gradient is defined.
DEFINED_TESTS: EntryIndex[int] = EntryIndex(f"{__name__}:DEFINED_TESTS", _tests_of)


@file_fact
def _keeps_contract(model: Model, _: str) -> bool:
    asking = model.values_in(DEFINED_TESTS, "")
    return len(asking) < WHOLE_FILE or sum(asking) >= FEW


class _Reader:
    """Finds the reads of variables in a formula.

    ``guarded`` has the variables tested by an enclosing condition; both branches count as guarded.
    """

    def __init__(self, model: Model, formula: TypedFormula, names: frozenset[str], some_of: int = 0) -> None:
        self.model = model
        self.formula = formula
        self.names = names
        #: the number of gradients if at least one is defined; 0 if all may be undefined
        self.some_of = some_of

    def first_reads(self) -> Iterator[UnguardedRead]:
        """The first read of each variable."""
        seen: set[str] = set()
        for read in self.reads(self.formula.tree, frozenset()) if self.names else ():
            if read.name not in seen:
                seen.add(read.name)
                yield read

    def reads(self, node: Node, guarded: frozenset[str]) -> Iterator[UnguardedRead]:
        if isinstance(node, Conditional):
            tested = guarded | _tested_variables(node.condition, self.names)
            yield from self.reads(node.condition, guarded)
            yield from self.reads(node.then, tested)
            # if all but one are undefined, the last one is defined
            if not (self.some_of and len(tested) >= self.some_of - 1 and tested != guarded):
                yield from self.reads(node.otherwise, tested)
            return
        if isinstance(node, (Binary, Unary)):
            operands = (node.left, node.right) if isinstance(node, Binary) else (node.operand,)
            for operand in operands:
                yield from self._read(operand, node, "", guarded)
        elif isinstance(node, Call):
            yield from self._called(node, guarded)
        for child in node.children:
            yield from self.reads(child, guarded)

    def _called(self, node: Call, guarded: frozenset[str]) -> Iterator[UnguardedRead]:
        call = self.formula.call(node)
        if call is None or asks_metadata(call):
            return
        if not call.is_method and not _is_operator(self.model, call):
            # helpers and custom operators accept undefined gradients unless their body is known to read them
            for position in analyses_of(self.model).operators.unguarded(call):
                yield from self._read(call.arguments[position].node, node, call.spelling, guarded)
            return
        if call.name in HANDLE_UNDEFINED:
            return
        for argument in call.arguments:
            parameter = argument.parameter
            if parameter is not None and parameter.type is TENSOR:
                yield from self._read(argument.node, node, call.spelling, guarded)

    def _read(self, node: Expr, reader: Expr, operator: str, guarded: frozenset[str]) -> Iterator[UnguardedRead]:
        name = seed_of(node, self.names)
        if name is not None and name not in guarded:
            yield UnguardedRead(self.formula, node, name, reader, operator)


def undefined_reads(formula: TypedFormula) -> Iterator[UnguardedRead]:
    """The calls and operators that get a gradient where a condition has found that it is undefined, each one once."""
    seen = set()
    names = seed_names(formula)
    for read in _undefined_reads(formula, formula.tree, names, frozenset()) if formula.is_backward else ():
        if read.name not in seen:
            seen.add(read.name)
            yield read


def _undefined_reads(
    formula: TypedFormula, node: Node, names: frozenset[str], undefined: frozenset[str]
) -> Iterator[UnguardedRead]:
    if isinstance(node, Conditional):
        for branch, truth in ((node.then, True), (node.otherwise, False)):
            tested = _undefined_if(node.condition, truth, names)
            yield from _undefined_reads(formula, branch, names, undefined | tested)
        return
    for reader, operator, operand in _operands(formula, node) if undefined else ():
        name = seed_of(operand, names)
        if name in undefined:
            yield UnguardedRead(formula, operand, name, reader, operator)
    for child in node.children:
        yield from _undefined_reads(formula, child, names, undefined)


def _operands(formula: TypedFormula, node: Node) -> Iterator[tuple[Expr, str, Expr]]:
    """The operands of a C++ operator and the arguments of a call that reads values, with these and their names."""
    if isinstance(node, Binary):
        yield node, node.op, node.left
        yield node, node.op, node.right
    call = formula.call(node) if isinstance(node, Call) else None
    if call is not None and not asks_metadata(call):
        for argument in call.arguments:
            yield call.node, call.spelling, argument.node


def _undefined_if(condition: Expr, truth: bool, names: frozenset[str]) -> frozenset[str]:
    """The gradients that are undefined where a condition has a truth value."""
    condition = unparenthesized(condition)
    if isinstance(condition, Unary) and condition.op == "!":
        return _undefined_if(condition.operand, not truth, names)
    if isinstance(condition, Binary) and condition.op == ("&&" if truth else "||"):
        return _undefined_if(condition.left, truth, names) | _undefined_if(condition.right, truth, names)
    return frozenset() if truth or not isinstance(condition, Call) else _tested_variables(condition, names)


def _tested_variables(condition: Expr, names: frozenset[str]) -> frozenset[str]:
    """The variables that a condition tests with ``.defined()``."""
    tested = set()
    for node in walk(condition):
        if isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name == DEFINED:
            variable = seed_of(node.callee.object, names)
            if variable is not None:
                tested.add(variable)
    return frozenset(tested)


def _tests_gradient(expression: Expr) -> bool:
    """Whether an expression tests whether any gradient is defined, under any name."""
    for node in walk(expression):
        if isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name == DEFINED:
            operand = node.callee.object
            while isinstance(operand, Index):
                operand = operand.object
            if isinstance(operand, Name) and operand.simple is not None and operand.simple.startswith(GRAD):
                return True
    return False
