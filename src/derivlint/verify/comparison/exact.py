"""The precision of double-precision derivatives of elementwise operators, measured with mpmath.

mpmath comes with PyTorch, as a dependency of sympy. If it is not installed, double precision is reported as not
checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from derivlint import operators
from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.comparison.numeric import tensors
from derivlint.verify.inputs.points import call, is_inexact, require_memory

FILE = Path(operators.__file__).parent / "data" / "exact.txt"
#: The number of compared inputs per derivative.
COUNT = 10
#: The working precisions in decimal digits, tried until two results agree up to a relative difference.
_DIGITS = (40, 80, 400)
_AGREED = 1e-18
#: The tolerance for the operator to be the mpmath function.
_SAME = 1e-6
#: The range of normal numbers.
_SMALLEST, _LARGEST = 2.0**-1022, 1.7e308
#: The errors of mpmath where a function is undefined or does not converge.
_REFUSALS = (ArithmeticError, ValueError, TypeError, NotImplementedError)


class _Scope(dict[str, Any]):
    """The arguments of an operator, and the functions of mpmath."""

    def __missing__(self, name: str) -> Any:
        return getattr(_mpmath(), name)


@cache
def _mpmath() -> Any:
    """Import mpmath, or return None if it is not installed."""
    try:
        import mpmath  # type: ignore[import-untyped]
    except ImportError:
        return None
    return mpmath


@cache
def _expressions() -> Mapping[str, Any]:
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    pairs = (line.split(": ", 1) for line in lines)
    return {name: compile(text, f"<{name}>", "eval") for name, text in pairs}


def _function(of: FunctionSpec) -> Callable[[Mapping[str, Any]], Any] | None:
    """An operator as a function of its arguments by name, or None if mpmath has no such function."""
    expression = _expressions().get(of.operator)
    if expression is not None:
        return lambda values: eval(expression, {"__builtins__": {}}, _Scope(values))
    function = getattr(_mpmath(), of.operator, None)
    return None if not callable(function) else lambda values: function(*values.values())


def double_precision(
    of: FunctionSpec, values: Sequence[Any], moved: Sequence[str], order: int, derivatives: Any, places: Sequence[int]
) -> dict[str, Any]:
    """Measure the error of a derivative in double precision.

    Args:
        of: a function of the operator.
        values: its arguments, with the numbers in double precision.
        moved: the arguments that are differentiated, jointly.
        order: its order.
        derivatives: the results of a formula, for each number.
        places: the indices of inputs that must be compared.
    """
    if _mpmath() is None:
        return {"double_unchecked": "mpmath is not installed"}
    function = _function(of)
    if function is None:
        return {"double_unchecked": "mpmath has no such function"}
    try:
        output = next(item for item in tensors(call(of.operator, list(values))) if item.shape == derivatives.shape)
    except RuntimeError as error:
        require_memory(error)
        return {"double_unchecked": "it cannot be called"}
    defined = output.isfinite().nonzero().flatten().tolist()
    chosen = dict.fromkeys([*places, *defined[:: max(len(defined) // COUNT, 1)]])
    worst, worst_at, count = 0.0, "", 0
    lost_at: list[str] = []
    number_type = _mpmath().mpf
    for place in chosen:
        arguments = {
            argument.name: number_type(float(value[place])) if is_inexact(value) else value
            for argument, value in zip(of.arguments, values, strict=True)
        }
        try:
            reference = function(arguments)
            if not math.isclose(float(reference), float(output[place]), rel_tol=_SAME, abs_tol=_SMALLEST):
                return {"double_unchecked": "mpmath has another function"}
            expected = _derivative(function, arguments, moved, order)
        except _REFUSALS:
            continue
        if expected is None:
            continue
        count += 1
        number = float(derivatives[place])
        at = written(
            (name, float(value) if isinstance(value, number_type) else value) for name, value in arguments.items()
        )
        text = f"{at}: {number:.17g}, right is {expected:.17g}"
        if not math.isfinite(number) or (number == 0 and abs(expected) >= _SMALLEST):
            lost_at.append(text)
            continue
        off = min(abs(number - expected) / math.ulp(max(abs(expected), _SMALLEST)), _LARGEST)
        if off >= worst:
            worst, worst_at = off, text
    if not count:
        return {"double_unchecked": "no input has a derivative by mpmath"}
    return {
        "double_inputs": count,
        "double_ulps": worst,
        "double_lost": len(lost_at),
        "double_at": lost_at[0] if lost_at else worst_at,
    }


def _derivative(
    function: Callable[[Mapping[str, Any]], Any], arguments: Mapping[str, Any], moved: Sequence[str], order: int
) -> float | None:
    """The two-sided derivative, or None if both sides cannot be evaluated in double precision.

    Raises:
        ArithmeticError: the function is not defined there.
        ValueError: the function does not converge.
    """
    mp = _mpmath()

    def along(step: Any) -> Any:
        return function({name: value + step if name in moved else value for name, value in arguments.items()})

    before = None
    for digits in _DIGITS:
        with mp.workdps(digits):
            number = mp.diff(along, 0, order)
            if not isinstance(number, mp.mpf) or not mp.isfinite(number) or abs(number) > _LARGEST:
                return None
            if before is not None and abs(number - before) <= _AGREED * abs(number):
                one_sided = mp.diff(along, 0, order, direction=1)
                return float(number) if abs(one_sided - number) <= _SAME * abs(number) else None
            before = number
    # effectively zero
    return 0.0 if before is not None and abs(before) < _SMALLEST else None


def written(arguments: Iterable[tuple[str, Any]]) -> str:
    """Format numbers, flags and strings as keyword arguments of Python."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments if isinstance(value, (int, float, str)))
