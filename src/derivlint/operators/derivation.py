"""What definitions say of operators and helpers: what they are linear in, and how they depend on complex arguments.

A definition is run over sums of products of its parameters. What holds for some flags only is marked: a term that is
not there in every case is not sure, and an argument that is read by a function that nothing is known about is unclear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Conditional,
    Expr,
    Index,
    Member,
    Name,
    Node,
    Number,
    Unary,
    unparenthesized,
)
from derivlint.formula.analysis import Analysis
from derivlint.formula.tuples import position_of, tuple_access
from derivlint.operators.book import Book
from derivlint.operators.definitions import Definition, DefinitionError, Kind, definitions, tree_of
from derivlint.operators.derived import Derived, write_derived
from derivlint.operators.parity import Parity, joint
from derivlint.operators.terms import Polynomial, Term, not_holomorphic, polynomials, read_terms

_FILE = Path(__file__).parent / "data" / "primitives.txt"
#: Sums of more products are not followed.
_MOST_TERMS = 200
_NONE: frozenset[str] = frozenset()


class _Term(NamedTuple):
    """A product of parameters; see :class:`Term`."""

    linear: frozenset[str]
    curved: frozenset[str]
    unclear: frozenset[str]
    is_sure: bool = True

    @property
    def all(self) -> frozenset[str]:
        return self.linear | self.curved | self.unclear

    def times(self, other: _Term) -> _Term:
        unclear = self.unclear | other.unclear
        curved = self.curved | other.curved | (self.linear & other.linear)
        linear = (self.linear | other.linear) - curved
        return _Term(linear - unclear, curved - unclear, unclear, self.is_sure and other.is_sure)

    @property
    def possible(self) -> _Term:
        return self._replace(is_sure=False)


class _Sum(NamedTuple):
    """A sum of products, and how it depends on complex parameters; one that it does not name makes it no other."""

    terms: frozenset[_Term]
    parities: Mapping[str, Parity]

    @property
    def all(self) -> frozenset[str]:
        return _NONE.union(*(term.all for term in self.terms))


#: Several values are a tuple; None is the value of a case that is not supported.
_Value = Any

_ONE = _Term(_NONE, _NONE, _NONE)
_CONSTANT = _Sum(frozenset({_ONE}), {})
_ZERO = _Sum(frozenset(), {})
#: An absent value, which no other zero is identical to.
_ABSENT = _Sum(frozenset(), {})


class _UnsupportedError(Exception):
    """A case that a definition refuses."""


def _made(terms: Iterable[_Term], parities: Mapping[str, Parity]) -> _Sum:
    found = set(terms)
    for term in [term for term in found if term.is_sure]:
        found.discard(term.possible)
    if len(found) > _MOST_TERMS:
        found = {_Term(_NONE, _NONE, _NONE.union(*(term.all for term in found)), is_sure=False)}
    return _Sum(frozenset(found), parities)


def _joined(values: Iterable[_Sum]) -> Mapping[str, Parity]:
    found: dict[str, Parity] = {}
    for value in values:
        for name, parity in value.parities.items():
            found[name] = joint((found[name], parity)) if name in found else parity
    return found


def _flat(value: _Value) -> _Sum:
    """A list as the sum of its items."""
    return value if isinstance(value, _Sum) else _added(*map(_flat, value))


def _added(*values: _Sum) -> _Sum:
    return _made((term for value in values for term in value.terms), _joined(values))


def _times(left: _Sum, right: _Sum) -> _Sum:
    if not left.terms or not right.terms:
        return _ZERO
    return _made((a.times(b) for a in left.terms for b in right.terms), _joined((left, right)))


def _curved(*values: _Sum, parity: Parity | None = None) -> _Sum:
    """A function of values that is linear in none, of one parity; real where no parity is given."""
    curved = _NONE.union(*(t.linear | t.curved for value in values for t in value.terms if t.is_sure))
    every = _NONE.union(*(value.all for value in values))
    parities = {name: parity.of(inner) for name, inner in _joined(values).items()} if parity is not None else {}
    return _Sum(frozenset({_Term(_NONE, curved, every - curved)}), parities)


def _opaque(*values: _Sum) -> _Sum:
    """A function of values that nothing is known about."""
    every = _NONE.union(*(value.all for value in values))
    return _Sum(frozenset({_Term(_NONE, _NONE, every)}), dict.fromkeys(_joined(values), Parity.UNKNOWN))


def _chosen(condition: _Sum, then: _Sum, otherwise: _Sum) -> _Sum:
    """Either value, as a condition says."""
    asked = _curved(condition)
    then = then if then is _ABSENT else _times(asked, then)
    otherwise = otherwise if otherwise is _ABSENT else _times(asked, otherwise)
    if otherwise is _ABSENT:
        terms: Iterable[_Term] = then.terms
    elif then is _ABSENT:
        terms = otherwise.terms
    else:
        both = then.terms & otherwise.terms
        terms = (term if term in both else term.possible for term in then.terms | otherwise.terms)
    return _made(terms, _joined((then, otherwise)))


def _without(value: _Value, parameter: str) -> _Value:
    """A value that does not depend on a parameter as a complex number."""
    if not isinstance(value, _Sum):
        return tuple(_without(item, parameter) for item in value)
    return _Sum(value.terms, {name: parity for name, parity in value.parities.items() if name != parameter})


@cache
def _primitives() -> Mapping[str, tuple[Polynomial, frozenset[int]]]:
    """The primitives as polynomials, with the positions of arguments of which only the metadata counts."""
    found = {}
    for name, polynomial in read_terms(_FILE.read_text(encoding="ascii")):
        ignored = frozenset(at for at, each in enumerate(polynomial.parameters) if each[0] == "-")
        parameters = tuple(each.removeprefix("-") for each in polynomial.parameters)
        found[name] = (Polynomial(parameters, polynomial.terms, polynomial.parities), ignored)
    return found


def derive() -> str:
    """The file of what definitions say: ``data/derived.txt``."""
    return write_derived((name, found) for name, found in all_derived())


def all_derived() -> Iterator[tuple[str, Derived]]:
    """What definitions say of what formulas can call, by name; not of definitions that refuse every case."""
    for name, definition in definitions().items():
        found = _of_name(name) if definition.kind is not Kind.PART else None
        if found is not None:
            yield name, found


#: The definitions that are being looked at, the outermost first.
_pending: list[str] = []


@cache
def _of_name(name: str) -> Derived | None:
    definition = definitions().get(name)
    if definition is None:
        return None
    if name in _pending:
        path = " -> ".join((*_pending[_pending.index(name) :], name))
        raise DefinitionError(f"definitions call each other ({path}): say by hand what one of them is linear in")
    _pending.append(name)
    try:
        return _of_definition(definition)
    except _UnsupportedError:
        return None
    finally:
        _pending.pop()


def _of_definition(definition: Definition) -> Derived:
    body = _Body(definition)
    value = body.named("")
    outputs = (value,) if isinstance(value, _Sum) else value
    names = definition.parameters
    return Derived(
        definition.kind.value,
        names,
        definition.required,
        frozenset(name for name, default in definition.defaults.items() if _constant(default).terms),
        frozenset(names) - body.used,
        tuple(_polynomial(names, _flat(each)) for each in outputs),
    )


def _polynomial(parameters: tuple[str, ...], value: _Sum) -> Polynomial:
    order = {name: index for index, name in enumerate(parameters)}

    def ordered(names: frozenset[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=order.__getitem__))

    def place(term: Term) -> list[object]:
        return [[order[name] for name in part] for part in (term.factors, term.divisors, term.unclear)]

    terms = [
        Term(ordered(each.linear), ordered(each.curved), ordered(each.unclear), each.is_sure) for each in value.terms
    ]
    parities = {name: value.parities[name] for name in parameters if name in value.parities}
    return Polynomial(parameters, tuple(sorted(terms, key=place)), parities)


def _constant(formula: str) -> _Sum:
    return _Body().sum(tree_of(formula))


class _Body(Analysis[_Value]):
    """The parts of one definition; of a default value it has none."""

    def __init__(self, definition: Definition | None = None) -> None:
        super().__init__()
        self.used: set[str] = set()
        self._trees: dict[str, Expr] = {}
        self._values: dict[str, _Value] = {"nullopt": _ABSENT}
        if definition is not None:
            self._trees.update(definition.trees)
            for name in definition.parameters:
                term = _Term(frozenset({name}), _NONE, _NONE)
                self._values[name] = _Sum(frozenset({term}), {name: Parity.HOLOMORPHIC})

    def named(self, name: str) -> _Value:
        """The value of a parameter, a part or a constant; the value of the whole has no name."""
        self.used.add(name)
        if name not in self._values:
            tree = self._trees.get(name)
            self._values[name] = _CONSTANT if tree is None else self.of(tree)
        return self._values[name]

    def sum(self, node: Expr) -> _Sum:
        """The value of an expression, of a list the sum of its items."""
        return _flat(self.of(node))

    def otherwise(self, node: Expr) -> _Value:
        return _CONSTANT

    def name(self, node: Name) -> _Value:
        name = node.parts[-1].identifier
        return self.named(name) if node.simple is not None or name == "nullopt" else _CONSTANT

    def number(self, node: Number) -> _Value:
        digits = node.text.lower().rstrip("flu")
        return _ZERO if not digits.strip("0.") else _CONSTANT

    def unary(self, node: Unary) -> _Value:
        operand = self.sum(node.operand)
        return _curved(operand) if node.op == "!" else operand

    def binary(self, node: Binary) -> _Value:
        left, right = self.sum(node.left), self.sum(node.right)
        if node.op in ("+", "-"):
            return _added(left, right)
        if node.op == "*":
            return _times(left, right)
        if node.op == "/":
            return _times(left, _curved(right, parity=Parity.HOLOMORPHIC))
        return _curved(left, right)

    def conditional(self, node: Conditional) -> _Value:
        condition = self.sum(node.condition)
        cases = []
        for branch in (node.then, node.otherwise):
            try:
                cases.append(self.of(branch))
            except _UnsupportedError:
                continue
        if not cases:
            raise _UnsupportedError
        if len(cases) == 1:
            return cases[0]
        then, otherwise = cases
        asked = _asked(node.condition)
        if asked is not None:
            question, of = asked
            if question == "is_complex_tensor" and isinstance(of, Name) and of.simple is not None:
                otherwise = _without(otherwise, of.simple)
            elif question == "defined":
                rest = _absent_terms(then, otherwise, self.sum(of).all)
                if rest is not None:
                    return rest
        if isinstance(then, _Sum) or isinstance(otherwise, _Sum) or len(then) != len(otherwise):
            return _chosen(condition, _flat(then), _flat(otherwise))
        return tuple(_chosen(condition, _flat(a), _flat(b)) for a, b in zip(then, otherwise, strict=True))

    def braces(self, node: BraceList) -> _Value:
        return tuple(map(self.of, node.items))

    def index(self, node: Index) -> _Value:
        (index,) = node.args
        return _item(self.of(node.object), index)

    def call(self, node: Call) -> _Value:
        callee = node.callee
        if isinstance(callee, Member):
            return self._called(callee.name, (callee.object, *node.args))
        access = tuple_access(node)
        if access is not None:
            return _item(self.of(access[0]), access[1])
        assert isinstance(callee, Name), "definitions call names"
        return self._called(callee.parts[-1].identifier, node.args)

    def _called(self, name: str, nodes: tuple[Expr, ...]) -> _Value:
        if name == "Tensor" and not nodes:
            return _ABSENT
        if name == "refuse":
            raise _UnsupportedError
        values = [self.of(node) for node in nodes]
        if name == "make_tuple":
            return tuple(values)
        arguments = list(map(_flat, values))
        primitive = _primitives().get(name)
        if primitive is not None:
            return _substituted(*primitive, arguments)
        return _by_hand(name, arguments) or _defined(name, arguments) or _opaque(*arguments)


def _asked(condition: Expr) -> tuple[str, Expr] | None:
    """The question that a condition asks of one value: ``x.defined()``, ``is_complex_tensor(x)``."""
    condition = unparenthesized(condition)
    if not isinstance(condition, Call):
        return None
    callee = condition.callee
    if isinstance(callee, Member) and not condition.args:
        return callee.name, callee.object
    if isinstance(callee, Name) and len(condition.args) == 1:
        return callee.parts[-1].identifier, condition.args[0]
    return None


def _absent_terms(then: _Value, otherwise: _Value, asked: frozenset[str]) -> _Sum | None:
    """The first value, where the second is what remains of it without the parameters that are absent."""
    if not isinstance(then, _Sum) or not isinstance(otherwise, _Sum) or not asked:
        return None
    if otherwise.terms == {term for term in then.terms if term.all.isdisjoint(asked)}:
        return _Sum(then.terms, _joined((then, otherwise)))
    return None


def _item(held: _Value, index: Node) -> _Value:
    """An item of a list; all of them where it is not known which."""
    position = position_of(index)
    if isinstance(held, _Sum) or position is None or position >= len(held):
        return _flat(held)
    return held[position]


def _by_hand(name: str, arguments: list[_Sum]) -> _Sum | None:
    """A call of what the tables know."""
    ignored = frozenset({0} if name in Book.by_hand("like-first") else ()) | (
        {1} if name in Book.by_hand("like-second") else set()
    )
    polynomial = polynomials().get(name)
    if polynomial is not None:
        if not polynomial.terms:
            return _ZERO
        return _substituted(polynomial, ignored if name in Book.by_hand("like-second") else _NO_POSITION, arguments)
    rest = [value for position, value in enumerate(arguments) if position not in ignored]
    if name in Book.by_hand("real"):
        return _Sum(_opaque(*rest).terms, {})
    if ignored:
        return _curved(*rest)
    if name in Book.by_hand("nonlinear"):
        parity = Parity.UNKNOWN
        if name in not_holomorphic():
            parity = Parity.NON_HOLOMORPHIC
        elif name in Book.by_hand("holomorphic"):
            parity = Parity.HOLOMORPHIC
        return _curved(*arguments, parity=parity)
    return None


_NO_POSITION: frozenset[int] = frozenset()


def _defined(name: str, arguments: list[_Sum]) -> _Value | None:
    """A call of what is defined."""
    found = _of_name(name)
    if found is None:
        return None
    names = found.parameters
    given = dict(zip(names, arguments, strict=False))
    for missing in names[len(arguments) :]:
        given[missing] = _CONSTANT if missing in found.given else _ABSENT
    values = tuple(_composed(each, given, each.parities) for each in found.outputs)
    return values if len(values) > 1 else values[0]


def _substituted(polynomial: Polynomial, ignored: frozenset[int], arguments: list[_Sum]) -> _Sum:
    """A polynomial of values; arguments that it does not have choose or shape, or only their metadata counts."""
    counted = {name for term in polynomial.terms for name in (*term.factors, *term.divisors)}
    by_name: dict[str, _Sum] = {}
    others = []
    for position, value in enumerate(arguments):
        name = polynomial.parameters[position] if position < len(polynomial.parameters) else ""
        if name in counted:
            by_name[name] = value
        elif position not in ignored:
            others.append(value)
    terms = [term for term in polynomial.terms if not term.factors or term.factors[0] in by_name]
    given = {name: by_name.get(name, _CONSTANT) for name in counted}
    parities = {name: polynomial.parity(name) for name in counted}
    found = _composed(Polynomial(polynomial.parameters, tuple(terms)), given, parities)
    return _times(_curved(*others), found) if others else found


def _composed(polynomial: Polynomial, given: Mapping[str, _Sum], parities: Mapping[str, Parity]) -> _Sum:
    """A polynomial with values for its parameters."""
    parts = []
    for term in polynomial.terms:
        value = _Sum(frozenset({_ONE if term.is_sure else _ONE.possible}), {})
        for name in term.factors:
            value = _times(value, given[name])
        if term.divisors:
            value = _times(value, _curved(*(given[name] for name in term.divisors)))
        if term.unclear:
            value = _times(value, _opaque(*(given[name] for name in term.unclear)))
        parts.append(value)
    found: dict[str, Parity] = {}
    for name, parity in parities.items():
        for inner, own in given[name].parities.items():
            outer = parity.of(own)
            found[inner] = joint((found[inner], outer)) if inner in found else outer
    return _made((term for value in parts for term in value.terms), found)
