"""The order of the names in a key, compared with the order of the returned gradients.

The formula of a key with several names returns a tuple, which is unpacked by position. No declaration gives the meaning
of the positions, but there is evidence: functions usually return gradients in the order of the schema, and in the order
of their own parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from derivlint.analysis.interpretation.callee import callee_name
from derivlint.formula import Call, Expr, Member, Name, unparenthesized, walk
from derivlint.model import DerivativeFormula, NameKind, Role
from derivlint.operators.special import TO_TENSOR, WRAP_OPT_IF
from derivlint.schema import ListType, Type

#: Functions that return their first argument or nothing.
WRAPPERS = frozenset({WRAP_OPT_IF, TO_TENSOR, "optional", "make_optional"})


class CallOrder(Struct, frozen=True):
    """A call that takes several variables.

    Attributes:
        call: the call.
        callee: the unqualified name of the callee.
        places: the first position of each variable.
    """

    call: Call
    callee: str
    places: dict[str, int]


def passed_variable(node: Expr) -> str | None:
    """The variable passed by an argument: ``x`` for ``x.contiguous()`` and ``wrap_opt_if(x, ...)``."""
    while True:
        node = unparenthesized(node)
        if isinstance(node, Name):
            return node.simple
        if isinstance(node, Call) and isinstance(node.callee, Member):
            node = node.callee.object
        elif isinstance(node, Call) and callee_name(node) in WRAPPERS and node.args:
            node = node.args[0]
        else:
            return None


def call_orders(formula: DerivativeFormula) -> Iterator[CallOrder]:
    """The calls of functions in a formula, with the variables that they take."""
    tree = formula.parsed.tree
    for node in walk(tree) if tree is not None else ():
        if not isinstance(node, Call) or not isinstance(node.callee, Name):
            continue
        name = callee_name(node)
        if name is None or name in WRAPPERS:
            continue
        places: dict[str, int] = {}
        for position, argument in enumerate(node.args):
            variable = passed_variable(argument)
            if variable is not None:
                places.setdefault(variable, position)
        if places:
            yield CallOrder(node, name, places)


class Reordered(Struct, frozen=True):
    """A key whose order contradicts all evidence.

    Attributes:
        written: the key and its formula.
        first: the earlier of two names in the wrong order.
        second: the later of them.
        call: the call that takes them in the other order; None if only the schema is evidence.
        is_exchange: whether exchanging the two names fixes the key; otherwise the key may follow a helper with its own
            order.
        right: the names in the right order; None if uncertain.
    """

    written: DerivativeFormula
    first: str
    second: str
    call: CallOrder | None
    is_exchange: bool
    right: tuple[str, ...] | None


class _Evidence(Struct, frozen=True):
    """Evidence for the order of the names in a key.

    Attributes:
        positions: the position of each name in the schema.
        lists: the names of lists of tensors, which C++ distinguishes from tensors.
        calls: the calls of the formula.
    """

    positions: Mapping[str, int]
    lists: frozenset[str]
    calls: tuple[CallOrder, ...]

    def relevant_calls(self, first: str, second: str) -> list[CallOrder]:
        """The calls that take both names."""
        return [call for call in self.calls if first in call.places and second in call.places]

    def contradicts(self, first: str, second: str) -> bool:
        """Whether the evidence puts the second name before the first."""
        if (first in self.lists) != (second in self.lists) or self.positions[first] < self.positions[second]:
            return False
        return all(call.places[first] > call.places[second] for call in self.relevant_calls(first, second))

    def wrong_pairs(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """The pairs of names in the wrong order."""
        return [(first, second) for first, second in combinations(names, 2) if self.contradicts(first, second)]

    def right_order(self, names: tuple[str, ...]) -> tuple[str, ...] | None:
        """The order on which the schema and all calls agree; lists keep their positions."""
        tensors = sorted((name for name in names if name not in self.lists), key=self.positions.__getitem__)
        for call in self.calls:
            places = [call.places[name] for name in tensors if name in call.places]
            if places != sorted(places):
                return None
        following = iter(tensors)
        return tuple(name if name in self.lists else next(following) for name in names)


def reordered_key(formula: DerivativeFormula) -> Reordered | None:
    """The wrongly ordered names of a key, or None if any evidence agrees with their order."""
    names = tuple(name.text for name in formula.names)
    if len(set(names)) < 2 or formula.role not in (Role.BACKWARD, Role.FORWARD) or not formula.is_expression:
        return None
    evidence = _evidence(formula)
    wrong = evidence.wrong_pairs(names) if evidence is not None else []
    if evidence is None or not wrong:
        return None
    first, second = next((pair for pair in wrong if not evidence.wrong_pairs(_exchanged(names, pair))), wrong[0])
    is_exchange = not evidence.wrong_pairs(_exchanged(names, (first, second)))
    call = next(iter(evidence.relevant_calls(first, second)), None)
    return Reordered(formula, first, second, call, is_exchange, evidence.right_order(names))


def _evidence(formula: DerivativeFormula) -> _Evidence | None:
    """The evidence for a key, or None if a name is not of the key's kind."""
    function = formula.entry.function
    if function is None:
        return None
    positions: dict[str, int] = {}
    lists = set()
    places = {binding.name: index for index, binding in enumerate(function.arguments)}
    for name, resolved in formula.resolved_names:
        kind: Type
        if formula.role is Role.BACKWARD and resolved.argument is not None and resolved.argument.argument is not None:
            positions[name.text], kind = places[name.text], resolved.argument.argument.type
        elif formula.role is Role.FORWARD and resolved.kind is NameKind.OUTPUT and resolved.output is not None:
            positions[name.text], kind = resolved.output.index, resolved.output.type
        else:
            return None
        if isinstance(kind, ListType):
            lists.add(name.text)
    return _Evidence(positions, frozenset(lists), tuple(call_orders(formula)))


def _exchanged(names: Sequence[str], pair: tuple[str, str]) -> list[str]:
    swap = dict(zip(pair, reversed(pair), strict=True))
    return [swap.get(name, name) for name in names]
