"""Overload resolution: which of several functions a call means; follows [over.match] of the C++ standard."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from derivlint.cpp.conversion import IMPOSSIBLE, UNSURE, Conversions, template_of
from derivlint.cpp.declaration import Function
from derivlint.cpp.library import instantiated
from derivlint.cpp.value import BRACES, NULL_OPTION, UNKNOWN, Value


class Outcome(Enum):
    """How a resolution ended."""

    CHOSEN = "chosen"
    #: nothing can be said: an argument is unknown, or a template too intricate
    UNSURE = "unsure"
    COUNT = "count"
    TYPES = "types"
    AMBIGUOUS = "ambiguous"


class Resolution(Struct, frozen=True):
    """The result of a resolution.

    Attributes:
        outcome: how it ended.
        result: the type of the call, unknown where it could not be told.
        function: the chosen function.
        considered: the functions that take that many arguments.
        blamed: the argument that no function takes, where there is one such.
        wanted: the types that the functions take in its place.
        tried: how many overloads there are.
    """

    outcome: Outcome
    result: str = UNKNOWN
    function: Function | None = None
    considered: tuple[Function, ...] = ()
    blamed: int | None = None
    wanted: tuple[str, ...] = ()
    tried: int = 1


DISPUTED = {"Tensor", "Scalar"}


def resolve(conversions: Conversions, functions: Sequence[Function], arguments: Sequence[Value]) -> Resolution:
    """Choose among overloads.

    Args:
        conversions: answers how arguments convert.
        functions: the overloads; not empty.
        arguments: the values of the arguments.
    """
    count = len(arguments)
    fitting = [f for f in functions if f.required <= count and (count <= len(f.parameters) or f.variadic)]
    if not fitting:
        return Resolution(Outcome.COUNT, _common_result(functions), considered=tuple(functions))
    viable: list[tuple[Function, list[int]]] = []
    unsure = False
    for function in fitting:
        if function.template:
            deduced = deduce(function, arguments)
            if deduced is None:
                continue
            function = deduced
        ranks = []
        for parameter, argument in zip(function.parameters, arguments, strict=False):
            rank = conversions.rank(argument, parameter.type)
            if rank == IMPOSSIBLE:
                break
            if rank == UNSURE:
                unsure = True
            ranks.append(rank)
        else:
            viable.append((function, ranks))
    if not viable:
        return _refusal(conversions, fitting, arguments, len(functions))
    if len(viable) == 1:
        function = viable[0][0]
        return Resolution(Outcome.CHOSEN, function.result, function, (function,))
    if unsure:
        return Resolution(Outcome.UNSURE, _common_result([function for function, _ in viable]))
    best = _best(viable)
    if best is None:
        result = _common_result([function for function, _ in viable])
        if _is_disputed(arguments, viable):
            return Resolution(Outcome.UNSURE, result)
        return Resolution(Outcome.AMBIGUOUS, result, considered=tuple(function for function, _ in viable))
    return Resolution(Outcome.CHOSEN, best.result, best, (best,))


def _common_result(functions: Sequence[Function]) -> str:
    results = {function.result for function in functions}
    return results.pop() if len(results) == 1 else UNKNOWN


def _best(viable: list[tuple[Function, list[int]]]) -> Function | None:
    """The function that is no worse in any argument than every other, and better in one; None where there is none."""
    for function, ranks in viable:
        if all(other is function or _is_better(ranks, theirs) for other, theirs in viable):
            return function
    # equal in every argument: a plain function beats a template, which here has already lost its parameters
    return None


def _is_better(ranks: list[int], theirs: list[int]) -> bool:
    better = False
    # what stands where one has "..." is compared with nothing
    for mine, other in zip(ranks, theirs, strict=False):
        if mine > other:
            return False
        better = better or mine < other
    return better


def _is_disputed(arguments: Sequence[Value], viable: list[tuple[Function, list[int]]]) -> bool:
    """Whether compilers disagree: a braced list for a tensor or a scalar."""
    return any(
        argument.type == BRACES
        and {function.parameters[i].type for function, _ in viable if i < len(function.parameters)} == DISPUTED
        for i, argument in enumerate(arguments)
    )


def _refusal(conversions: Conversions, functions: list[Function], arguments: Sequence[Value], tried: int) -> Resolution:
    """Which argument to blame: the one that every overload refuses, or the one that alone keeps an overload away."""
    failures: list[tuple[Function, list[int]]] = []
    for function in functions:
        plain = function
        if function.template:
            plain = deduce(function, arguments, tolerant=True) or function
        failures.append(
            (
                plain,
                [
                    index
                    for index, (parameter, argument) in enumerate(zip(plain.parameters, arguments, strict=False))
                    if not _takes(conversions, argument, parameter.type, plain)
                ],
            )
        )
    fewest = min(len(failed) for _, failed in failures)
    nearest = [(function, failed) for function, failed in failures if len(failed) == fewest]
    common = set(failures[0][1]).intersection(*(failed for _, failed in failures))
    blamed = None
    if common:
        blamed = min(common)
    elif fewest == 1 and len({failed[0] for _, failed in nearest}) == 1:
        blamed = nearest[0][1][0]
    wanted: tuple[str, ...] = ()
    if blamed is not None:
        wanted = tuple(
            dict.fromkeys(function.parameters[blamed].type for function, failed in nearest if blamed in failed)
        )
    considered = tuple(function for function, _ in nearest)
    return Resolution(
        Outcome.TYPES,
        _common_result(functions),
        considered=considered,
        blamed=blamed,
        wanted=wanted,
        tried=tried,
    )


def _takes(conversions: Conversions, argument: Value, wanted: str, function: Function) -> bool:
    return bool(function.template) or conversions.rank(argument, wanted) != IMPOSSIBLE


# ---- templates


def deduce(function: Function, arguments: Sequence[Value], *, tolerant: bool = False) -> Function | None:
    """The function with its template parameters deduced from the arguments, None where that fails."""
    bindings: dict[str, str] = {}
    for parameter, argument in zip(function.parameters, arguments, strict=False):
        pattern = parameter.type.rstrip("&")
        if argument.type in (UNKNOWN, BRACES) or not mentions(pattern, function.template):
            continue
        if not unify(pattern, argument.type, function.template, bindings) and not tolerant:
            return None
    return instantiated(function, bindings)


def mentions(pattern: str, names: tuple[str, ...]) -> bool:
    """Whether a type depends on template parameters."""
    if pattern in names:
        return True
    _, arguments = template_of(pattern.rstrip("*&"))
    return any(mentions(argument, names) for argument in arguments)


def unify(pattern: str, type: str, names: tuple[str, ...], bindings: dict[str, str]) -> bool:
    """Match a type with a pattern, and note what the template parameters stand for."""
    if pattern in names:
        if type == NULL_OPTION and pattern in bindings:
            return bindings[pattern] == type
        return bindings.setdefault(pattern, type) == type
    head, arguments = template_of(pattern)
    type_head, type_arguments = template_of(type)
    if not arguments:
        return pattern == type
    return (
        head == type_head
        and len(arguments) == len(type_arguments)
        and all(unify(mine, theirs, names, bindings) for mine, theirs in zip(arguments, type_arguments, strict=True))
    )
