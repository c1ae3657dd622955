"""Conjugation in formulas of operators that PyTorch lists as complex.

For a holomorphic function ``f``, the gradient is ``grad * f'(x).conj()`` and the tangent ``x_t * f'(x)``. So in a
backward formula, a factor that depends on inputs or results is conjugated unless the gradient is; in a forward formula,
only if the tangent is (see "Autograd for Complex Numbers" in PyTorch's documentation). Non-holomorphic operators
(``abs``, ``vdot``) mix both or use functions such as ``sgn``, and are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from msgspec import Struct

from derivlint.analysis.calls.argument_order import variable_of
from derivlint.analysis.interpretation.callee import CallFacts, callee_name, is_conventional, role_of
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.derived_calls import argument_positions, has_parameters
from derivlint.analysis.interpretation.facts import NOTHING
from derivlint.analysis.interpretation.interpret import METADATA_TYPES, TRANSPARENT, Interpretation, asks_metadata
from derivlint.analysis.interpretation.operators import SHAPE_HELPERS
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.cpp_type import UNKNOWN, UNKNOWN_VALUE
from derivlint.cpp.expressions.conversion import FLOATS
from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Conditional,
    Expr,
    Index,
    Name,
    Node,
    Unary,
    unparenthesized,
    walk,
)
from derivlint.formula.analysis import Analysis
from derivlint.model.generated.forward import PRIMAL
from derivlint.model.resolve import EntryFunction
from derivlint.operators import Book
from derivlint.operators.reference.derived import Derived, derived
from derivlint.operators.reference.terms import Parity, Polynomial, joint, not_holomorphic, polynomials
from derivlint.operators.special import ParameterRole
from derivlint.schema.native_function import DEFAULT_NAMESPACE

#: The holomorphic functions, in addition to the polynomials of the table.
HOLOMORPHIC = Book.by_hand("holomorphic")
#: The functions of complex numbers that are not holomorphic.
NON_HOLOMORPHIC = not_holomorphic()
#: Functions whose result is real whatever their arguments are.
REAL = Book.by_hand("real") | Book.by_hand("integral") | SHAPE_HELPERS
REAL_OPERATORS = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||", "&", "|", "^", "%"})


#: Predicates that hold only for complex numbers.
ASKS_FOR_COMPLEX = ("is_complex", "isComplex")


class Mistake(Enum):
    """The kinds of conjugation mistakes."""

    #: an unconjugated factor in a backward formula
    MISSING = "missing"
    #: a conjugated factor in a forward formula
    SUPERFLUOUS = "superfluous"
    #: a call of the operator itself on the gradient, whose other argument is not conjugated
    OWN_OPERATOR = "own operator"
    #: a backward helper on a tangent without conjugation before and after
    REUSED_BACKWARD = "reused backward helper"


class ConjugationMistake(Struct, frozen=True):
    """A wrongly conjugated part of a formula.

    Attributes:
        kind: the mistake.
        interpretation: the formula.
        node: the part.
        name: the variable or helper.
    """

    kind: Mistake
    interpretation: Interpretation
    node: Expr
    name: str = ""


#: Parameters that make an operator conjugate an argument.
CONJUGATING_FLAGS = frozenset({"adjoint", "hermitian"})


def is_judged(interpretation: Interpretation) -> bool:
    """Whether the formula's operator is one of PyTorch's that is listed as complex and not known as non-holomorphic."""
    function = interpretation.formula.written.entry.function
    if function is None or function.canonical.namespace != DEFAULT_NAMESPACE:
        return False
    if function.canonical.name.base in NON_HOLOMORPHIC:
        return False
    return function.book.has_complex_gradients(function.canonical)


def unknown_callee(interpretation: Interpretation) -> str | None:
    """Find a function that makes the conjugation of a formula unknown.

    Returns:
        The function; empty for another reason, None if the conjugation is known.
    """
    run = _ConjugationRun(interpretation)
    for call in interpretation.calls:
        arguments = [run.either_parity(argument.node) for argument in call.arguments]
        if run.either_parity(call.node) is Parity.UNKNOWN and Parity.UNKNOWN not in arguments:
            return call.spelling
    return "" if run.seeds.of(interpretation.formula.tree) is Parity.UNKNOWN else None


def mistakes(interpretation: Interpretation) -> Iterator[ConjugationMistake]:
    """The wrongly conjugated parts of a formula; empty for operators that are not listed as complex."""
    formula = interpretation.formula
    if not is_judged(interpretation) or formula.written.auto is not None:
        return
    run = _ConjugationRun(interpretation)
    if formula.is_backward:
        yield from _products(run, Mistake.MISSING)
        yield from _own_operator(interpretation, run)
    else:
        yield from _products(run, Mistake.SUPERFLUOUS)
        yield from _reused(interpretation, run)


def _products(run: _ConjugationRun, kind: Mistake) -> Iterator[ConjugationMistake]:
    """The products of a seed and a factor of the wrong parity."""
    nodes = run.interpretation.formula.nodes
    real: set[Node] = set()
    for branch in _real_branches(run.interpretation.formula):
        # the outer branch comes before nested ones
        if branch not in real:
            real.update(walk(branch))
    for node in nodes:
        if not isinstance(node, Expr) or node in real:
            continue
        for seed, factors in run.products(node):
            parity = run.seeds.of(seed)
            for factor in factors:
                own = run.values.of(factor)
                wrong = own is parity if kind is Mistake.MISSING else own is parity.conjugate
                if parity is Parity.HOLOMORPHIC and own.is_pure and wrong:
                    yield ConjugationMistake(kind, run.interpretation, factor)


def _own_operator(interpretation: Interpretation, run: _ConjugationRun) -> Iterator[ConjugationMistake]:
    formula = interpretation.formula
    info = formula.written.body.info
    function = formula.written.entry.function
    if info is None or function is None:
        return
    differentiable = {binding.name for binding in info.args_with_derivatives} & run.values.complex_names
    for call in interpretation.calls:
        if call.name != function.canonical.name.base or call.is_method or _conjugates(call):
            continue
        facts = interpretation.facts
        taking = next((item for item in call.arguments if facts[item.node].degree is Degree.LINEAR), None)
        if taking is None or taking.parameter is None or taking.parameter.name not in formula.names:
            continue
        for argument in call.arguments:
            parameter = argument.parameter
            if argument is taking or parameter is None or parameter.name not in differentiable:
                continue
            if isinstance(argument.node, Name) and argument.node.simple == parameter.name:
                yield ConjugationMistake(Mistake.OWN_OPERATOR, interpretation, argument.node, parameter.name)


def _reused(interpretation: Interpretation, run: _ConjugationRun) -> Iterator[ConjugationMistake]:
    formula = interpretation.formula
    function = formula.written.entry.function
    own = function.canonical.name.base if function is not None else ""
    for call in interpretation.calls:
        if not call.name.endswith("_backward") or call.name == own or call.function is None:
            continue
        reads_value = any(
            (name := variable_of(argument.node)) is not None and (name.endswith(PRIMAL) or name.startswith("result"))
            for argument in call.arguments
        )
        for argument in call.arguments:
            if argument.parameter is None or role_of(argument.parameter) is not ParameterRole.GRADIENT:
                continue
            if reads_value and run.seeds.of(argument.node) is Parity.HOLOMORPHIC:
                yield ConjugationMistake(Mistake.REUSED_BACKWARD, interpretation, argument.node, call.name)


def _conjugates(call: CallFacts) -> bool:
    """Whether a flag makes the called operator conjugate."""
    return any(item.parameter is not None and item.parameter.name in CONJUGATING_FLAGS for item in call.arguments)


def _real_branches(formula: TypedFormula) -> Iterator[Expr]:
    """The branches for real numbers: ``b`` in ``x.is_complex() ? a : b``; both if the condition has no type."""
    for node in formula.nodes:
        if isinstance(node, Conditional):
            if formula.values.get(node.condition, UNKNOWN_VALUE).type is UNKNOWN:
                yield from (node.then, node.otherwise)
                continue
            condition, is_negated = unparenthesized(node.condition), False
            while isinstance(condition, Unary) and condition.op == "!":
                condition, is_negated = unparenthesized(condition.operand), not is_negated
            if isinstance(condition, Call) and callee_name(condition) in ASKS_FOR_COMPLEX:
                yield node.then if is_negated else node.otherwise


def _by_body(body: Derived, book: Derived | None) -> Derived | None:
    """Merge the book's definition of a function with the conjugation in its body; the body alone if there is none.

    If a body mixes a parameter with its conjugate, the book decides: conditions of branches are not related, and ``left
    ? X.mH() : X`` may be conjugated again under ``left``.
    """
    if book is None or len(book.outputs) != len(body.outputs) or len(book.parameters) != len(body.parameters):
        return body if (book is None or not _is_followed(book)) and _is_followed(body) else book
    outputs = []
    for of_body, of_book in zip(body.outputs, book.outputs, strict=True):
        named = dict(zip(body.parameters, book.parameters, strict=True))
        sure = {named[name]: parity for name, parity in of_body.parities.items() if parity.is_pure}
        outputs.append(Polynomial(of_book.parameters, of_book.terms, {**of_book.parities, **sure}))
    return Derived(book.kind, book.parameters, book.required, book.with_default, book.unused, tuple(outputs))


def _is_followed(derived: Derived) -> bool:
    """Whether the dependence of the value on all parameters is known."""
    return not any(parity is Parity.UNKNOWN for output in derived.outputs for parity in output.parities.values())


class _Calls(Analysis[Parity]):
    """Parities of the parts of a formula, including calls."""

    def __init__(self, interpretation: Interpretation) -> None:
        super().__init__()
        self._facts = interpretation.facts
        self._formula = interpretation.formula
        self._bodies = interpretation.bodies

    def otherwise(self, node: Expr) -> Parity:
        return Parity.UNKNOWN

    def has_seed(self, node: Expr) -> bool:
        """Whether an expression contains a seed."""
        return bool(self._facts.get(node, NOTHING).seeds)

    def conditional(self, node: Conditional) -> Parity:
        return joint((self.of(node.then), self.of(node.otherwise)))

    def braces(self, node: BraceList) -> Parity:
        return joint(map(self.of, node.items))

    def polynomials(self, call: CallFacts) -> tuple[dict[str, Expr], tuple[Polynomial, ...]] | None:
        """The arguments of a call by parameter, and its values as sums of products of them."""
        polynomial = polynomials().get(call.name)
        by_name: dict[str, Expr] = {}
        if polynomial is not None and has_parameters(call, polynomial):
            for position, argument in enumerate(call.arguments[: len(polynomial.parameters)]):
                named = argument.parameter is not None and argument.parameter.name in polynomial.parameters
                name = argument.parameter.name if named and argument.parameter else polynomial.parameters[position]
                by_name.setdefault(name, argument.node)
            return by_name, (polynomial,)
        book = derived(call.name)
        body = self._bodies.get(call.node)
        definition = book if body is None else _by_body(body, book)
        positions = (
            argument_positions(call, definition, is_same=definition is not book) if definition is not None else None
        )
        if definition is None or positions is None:
            return None
        return {name: call.arguments[at].node for name, at in positions.items()}, definition.outputs

    def called(self, call: CallFacts) -> Parity | None:
        """The parity of a call, or None if unknown."""
        if call.name in TRANSPARENT and not call.is_method:
            return joint(self.of(argument.node) for argument in call.arguments)
        binding = self.polynomials(call)
        if binding is None:
            return None
        by_name, outputs = binding
        default = Parity.REAL if polynomials().get(call.name) is None else Parity.HOLOMORPHIC
        nodes = [argument.node for argument in call.arguments]
        parities = []
        for polynomial in outputs:
            for name, node in by_name.items():
                parities.append(polynomial.parities.get(name, default).of(self.of(node)))
        taken = set(by_name.values())
        return joint((*parities, *(self.of(node) for node in nodes if node not in taken)))


class _Seeds(_Calls):
    """The parity of an expression in its seed."""

    def of(self, node: Expr) -> Parity:
        return super().of(node) if self.has_seed(node) else Parity.REAL

    def name(self, node: Expr) -> Parity:
        return Parity.HOLOMORPHIC

    index = name

    def unary(self, node: Unary) -> Parity:
        return self.of(node.operand)

    def binary(self, node: Binary) -> Parity:
        if node.op not in ("+", "-", "*", "/"):
            return Parity.UNKNOWN
        return joint((self.of(node.left), self.of(node.right)))

    def call(self, node: Call) -> Parity:
        call = self._formula.call(node)
        if call is None:
            return Parity.UNKNOWN
        if call.name in NON_HOLOMORPHIC:
            return Parity.NON_HOLOMORPHIC
        parity = self.called(call)
        return Parity.UNKNOWN if parity is None else parity


class _Values(_Calls):
    """The parity of an expression without seed in complex variables."""

    def __init__(self, interpretation: Interpretation) -> None:
        super().__init__(interpretation)
        info = self._formula.written.body.info
        function = self._formula.written.entry.function
        names = {binding.name for binding in info.args_with_derivatives} if info is not None else set()
        outputs = {output.name for output in function.outputs} if function is not None else set()
        scalars = {
            binding.name
            for binding in (function.arguments if function is not None else ())
            if binding.argument is not None and str(binding.argument.type) == "Scalar"
        }
        self.complex_names = (names | {name + PRIMAL for name in names} | outputs | scalars) - set(_masks(function))

    def of(self, node: Expr) -> Parity:
        type = self._formula.type_of(node)
        return Parity.REAL if type in METADATA_TYPES or type in FLOATS else super().of(node)

    def name(self, node: Name) -> Parity:
        return Parity.HOLOMORPHIC if node.simple in self.complex_names else Parity.REAL

    def number(self, node: Expr) -> Parity:
        return Parity.REAL

    def unary(self, node: Unary) -> Parity:
        return Parity.REAL if node.op == "!" else self.of(node.operand)

    def binary(self, node: Binary) -> Parity:
        if node.op in REAL_OPERATORS:
            return Parity.REAL
        return joint((self.of(node.left), self.of(node.right)))

    def index(self, node: Index) -> Parity:
        return self.of(node.object)

    def call(self, node: Call) -> Parity:
        call = self._formula.call(node)
        if call is None:
            return Parity.UNKNOWN
        if asks_metadata(call) or call.name in REAL or call.spelling in REAL:
            return Parity.REAL
        arguments = [self.of(argument.node) for argument in call.arguments]
        if call.name in NON_HOLOMORPHIC:
            return Parity.NON_HOLOMORPHIC if set(arguments) - {Parity.REAL} else Parity.REAL
        if call.name in HOLOMORPHIC:
            return joint(arguments)
        parity = self.called(call)
        if parity is not None:
            return parity
        return Parity.REAL if not set(arguments) - {Parity.REAL} else Parity.UNKNOWN


def _masks(function: EntryFunction | None) -> Iterator[str]:
    """The names of mask arguments, which are real."""
    if function is not None:
        for binding, fact in zip(function.arguments, ("mask-first", "mask-second"), strict=False):
            if function.canonical.name.base in Book.by_hand(fact):
                yield from (binding.name, binding.name + PRIMAL)


class _ConjugationRun:
    """The parities of one formula, and its products."""

    def __init__(self, interpretation: Interpretation) -> None:
        self.interpretation = interpretation
        self.seeds = _Seeds(interpretation)
        self.values = _Values(interpretation)

    def either_parity(self, node: Expr) -> Parity:
        """The parity of an expression in its seed, or in its variables if it has none."""
        return (self.seeds if self.seeds.has_seed(node) else self.values).of(node)

    def products(self, node: Expr) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
        """The products in an expression: the operand with a seed, and the other operands."""
        if isinstance(node, Binary) and node.op in ("*", "/"):
            yield from self._split((node.left, node.right))
        elif isinstance(node, Call):
            call = self.interpretation.formula.call(node)
            if call is None or call.name in NON_HOLOMORPHIC or _conjugates(call):
                return
            binding = self.seeds.polynomials(call)
            if binding is None:
                return
            by_name, outputs = binding
            if is_conventional(call.name):
                # a helper for one operator may be non-holomorphic
                return
            for polynomial in outputs:
                for term in polynomial.terms:
                    names = (*term.factors, *term.divisors)
                    if all(polynomial.parity(name) is Parity.HOLOMORPHIC for name in names):
                        yield from self._split(tuple(by_name[name] for name in names if name in by_name))

    def _split(self, operands: tuple[Expr, ...]) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
        directed = [node for node in operands if self.seeds.has_seed(node)]
        if len(directed) == 1:
            yield directed[0], tuple(node for node in operands if node is not directed[0])
