"""Overload resolution; follows [over.match] of the C++ standard."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from derivlint.cpp.cpp_type import BRACES, NULL_OPTION, TENSOR, UNKNOWN, CppType, Value, cpp_type
from derivlint.cpp.declarations.declaration import Function
from derivlint.cpp.expressions.conversion import IMPOSSIBLE, UNSURE, Conversions
from derivlint.cpp.library import instantiated


class ResolutionOutcome(Enum):
    """The outcomes of overload resolution."""

    CHOSEN = "chosen"
    #: undecided: an argument is unknown or a template too complex
    UNSURE = "unsure"
    COUNT = "count"
    TYPES = "types"
    AMBIGUOUS = "ambiguous"


class Resolution(Struct, frozen=True):
    """The result of overload resolution.

    Attributes:
        outcome: the kind of result.
        result: the type of the call, possibly unknown.
        function: the chosen function.
        considered: the functions that accept this number of arguments.
        blamed: the index of the argument that no function accepts, or None.
        expected: the parameter types for that argument.
        tried: the number of overloads.
    """

    outcome: ResolutionOutcome
    result: CppType = UNKNOWN
    function: Function | None = None
    considered: tuple[Function, ...] = ()
    blamed: int | None = None
    expected: tuple[CppType, ...] = ()
    tried: int = 1


DISPUTED = {TENSOR, cpp_type("Scalar")}


def resolve(conversions: Conversions, functions: tuple[Function, ...], arguments: Sequence[Value]) -> Resolution:
    """Select an overload.

    Args:
        conversions: ranks conversions and memoizes resolutions.
        functions: the overloads; not empty.
        arguments: the values of the arguments.
    """
    key = (functions, *arguments)
    resolution: Resolution | None = conversions.resolutions.get(key)
    if resolution is None:
        resolution = conversions.resolutions[key] = _resolve(conversions, functions, arguments)
    return resolution


def _resolve(conversions: Conversions, functions: tuple[Function, ...], arguments: Sequence[Value]) -> Resolution:
    count = len(arguments)
    fitting = [f for f in functions if f.required <= count and (count <= len(f.parameters) or f.variadic)]
    if not fitting:
        return Resolution(ResolutionOutcome.COUNT, _common_result(functions), considered=functions)
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
        return Resolution(ResolutionOutcome.CHOSEN, function.result, function, (function,))
    if unsure:
        return Resolution(ResolutionOutcome.UNSURE, _common_result([function for function, _ in viable]))
    best = _best(viable)
    if best is None:
        result = _common_result([function for function, _ in viable])
        if _is_disputed(arguments, viable):
            return Resolution(ResolutionOutcome.UNSURE, result)
        return Resolution(ResolutionOutcome.AMBIGUOUS, result, considered=tuple(function for function, _ in viable))
    return Resolution(ResolutionOutcome.CHOSEN, best.result, best, (best,))


def _common_result(functions: Sequence[Function]) -> CppType:
    results = {function.result for function in functions}
    return results.pop() if len(results) == 1 else UNKNOWN


def _best(viable: list[tuple[Function, list[int]]]) -> Function | None:
    """The function that is better than every other one for some argument, and worse for none; None if there is none."""
    for function, ranks in viable:
        if all(rival is function or _is_better(ranks, theirs) for rival, theirs in viable):
            return function
    # on ties a non-template beats a template, but templates are already instantiated here
    return None


def _is_better(ranks: list[int], theirs: list[int]) -> bool:
    better = False
    # arguments that match "..." are not compared
    for mine, their_rank in zip(ranks, theirs, strict=False):
        if mine > their_rank:
            return False
        better = better or mine < their_rank
    return better


def _is_disputed(arguments: Sequence[Value], viable: list[tuple[Function, list[int]]]) -> bool:
    """Whether compilers disagree: a braced list for a tensor or a scalar."""
    return any(
        argument.type is BRACES
        and {function.parameters[i].type for function, _ in viable if i < len(function.parameters)} == DISPUTED
        for i, argument in enumerate(arguments)
    )


def _refusal(conversions: Conversions, functions: list[Function], arguments: Sequence[Value], tried: int) -> Resolution:
    """Select the argument to blame: the one that all overloads reject, or the only one that any rejects."""
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
    expected: tuple[CppType, ...] = ()
    if blamed is not None:
        expected = tuple(
            dict.fromkeys(function.parameters[blamed].type for function, failed in nearest if blamed in failed)
        )
    considered = tuple(function for function, _ in nearest)
    return Resolution(
        ResolutionOutcome.TYPES,
        _common_result(functions),
        considered=considered,
        blamed=blamed,
        expected=expected,
        tried=tried,
    )


def _takes(conversions: Conversions, argument: Value, target: CppType, function: Function) -> bool:
    return bool(function.template) or conversions.rank(argument, target) != IMPOSSIBLE


# ---- templates


def deduce(function: Function, arguments: Sequence[Value], *, tolerant: bool = False) -> Function | None:
    """Deduce a function's template parameters from the arguments; None on failure."""
    bindings: dict[str, CppType] = {}
    for parameter, argument in zip(function.parameters, arguments, strict=False):
        pattern = parameter.type.unreferenced
        if argument.type in (UNKNOWN, BRACES) or not mentions(pattern, function.template):
            continue
        if not unify(pattern, argument.type, function.template, bindings) and not tolerant:
            return None
    return instantiated(function, bindings)


def mentions(pattern: CppType, names: tuple[str, ...]) -> bool:
    """Whether a type depends on template parameters."""
    if pattern.text in names:
        return True
    return any(mentions(argument, names) for argument in pattern.innermost.arguments)


def unify(pattern: CppType, type: CppType, names: tuple[str, ...], bindings: dict[str, CppType]) -> bool:
    """Unify a type with a pattern and add deduced template parameters to ``bindings``."""
    if pattern.text in names:
        if type is NULL_OPTION and pattern.text in bindings:
            return bindings[pattern.text] is type
        return bindings.setdefault(pattern.text, type) is type
    if not pattern.arguments:
        return pattern is type
    return (
        pattern.head == type.head
        and len(pattern.arguments) == len(type.arguments)
        and all(
            unify(mine, theirs, names, bindings) for mine, theirs in zip(pattern.arguments, type.arguments, strict=True)
        )
    )
