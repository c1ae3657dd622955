"""The abstract interpretation of a formula: degrees in the seeds, dependences on variables, aliases.

The :class:`Fact` of each expression is computed from those of its operands. ``UNKNOWN`` propagates; nonlinearity is
recorded where it arises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from derivlint.analysis.interpretation.callee import CallArgument, CallFacts, is_conventional, role_of
from derivlint.analysis.interpretation.degree import Degree, function_of, product_of, sum_of
from derivlint.analysis.interpretation.derived_calls import argument_positions, degree_of, has_parameters
from derivlint.analysis.interpretation.facts import (
    Cause,
    Culprit,
    Dependence,
    Fact,
    Write,
    beside,
    collected,
    joined,
    merged,
    opaque,
    seeds_of,
    weakened,
)
from derivlint.analysis.interpretation.operators import (
    LIKE_FIRST,
    LIKE_SECOND,
    MAY_RETURN_ARGUMENT,
    VIEWS,
    OperatorDegrees,
)
from derivlint.analysis.typed import TypedFormula, dual_lists, seed_names, seed_of
from derivlint.cpp.cpp_type import types
from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Cast,
    Conditional,
    Expr,
    Index,
    Lambda,
    Member,
    Name,
    Number,
    Postfix,
    Unary,
    free_names,
    unparenthesized,
    walk,
)
from derivlint.formula.analysis import Analysis
from derivlint.formula.nodes import Block, Declared, Loop, Statement
from derivlint.formula.vocabulary import words
from derivlint.operators.reference.derived import Derived
from derivlint.operators.reference.terms import Polynomial
from derivlint.operators.special import METADATA_MEMBERS, RAISING, REAL_FROM_COMPLEX, ParameterRole

#: Types that contain metadata but no tensor values.
METADATA_TYPES = types("""
    bool int int64_t size_t SymInt SymBool ScalarType TypeMeta Layout Device DeviceType MemoryFormat TensorOptions
    TensorGeometry QScheme DispatchKeySet vector<int64_t> vector<SymInt> ArrayRef<int64_t> ArrayRef<SymInt>
    OptionalArrayRef<int64_t> OptionalArrayRef<SymInt> vector<ScalarType> vector<vector<SymInt>> optional<int64_t>
    optional<SymInt> optional<bool> optional<ScalarType> array<bool,1> array<bool,2> array<bool,3> array<bool,4>
""")

#: Functions that return arguments unchanged, or a part of them.
TRANSPARENT = words("get make_tuple tuple vector optional TensorList ArrayRef Tensor make_optional")

#: The suffix of forward helpers.
JVP = "_jvp"

ASSIGNMENTS = frozenset({"=", "+=", "-=", "*=", "/="})
CONSTANT = Fact(Degree.CONSTANT)
ZERO = Fact(Degree.ZERO)


def asks_metadata(call: CallFacts) -> bool:
    """Whether a call reads only metadata of a tensor: ``x.size(0)``, ``at::size(x, 0)``."""
    return call.name in METADATA_MEMBERS


class Interpretation(Struct, eq=False):
    """The result of interpreting a formula.

    Attributes:
        formula: the formula.
        facts: the facts of all expressions.
        root: the fact of the whole formula.
        culprits: its nonlinear parts.
        writes: the calls and assignments that change a tensor in place.
        calls: every call of a named function or method.
        bodies: the facts derived from bodies of called functions, by call.
    """

    formula: TypedFormula
    facts: dict[Expr, Fact]
    root: Fact
    culprits: tuple[Culprit, ...]
    writes: tuple[Write, ...]
    calls: tuple[CallFacts, ...]
    bodies: Mapping[Call, Derived]


class FormulaInterpreter:
    """Interprets the formulas of one file."""

    def __init__(self, operators: OperatorDegrees) -> None:
        self._operators = operators

    def interpret(self, formula: TypedFormula) -> Interpretation:
        """Interpret a formula."""
        run = _InterpretationRun(formula, self._operators)
        root = run.of(formula.tree)
        return Interpretation(
            formula, run.found, root, tuple(run.culprits), tuple(run.writes), tuple(run.calls), run.bodies
        )


class _InterpretationRun(Analysis[Fact]):
    def __init__(self, formula: TypedFormula, operators: OperatorDegrees) -> None:
        super().__init__()
        self.formula = formula
        self.operators = operators
        self.culprits: list[Culprit] = []
        self.writes: list[Write] = []
        self.calls: list[CallFacts] = []
        self.bodies: dict[Call, Derived] = {}
        #: the variables of the lambda whose statements are interpreted
        self._locals: dict[str, Fact] = {}
        self._seeds = seed_names(formula)
        self._duals = dual_lists(formula)
        self._owners = _owners(formula)
        self._positions: dict[tuple[Expr, tuple[str, ...]], dict[str, int] | None] = {}

    def of(self, node: Expr) -> Fact:
        fact = super().of(node)
        if fact.degree not in (Degree.CONSTANT, Degree.ZERO) and self.formula.type_of(node) in METADATA_TYPES:
            dependence = weakened(fact.dependence, Dependence.METADATA)
            fact = self.found[node] = Fact(Degree.CONSTANT, frozenset(), dependence)
        return fact

    def otherwise(self, node: Expr) -> Fact:
        """The fact of a literal, which is constant."""
        return CONSTANT

    # ---- leaves

    def name(self, node: Name) -> Fact:
        name = node.simple
        if name is None:
            return ZERO if node.parts[-1].identifier == "nullopt" else CONSTANT
        if name in self._locals:
            return self._locals[name]
        if name in self._seeds:
            value = frozenset({name})
            return Fact(Degree.LINEAR, value, {name: Dependence.VALUE}, value)
        if name in self._duals:
            return Fact(Degree.UNKNOWN, frozenset(), {name: Dependence.VALUE}, frozenset({name}))
        owner = self._owners.get(name)
        if owner is not None:
            return Fact(Degree.CONSTANT, frozenset(), {owner: Dependence.METADATA})
        declared = self.formula.evaluation.variables.get(name) if self._locals else None
        type = self.formula.type_of(node) if declared is None else declared.canonical
        if name in ("nullptr", "false", "nullopt"):
            return ZERO if name == "false" else CONSTANT
        return Fact(
            Degree.CONSTANT, frozenset(), {name: Dependence.VALUE}, frozenset({name} if type.has_tensors else ())
        )

    def number(self, node: Number) -> Fact:
        return ZERO if node.is_zero else CONSTANT

    # ---- operators

    def unary(self, node: Unary | Postfix) -> Fact:
        fact = self.of(node.operand)
        if node.op in ("-", "+"):
            return Fact(fact.degree, fact.seeds, fact.dependence)
        degree = Degree.CONSTANT if fact.degree in (Degree.CONSTANT, Degree.ZERO) else Degree.UNKNOWN
        return Fact(degree, fact.seeds, fact.dependence, fact.aliases if node.op == "*" else frozenset())

    postfix = unary

    def binary(self, node: Binary) -> Fact:
        left, right = self.of(node.left), self.of(node.right)
        if node.op in ("+", "-"):
            return self._sum(node, ((node.left, left), (node.right, right)))
        if node.op == "*":
            return self._product(node, ((node.left, left), (node.right, right)), ())
        if node.op == "/":
            return self._product(node, ((node.left, left),), ((node.right, right),))
        both = beside((left, right))
        if node.op in ASSIGNMENTS or node.op == ",":
            # other rules report these mistakes
            return Fact(Degree.UNKNOWN, both.seeds, both.dependence)
        degree = function_of((left.degree, right.degree))
        if degree is Degree.NONLINEAR and Degree.NONLINEAR not in (left.degree, right.degree):
            self.culprits.append(Culprit(Cause.FUNCTION, node, (node.left, node.right), both.seeds))
        return Fact(degree, both.seeds, both.dependence)

    def _sum(self, node: Expr, operands: Iterable[tuple[Expr, Fact]], cause: Cause = Cause.CONSTANT_TERM) -> Fact:
        operands = tuple(operands)
        facts = [fact for _, fact in operands]
        degree = sum_of([fact.degree for fact in facts])
        combined = beside(facts)
        if degree is Degree.AFFINE and all(fact.degree is not Degree.AFFINE for fact in facts):
            constants = tuple(operand for operand, fact in operands if fact.degree is Degree.CONSTANT)
            self.culprits.append(Culprit(cause, node, constants, combined.seeds))
        return Fact(degree, combined.seeds, combined.dependence)

    def _product(self, node: Expr, factors: Iterable[tuple[Expr, Fact]], divisors: Iterable[tuple[Expr, Fact]]) -> Fact:
        factors, divisors = tuple(factors), tuple(divisors)
        facts = [fact for _, fact in (*factors, *divisors)]
        combined = beside(facts)
        bad = tuple(operand for operand, fact in divisors if fact.degree.has_seed)
        degree = product_of([fact.degree for _, fact in factors])
        if any(fact.degree is Degree.UNKNOWN for _, fact in divisors):
            degree = sum_of((degree, Degree.UNKNOWN)) if degree is not Degree.ZERO else degree
        is_cause = all(fact.degree is not Degree.NONLINEAR for fact in facts)
        if bad:
            if is_cause:
                self.culprits.append(Culprit(Cause.DIVISOR, node, bad, seeds_of(fact for _, fact in divisors)))
            degree = Degree.NONLINEAR
        elif degree is Degree.NONLINEAR and is_cause:
            parts = tuple(operand for operand, fact in factors if fact.degree.has_seed)
            self.culprits.append(Culprit(Cause.PRODUCT, node, parts, combined.seeds))
        return Fact(degree, combined.seeds, combined.dependence)

    def conditional(self, node: Conditional) -> Fact:
        condition = self.of(node.condition)
        then, otherwise = self.of(node.then), self.of(node.otherwise)
        fact = self._sum(node, ((node.then, then), (node.otherwise, otherwise)), Cause.CONSTANT_BRANCH)
        dependence = merged((fact.dependence, condition.dependence))
        return Fact(fact.degree, fact.seeds, dependence, then.aliases | otherwise.aliases)

    # ---- brackets

    def braces(self, node: BraceList) -> Fact:
        return collected(map(self.of, node.items))

    def cast(self, node: Cast) -> Fact:
        return self.of(node.operand)

    def index(self, node: Index) -> Fact:
        seed = seed_of(node, self._seeds)
        for item in node.args:
            self.of(item)
        if seed is not None:
            # in "grads[i]", the list itself is not a seed
            self.found[node.object] = CONSTANT
            value = frozenset({seed})
            return Fact(Degree.LINEAR, value, {seed: Dependence.VALUE}, value)
        return self.of(node.object)

    def lambda_(self, node: Lambda) -> Fact:
        return self._captured(node, [CONSTANT] * len(node.params))

    def _captured(self, node: Lambda, arguments: list[Fact]) -> Fact:
        """The fact of a lambda by what it captures, with the writes in its statements."""
        if node.statements is not None and not self._locals:
            names = [param.name for param in node.params]
            self._collect_writes(node.statements, {"": CONSTANT, **dict(zip(names, arguments, strict=False))})
        uses = joined(map(self.of, free_names(node)))
        if uses.degree is Degree.CONSTANT:
            return Fact(Degree.CONSTANT, frozenset(), uses.dependence)
        return Fact(Degree.UNKNOWN, uses.seeds, uses.dependence)

    def _collect_writes(self, body: Block, parameters: dict[str, Fact]) -> None:
        """Collect the writes in the statements of a lambda, whose calls have no types."""
        self._locals = parameters
        n_calls, n_culprits = len(self.calls), len(self.culprits)
        for part in walk(body):
            if isinstance(part, Loop) and part.variable is not None and part.over is not None:
                self._locals |= dict.fromkeys([name.simple or "" for name in part.variable.names], self.of(part.over))
            if isinstance(part, Declared):
                values = [self.of(item) for item in (part.value, *(part.arguments or ())) if item is not None]
                for name in part.names:
                    if values:
                        self._locals[name.simple or ""] = collected(values)
                    else:
                        self._locals.setdefault(name.simple or "", CONSTANT)
            elif isinstance(part, Statement):
                for child in part.children:
                    if isinstance(child, Expr):
                        self.of(child)
                        self._assign(child)
        del self.calls[n_calls:], self.culprits[n_culprits:]
        self._locals = {}

    def _assign(self, node: Expr) -> None:
        """Update a variable of a lambda, or collect the write of "grad *= 2"."""
        if not isinstance(node, Binary) or node.op not in ASSIGNMENTS:
            return
        if node.op != "=":
            self.writes.append(Write(node, node.op, node.op[:-1], node.left, (node.right,), self.of(node.left)))
        elif isinstance(node.left, Name) and node.left.simple in self._locals:
            self._locals[node.left.simple] = self.of(node.right)

    def member(self, node: Member) -> Fact:
        fact = self.of(node.object)
        if fact.degree in (Degree.CONSTANT, Degree.ZERO):
            return Fact(Degree.CONSTANT, frozenset(), fact.dependence)
        return Fact(Degree.UNKNOWN, fact.seeds, fact.dependence)

    # ---- calls

    def call(self, node: Call) -> Fact:
        call = self.formula.call(node)
        if call is None:
            facts = [self.of(argument) for argument in node.args]
            callee = unparenthesized(node.callee)
            if isinstance(callee, Lambda):
                self.found[callee] = self._captured(callee, facts)
            return opaque([self.of(node.callee), *facts])
        facts = [self.of(argument.node) for argument in call.arguments]
        if self._duals and call.name.endswith(JVP):
            facts = [self._tangents(argument.node, fact) for argument, fact in zip(call.arguments, facts, strict=True)]
        self.calls.append(call)
        arguments = tuple([argument.node for argument in call.arguments])
        self.writes += [
            Write(node, call.spelling, call.name, arguments[index], arguments[1:], facts[index])
            for index in call.written
        ]
        fact = self._called(call, facts)
        return Fact(fact.degree, fact.seeds, self._dependence(call, facts), self._aliases(call, facts))

    def _tangents(self, node: Expr, fact: Fact) -> Fact:
        """The fact of a list of primals with tangents for a forward helper: linear in the tangents."""
        if not isinstance(node, Name) or node.simple not in self._duals:
            return fact
        return Fact(Degree.LINEAR, fact.aliases, fact.dependence)

    def _called(self, call: CallFacts, facts: list[Fact]) -> Fact:
        name = call.name
        if asks_metadata(call):
            return Fact(Degree.CONSTANT, frozenset(), {})
        if not call.is_method and name in TRANSPARENT:
            # "std::vector<Tensor>(n)" contains undefined tensors
            types = (self.formula.type_of(argument.node) for argument in call.arguments)
            return collected(facts) if any(type not in METADATA_TYPES for type in types) else ZERO
        if name in RAISING or "error" in name:
            return Fact(Degree.UNKNOWN)
        if name in LIKE_SECOND and len(facts) > 1:
            facts = [facts[0], CONSTANT, *facts[2:]]
        if name in LIKE_FIRST and facts:
            facts = [CONSTANT, *facts[1:]]
        by_body = self._by_body(call, facts)
        if by_body is not None:
            return by_body
        polynomial = self.operators.polynomial(name)
        if polynomial is not None and has_parameters(call, polynomial):
            return self._polynomial(call, facts, polynomial)
        if self.operators.is_nonlinear(name):
            return self._function(call, facts)
        derived = self.operators.derived(name)
        fact = self._derived(call, facts, derived) if derived is not None else None
        return self._helper(call, facts) if fact is None else fact

    def _by_body(self, call: CallFacts, facts: list[Fact]) -> Fact | None:
        """The fact of a call by the body of the helper; None if unknown or undecided."""
        body = self.operators.by_body(call)
        if body is None:
            return None
        self.bodies[call.node] = body
        return self._derived(call, facts, body, is_body=True)

    def _derived(self, call: CallFacts, facts: list[Fact], derived: Derived, *, is_body: bool = False) -> Fact | None:
        """The fact of a call by the definition or body of the function; None if undecided."""
        if all(fact.degree is Degree.CONSTANT for fact in facts):
            return Fact(Degree.CONSTANT)
        positions = self._bound(call, derived)
        if positions is None:
            return None
        name = call.name
        degree = degree_of(derived, {parameter: facts[position].degree for parameter, position in positions.items()})
        if degree is Degree.UNKNOWN:
            return None
        if is_body and degree is not Degree.LINEAR and (self.operators.is_known(name) or is_conventional(name)):
            # nonlinear terms cancel according to the book or the name; otherwise the body itself is reported
            return None
        if degree not in (Degree.NONLINEAR, Degree.AFFINE):
            return Fact(degree, seeds_of(facts))
        if (derived.is_by_position and not is_body) or is_conventional(call.name):
            conventional = self._helper(call, facts)
            if conventional.degree is not Degree.LINEAR or self._is_passed_elsewhere(call, facts):
                return conventional
        for output in derived.outputs:
            self._note_culprits(call, facts, output, positions)
        return Fact(degree, seeds_of(facts))

    def _is_passed_elsewhere(self, call: CallFacts, facts: list[Fact]) -> bool:
        """Whether gradients or tangents are passed for other parameters, which other rules report."""
        return any(
            argument.parameter is not None and role_of(argument.parameter).is_seed and not fact.seeds
            for argument, fact in zip(call.arguments, facts, strict=True)
        )

    def _note_culprits(self, call: CallFacts, facts: list[Fact], output: Polynomial, positions: dict[str, int]) -> None:
        """Record the nonlinear parts of a defined function's values."""
        terms: list[tuple[Expr, Fact]] = []
        is_sure = any(term.is_sure for term in output.terms)
        for term in output.terms:
            # if flags decide about all terms, the value is zero or one of them
            if term.is_sure or not is_sure:
                factors, divisors = (
                    [
                        (call.arguments[positions[name]].node, facts[positions[name]])
                        for name in names
                        if name in positions
                    ]
                    for names in (term.factors, term.divisors)
                )
                degree = self._product(call.node, factors, divisors)
                terms.append((factors[-1][0] if len(factors) == 1 else call.node, degree))
        self._sum(call.node, terms)

    def _bound(self, call: CallFacts, derived: Derived) -> dict[str, int] | None:
        key = (call.node, derived.parameters)
        if key not in self._positions:
            self._positions[key] = argument_positions(call, derived)
        return self._positions[key]

    def _polynomial(self, call: CallFacts, facts: list[Fact], polynomial: Polynomial) -> Fact:
        if not polynomial.terms:
            return ZERO
        by_name: dict[str, tuple[Expr, Fact]] = {}
        unmatched: list[Fact] = []
        single = len(polynomial.parameters) == 1
        for position, (argument, fact) in enumerate(zip(call.arguments, facts, strict=True)):
            name = self._parameter(argument, position, polynomial)
            if single and position == 0:
                name = polynomial.parameters[0]
            if name in polynomial.parameters and name not in by_name:
                by_name[name] = (argument.node, fact)
            else:
                unmatched.append(fact)
        terms: list[tuple[Expr, Fact]] = []
        seen = set(by_name)
        for term in polynomial.terms:
            if not seen.issuperset(term.factors[:1]):
                continue
            factors = [by_name[name] for name in term.factors if name in by_name]
            divisors = [by_name[name] for name in term.divisors if name in by_name]
            fact = self._product(call.node, factors, divisors)
            terms.append((factors[-1][0] if len(factors) == 1 else call.node, fact))
        if not terms:
            return opaque(facts)
        total = self._sum(call.node, terms)
        if any(fact.degree not in (Degree.CONSTANT, Degree.ZERO) for fact in unmatched):
            # a seed passed as a mask or index
            return Fact(Degree.UNKNOWN, seeds_of(facts))
        return total

    def _parameter(self, argument: CallArgument, position: int, polynomial: Polynomial) -> str:
        """The parameter of the table for an argument: by position, or by name if the names agree."""
        if argument.parameter is not None and argument.parameter.name in polynomial.parameters:
            return argument.parameter.name
        return polynomial.parameters[position] if position < len(polynomial.parameters) else ""

    def _function(self, call: CallFacts, facts: list[Fact]) -> Fact:
        degree = function_of(fact.degree for fact in facts)
        if degree is Degree.NONLINEAR and all(fact.degree is not Degree.NONLINEAR for fact in facts):
            parts = tuple(
                argument.node for argument, fact in zip(call.arguments, facts, strict=True) if fact.degree.has_seed
            )
            self.culprits.append(Culprit(Cause.FUNCTION, call.node, parts, seeds_of(facts)))
        return Fact(degree, seeds_of(facts))

    def _helper(self, call: CallFacts, facts: list[Fact]) -> Fact:
        """The fact of a function known by convention only: it is linear in its gradients or tangents."""
        seeds = seeds_of(facts)
        degrees = {fact.degree for fact in facts}
        if degrees <= {Degree.CONSTANT, Degree.ZERO}:
            return Fact(Degree.CONSTANT)
        for strong in (Degree.NONLINEAR, Degree.UNKNOWN):
            if strong in degrees:
                return Fact(strong, seeds)
        roles = [role_of(argument.parameter) if argument.parameter else None for argument in call.arguments]
        if not any(role is not None and role.is_seed for role in roles):
            return Fact(Degree.LINEAR if is_conventional(call.name) else Degree.UNKNOWN, seeds)
        for role, fact in zip(roles, facts, strict=True):
            if role is ParameterRole.PRIMAL and fact.degree.has_seed:
                # swapped tangent and primal, which another rule reports
                return Fact(Degree.UNKNOWN, seeds)
        directed = []
        undirected = []
        seen: set[str] = set()
        for argument, role, fact in zip(call.arguments, roles, facts, strict=True):
            # if parameters have other names, an unchanged seed is assumed to be passed correctly
            bare = seed_of(argument.node, self._seeds)
            if role is ParameterRole.TANGENT or (bare is not None and bare not in seen):
                directed.append((argument.node, fact))
            elif role is ParameterRole.GRADIENT:
                # a double backward takes "gO", which is an argument of the forward operator and not a seed
                if fact.degree.has_seed:
                    directed.append((argument.node, fact))
            elif fact.degree.has_seed:
                undirected.append((argument.node, fact))
            seen.update({bare} if bare is not None else ())
        if not any(fact.degree.has_seed for _, fact in directed):
            return Fact(Degree.UNKNOWN, seeds)
        total = self._sum(call.node, directed)
        if undirected:
            return self._product(call.node, ((directed[0][0], total), *undirected), ())
        return total

    def _dependence(self, call: CallFacts, facts: list[Fact]) -> Mapping[str, Dependence]:
        name = call.name
        if asks_metadata(call):
            return weakened(merged([fact.dependence for fact in facts]), Dependence.METADATA)
        is_explained = (
            (self.operators.is_defined(name) and not is_conventional(name) and not call.is_changed)
            or name in TRANSPARENT
            or (call.is_method and call.function is not None)
        )
        parts = []
        unread = only_metadata(self.operators, call)
        for position, fact in enumerate(facts):
            most = Dependence.VALUE if is_explained or fact.degree is not Degree.CONSTANT else Dependence.POSSIBLE
            parameter = call.arguments[position].parameter
            if (
                most is Dependence.POSSIBLE
                and not call.is_changed
                and self.operators.ignores_value(name, parameter.name if parameter is not None else "")
            ):
                most = Dependence.METADATA
            if position in unread:
                most = Dependence.METADATA
            if (position == 0 and name in LIKE_FIRST) or (position == 1 and name in LIKE_SECOND):
                most = Dependence.METADATA
            parts.append(weakened(fact.dependence, most))
        return merged(parts)

    def _aliases(self, call: CallFacts, facts: list[Fact]) -> frozenset[str]:
        """The variables whose memory a call's value may share."""
        shared = _aliases(call, facts)
        for body in self.operators.bodies(call):
            names = self.operators.derived_of(body).parameters
            for name, fact in zip(names, facts, strict=False):
                if name in body.returns:
                    shared |= fact.aliases
        return shared


def only_metadata(operators: OperatorDegrees, call: CallFacts) -> frozenset[int]:
    """The positions of arguments of which only metadata is read, by the callee's definition."""
    derived = operators.derived(call.name)
    if derived is None or not derived.only_metadata:
        return frozenset()
    # without headers, assume the defined helper: at worst a dependence is underestimated
    positions = argument_positions(call, derived, is_same=call.function is None)
    return frozenset(at for name, at in (positions or {}).items() if name in derived.only_metadata)


def _owners(formula: TypedFormula) -> dict[str, str]:
    """The argument or output of each saved property: ``self`` for ``self_sym_sizes``."""
    derivative, function = formula.written.derivative, formula.written.entry.function
    if derivative is None or function is None or not formula.is_backward:
        return {}
    every = (*derivative.saved_inputs, *derivative.saved_outputs)
    properties = [saved.name for saved in every if saved.expr != saved.name]
    if not properties:
        return {}
    names = [binding.name for binding in function.arguments] + [output.name for output in function.outputs]
    owner_of = {}
    for saved in properties:
        owners = [name for name in names if saved.startswith(f"{name}_")]
        if owners:
            owner_of[saved] = max(owners, key=len)
    return owner_of


def _aliases(call: CallFacts, facts: list[Fact]) -> frozenset[str]:
    if not facts or call.is_changed:
        return frozenset()
    written = call.written
    if written:
        return facts[written[0]].aliases
    if call.name in VIEWS or call.name in MAY_RETURN_ARGUMENT:
        return facts[1 if call.name == REAL_FROM_COMPLEX and len(facts) > 1 else 0].aliases
    if call.name in TRANSPARENT:
        return frozenset().union(*(fact.aliases for fact in facts))
    return frozenset()
