"""Differentiability of formulas: the operators that gradients and differentiable values pass.

A gradient stops at values without tensors, at operators without differentiable outputs, and at ``detach``. With one
branch that is not differentiable, the formula is partly differentiable; in ``GradMode::is_enabled() ? a : b`` only
``a`` is ever differentiated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from derivlint.analysis.differentiability.operators import (
    RAISING_PREFIX,
    Answer,
    Derivatives,
    OperatorDerivatives,
    Reason,
    Verdict,
    Way,
    decomposes,
    derivatives_of,
    is_followed,
)
from derivlint.analysis.interpretation.callee import CallFacts, callee_name
from derivlint.analysis.typed import TypedFormula, seed_names
from derivlint.cpp import cpp_arguments
from derivlint.cpp.cpp_type import types
from derivlint.cpp.operator_signatures import is_symint, without_symint
from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Cast,
    Conditional,
    Construct,
    Expr,
    Index,
    Lambda,
    Member,
    Name,
    Parenthesized,
    Postfix,
    Unary,
    free_names,
)
from derivlint.model import Model
from derivlint.model.generated.forward import PRIMAL
from derivlint.model.query import file_fact
from derivlint.operators import Book
from derivlint.operators.special import CUTTING, RAISING
from derivlint.schema import NativeFunction
from derivlint.source.records import Choice


class OuterMode(Choice):
    """The modes in which formulas are differentiated again."""

    REVERSE = "reverse"
    FORWARD = "forward"


#: The hand-written fact for helpers that are not differentiable although they consist of ATen operators.
ENDING = "scales-computed-gradient"
#: Operators at which gradients stop.
STOPPING = Book.by_hand("detaches") | Book.by_hand("zero") | {"item"}
#: Types of values without gradient.
WITHOUT_GRADIENT = types("""
    bool int int64_t double float size_t SymInt SymBool SymFloat ScalarType TypeMeta Layout Device MemoryFormat
    TensorOptions TensorGeometry Scalar string string_view complex<double> vector<int64_t> vector<SymInt>
    ArrayRef<int64_t> ArrayRef<SymInt> vector<Scalar> ArrayRef<Scalar> optional<Scalar> optional<int64_t>
    optional<SymInt> optional<double> optional<bool> optional<ScalarType>
""")
GRAD_MODE = ["GradMode", "is_enabled"]
ARITHMETIC = frozenset({"+", "-", "*", "/"})


class FormulaFlow:
    """The verdicts on the formulas of one file."""

    def __init__(self, model: Model, derivatives: Derivatives) -> None:
        self.model = model
        self._natives = model.natives
        self._derivatives = derivatives

    def verdict(self, formula: TypedFormula, mode: OuterMode) -> Verdict:
        """Whether a formula is differentiable in its gradients and in every differentiable value."""
        called = filter(None, (callee_name(node) for node in formula.nodes if isinstance(node, Call)))
        if not any(mode.value in self.model.fact(_modes_lacking, name) for name in called):
            return Verdict(Answer.YES)
        run = _FlowRun(self, formula, mode)
        run.carries(formula.tree)
        reasons = tuple(run.reasons)
        answers = {reason.answer for reason in reasons}
        for answer in (Answer.NO, Answer.PARTIAL, Answer.UNKNOWN):
            if answer in answers:
                return Verdict(answer, reasons)
        return Verdict(Answer.YES)

    def cuts(self, formula: TypedFormula) -> Iterator[CallFacts]:
        """The calls of ``detach`` and ``item`` that cut a part of a formula from the graph."""
        for node in formula.nodes:
            call = formula.call(node) if isinstance(node, Call) and callee_name(node) in CUTTING else None
            if call is None or not call.arguments:
                continue
            operand, whole = (_FlowRun(self, formula, OuterMode.REVERSE) for _ in range(2))
            if operand.carries(call.arguments[0].node) and whole.is_reached(call.node):
                yield call

    def called(self, call: CallFacts) -> tuple[OperatorDerivatives, ...]:
        """The operators that a call may call; empty for a helper."""
        if call.function is None and not isinstance(call.node.callee, Member):
            return ()
        return tuple(self._derivatives.of(native) for native in self._operators(call))

    def _operators(self, call: CallFacts) -> list[NativeFunction]:
        candidates = [native for native in self._natives.named(call.spelling) if not native.schema.is_out]
        if not candidates and is_symint(call.spelling):
            name = without_symint(call.spelling)
            candidates = [native for native in self._natives.named(name) if not native.schema.is_out]
        if call.function is None or call.function.variadic:
            return candidates
        signature = [(parameter.name, parameter.type.has_tensors) for parameter in call.function.parameters]
        return [native for native in candidates if _signature(native, call.is_method) == signature]


@file_fact
def _modes_lacking(model: Model, name: str) -> tuple[str, ...]:
    """The modes in which operators or helpers with a name may not be differentiable, as values of :class:`Again`."""
    every = tuple(mode.value for mode in OuterMode)
    if name in RAISING or name.startswith(RAISING_PREFIX) or name in Book.by_hand(ENDING):
        return every
    modes: tuple[str, ...] = ()
    for native in (*model.natives.named(name), *model.natives.named(without_symint(name))):
        if native.schema.is_out:
            continue
        derivatives = derivatives_of(model).of(native)
        if derivatives.way in (Way.MISSING, Way.UNKNOWN) or derivatives.missing or _is_unfollowed(derivatives):
            return every
        if derivatives.forward.answer is not Answer.YES:
            modes = (OuterMode.FORWARD.value,)
    return modes


def _signature(native: NativeFunction, is_method: bool) -> list[tuple[str, bool]]:
    """The parameters of an operator's C++ function, and whether they take tensors."""
    own = native.schema.arguments.self_arg if is_method else None
    return [
        (binding.name, binding.is_tensor_like)
        for binding in cpp_arguments(native)
        if own is None or binding.argument is not own
    ]


class _FlowRun:
    """One walk over a formula."""

    def __init__(self, flow: FormulaFlow, formula: TypedFormula, mode: OuterMode) -> None:
        self.flow = flow
        self.formula = formula
        self.mode = mode
        self.reasons: list[Reason] = []
        self._active = active_names(formula, flow.model)
        self._guarded = False
        self._source: Expr | None = None

    def is_reached(self, source: Expr) -> bool:
        """Whether a gradient of the value reaches one expression."""
        self._active, self._source = frozenset(), source
        return self.carries(self.formula.tree)

    def carries(self, node: Expr) -> bool:
        """Whether a gradient passes an expression; records the operators that stop it."""
        if node is self._source:
            return True
        carried = self._carries(node)
        return carried and self.formula.type_of(node) not in WITHOUT_GRADIENT

    def _carries(self, node: Expr) -> bool:
        if isinstance(node, Name):
            return node.simple in self._active
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Conditional):
            return self._conditional(node)
        if isinstance(node, Binary):
            both = [self.carries(node.left), self.carries(node.right)]
            return node.op in ARITHMETIC and any(both)
        if isinstance(node, (Unary, Postfix, Cast)):
            return self.carries(node.operand) and getattr(node, "op", "") not in ("!", "~")
        if isinstance(node, Parenthesized):
            return self.carries(node.inner)
        if isinstance(node, (BraceList, Construct)):
            items = node.items if isinstance(node, BraceList) else node.braces.items
            return self._any_carries(items)
        if isinstance(node, (Index, Member)):
            return self.carries(node.object)
        if isinstance(node, Lambda):
            return self._any_carries(free_names(node))
        return False

    def _any_carries(self, nodes: Sequence[Expr]) -> bool:
        """Whether a gradient passes any of several expressions; visits all of them."""
        carried = [self.carries(node) for node in nodes]
        return any(carried)

    def _conditional(self, node: Conditional) -> bool:
        self.carries(node.condition)
        enabled = grad_mode_of(node.condition)
        if enabled is not None:
            outer, self._guarded = self._guarded, True
            carried_on = self.carries(node.then if enabled else node.otherwise)
            self._guarded = outer
            return carried_on
        before = len(self.reasons)
        carried = [self.carries(node.then)]
        between = len(self.reasons)
        carried.append(self.carries(node.otherwise))
        in_then, in_otherwise = self.reasons[before:between], self.reasons[between:]
        if not (in_then and in_otherwise):
            # whether the other branch is differentiable
            carried_elsewhere = carried[1] if in_then else carried[0]
            if carried_elsewhere:
                self.reasons[before:] = [
                    replace(reason, answer=Answer.PARTIAL) if reason.answer is Answer.NO else reason
                    for reason in self.reasons[before:]
                ]
        return any(carried)

    def _call(self, node: Call) -> bool:
        call = self.formula.call(node)
        if call is None:
            return self._any_carries((node.callee, *node.args))
        carrying = [argument for argument in call.arguments if self.carries(argument.node)]
        if call.name in RAISING or call.name.startswith(RAISING_PREFIX):
            self._note(Reason(f'"{call.spelling}" raises'), node)
            return False
        if not carrying or call.spelling in STOPPING:
            return False
        if not call.is_method and call.name in Book.by_hand(ENDING) and self.mode is OuterMode.REVERSE:
            self._note(Reason(f'"{call.name}" scales a gradient that was computed in the forward call'), node)
            return False
        operators = self.flow.called(call)
        if not operators:
            # a helper in FunctionsManual.h, or a method of a C++ class
            return True
        names = [argument.parameter.name for argument in carrying if argument.parameter is not None]
        outcomes = [self._through(operator, names) for operator in operators]
        blamed = [reason for _, reason in outcomes if reason is not None]
        if blamed and len(blamed) == len(outcomes):
            self._note(blamed[0], node)
        return any(carried for carried, _ in outcomes)

    def _through(self, derivatives: OperatorDerivatives, names: list[str]) -> tuple[bool, Reason | None]:
        """Whether a gradient passes an operator, and why it is not differentiable."""
        function = derivatives.function
        if derivatives.way is Way.NON_DIFFERENTIABLE or function.name.base in Book.by_hand("integral"):
            return False, None
        is_formula_elsewhere = derivatives.info is not None and decomposes(function)
        if _is_unfollowed(derivatives):
            name = str(function.name)
            text = f'"{name}" is composite, and what it calls is not followed'
            return True, Reason(text, name, answer=Answer.UNKNOWN)
        if derivatives.way in (Way.DECOMPOSES, Way.MANUAL) or is_formula_elsewhere:
            return True, None
        if derivatives.way is Way.UNKNOWN:
            name = str(function.name)
            return True, Reason(f'the file has no entry for "{name}"', name, answer=Answer.UNKNOWN)
        if not names:
            # the call does not match the parameters
            return True, None
        active = [name for name in names if name not in derivatives.ignored]
        if not active:
            return False, None
        if self.mode is OuterMode.FORWARD:
            lacks = derivatives.forward.answer is Answer.NO
            return not lacks, derivatives.forward.reasons[0] if lacks else None
        missing = [derivatives.missing[name] for name in active if name in derivatives.missing]
        return len(missing) < len(active), missing[0] if missing else None

    def _note(self, reason: Reason, node: Expr) -> None:
        self.reasons.append(replace(reason, formula=self.formula, node=node, guarded=self._guarded))


def _is_unfollowed(derivatives: OperatorDerivatives) -> bool:
    """Whether an operator is composite with unknown parts."""
    if derivatives.info is None and derivatives.way is not Way.DECOMPOSES:
        return False
    return decomposes(derivatives.function) and not is_followed(derivatives.function)


def active_names(formula: TypedFormula, model: Model) -> frozenset[str]:
    """The differentiable variables in a formula: gradients or tangents, arguments, outputs."""
    names = set(seed_names(formula))
    resolved = model.canonical_differentiability(formula.written.body)
    if resolved is not None:
        # an argument without a formula raises if it requires grad, so it has no gradient
        derivatives = derivatives_of(model).of(resolved.function, resolved.key)
        arguments = {value.name for value in resolved.inputs} - derivatives.missing.keys() - derivatives.ignored
        names |= arguments | {value.name for value in resolved.outputs or ()}
        if not formula.is_backward:
            names.update(name + PRIMAL for name in arguments)
    return frozenset(names)


def grad_mode_of(condition: Expr) -> bool | None:
    """The value of a condition during differentiation if ``GradMode::is_enabled()`` decides it, else None."""
    if isinstance(condition, Parenthesized):
        return grad_mode_of(condition.inner)
    if isinstance(condition, Unary) and condition.op == "!":
        inner = grad_mode_of(condition.operand)
        return None if inner is None else not inner
    if isinstance(condition, Binary) and condition.op in ("||", "&&"):
        both = (grad_mode_of(condition.left), grad_mode_of(condition.right))
        decisive = condition.op == "||"
        return decisive if decisive in both else None
    if isinstance(condition, Call) and isinstance(condition.callee, Name):
        return True if [part.identifier for part in condition.callee.parts[-2:]] == GRAD_MODE else None
    return None
