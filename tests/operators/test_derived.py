"""What is derived from definitions: the shipped file, and its claims on numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.derived_calls import degree_of
from derivlint.formula.vocabulary import words
from derivlint.functional.definitions import INTERPRETER
from derivlint.operators import Book
from derivlint.operators.reference.definitions import definitions
from derivlint.operators.reference.derivation import all_derived, derive
from derivlint.operators.reference.derived import PATH, Derived, derived, read_derived, write_derived
from derivlint.operators.reference.terms import Parity, polynomials
from derivlint.schema import NativeFunctions
from tests.operators.definition_inputs import arguments as made
from tests.operators.definition_inputs import declared
from tests.operators.test_defined_operators import OPERATORS
from tests.operators.test_defined_operators import arguments as made_for_operator
from tests.sampling import sample

#: What is written by hand of degrees and conjugation.
TOPICS = words("linear nonlinear zero holomorphic not-holomorphic conjugates like-second reads-metadata")
#: How often each definition is run.
RUNS = 16
SHAPES = ((2, 3), (3,), (2, 2))
HELPERS = sorted(name for name, each in all_derived() if each.kind == "helper" and declared(name))
#: What matters for a base of zero only, or for complex numbers only.
FLAT = {"pow_backward_exponent": "['exponent'] of value 0", "sgn_backward": "['x'] of value 0"}
REGENERATE = 'run "python -m tools.docs"'


def test_the_shipped_file_is_what_is_derived() -> None:
    assert PATH.read_text(encoding="ascii") == derive(), REGENERATE


def test_what_is_written_is_read() -> None:
    found = dict(all_derived())
    assert dict(read_derived(write_derived(found.items()))) == found


def test_overloads_that_differ_say_nothing() -> None:
    assert derived("multiply") is not None
    assert derived("std") is None
    assert derived("no_such_function") is None


def test_nothing_that_is_derived_is_written_by_hand(installed_natives: NativeFunctions) -> None:
    """But of an operator with another overload, which has no definition."""
    by_hand = {*polynomials(), *(name for topic in TOPICS for name in Book.by_hand(topic))}
    bases = {name.partition(".")[0] for name, _ in all_derived()}
    # "real" and "imag" are parts of what "view_as_real" gives, which is defined by them
    for name in sorted((by_hand & bases) - {"view_as_real"}):
        overloads = {str(each.name) for each in installed_natives.with_base(name) if not each.schema.is_out}
        assert overloads - definitions().keys(), f'"{name}" is derived: delete it in by_hand.txt or terms.txt'


# ---- on numbers


@cache
def inputs(name: str, dtype: torch.dtype, natives: NativeFunctions) -> list[dict[str, Any]]:
    """Arguments of a helper or an operator, by parameters."""
    found = []
    for seed in range(RUNS):
        random = Random(f"{name} {seed}")
        shape = SHAPES[seed % len(SHAPES)]
        functions = declared(name)
        if functions:
            known = derived(name)
            assert known is not None
            try:
                values = made(name, functions[seed % len(functions)], shape, random, dtype)
            except LookupError:
                continue
            found.append(dict(zip(known.parameters, values, strict=False)))
        else:
            function = natives.operator(name)
            assert function is not None
            found.append(made_for_operator(function, shape, random))
    return found


def run(name: str, values: Mapping[str, Any]) -> list[torch.Tensor | None] | None:
    """The values of a definition; None where it refuses."""
    compiled = INTERPRETER.function(name)
    assert compiled is not None
    try:
        result = compiled.call({key: value for key, value in values.items() if key in compiled.parameters})
    except (NotImplementedError, RuntimeError, IndexError, ValueError, TypeError):
        return None
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [part if isinstance(part, torch.Tensor) else None for part in parts]


def tensors_in(values: Mapping[str, Any], dtype: torch.dtype) -> list[str]:
    return [name for name, value in values.items() if isinstance(value, torch.Tensor) and value.dtype == dtype]


def degree(known: Derived, values: Mapping[str, Any], directions: Sequence[str]) -> Degree:
    """What is derived of a call whose other arguments are constant."""
    absent = (None, 0)
    return degree_of(
        known,
        {
            name: Degree.LINEAR
            if name in directions
            else Degree.CONSTANT
            if not any(value is each for each in absent)
            else Degree.ZERO
            for name, value in values.items()
            if name in known.parameters
        },
    )


def combined(
    name: str, values: Mapping[str, Any], scales: Sequence[tuple[float, Mapping[str, torch.Tensor]]]
) -> list[torch.Tensor | None] | None:
    """The sum of scaled values for changed arguments."""
    total: list[torch.Tensor | None] | None = None
    for scale, changed in scales:
        found = run(name, {**values, **changed})
        if found is None:
            return None
        scaled = [None if part is None else scale * part.to(torch.complex128) for part in found]
        if total is None:
            total = scaled
        elif len(total) != len(scaled):
            return None
        else:
            total = [None if a is None or b is None else a + b for a, b in zip(total, scaled, strict=True)]
    return total


def is_zero(found: list[torch.Tensor | None] | None, output: int) -> bool | None:
    """Whether a value is zero; None where it is not a number."""
    part = found[output] if found is not None else None
    if part is None or not part.numel() or not torch.isfinite(torch.view_as_real(part)).all():
        return None
    return float(part.abs().max()) < 1e-8


def checked(
    name: str, output: int, values: Mapping[str, Any], directions: Sequence[str], random: Random
) -> Iterator[tuple[str, bool]]:
    """Whether one of the values is additive, homogeneous, affine, independent of directions."""
    one = {each: values[each] for each in directions}
    generator = torch.Generator().manual_seed(random.randrange(1 << 30))
    size = 8 if name in OPERATORS else 0.8
    other = {
        each: torch.rand(value.shape, generator=generator, dtype=torch.float64) * size + 0.1
        for each, value in one.items()
    }
    both = {each: one[each] + other[each] for each in directions}
    checks: dict[str, list[tuple[float, Mapping[str, torch.Tensor]]]] = {
        "doubled": [(1, {each: 2 * one[each] for each in directions}), (-2, one)],
        "negative": [(1, {each: -one[each] for each in directions}), (1, one)],
        "added": [(1, both), (-1, one), (-1, other)],
        "affine": [(1, {each: both[each] / 2 for each in directions}), (-0.5, one), (-0.5, other)],
        "same": [(1, one), (-1, other)],
    }
    for check, scales in checks.items():
        outcome = is_zero(combined(name, values, scales), output)
        if outcome is not None:
            yield check, outcome


CLAIMS = {Degree.LINEAR: ("doubled", "negative", "added"), Degree.AFFINE: ("affine",), Degree.CONSTANT: ("same",)}


@pytest.mark.parametrize("name", sample([*HELPERS, *OPERATORS], 40, always=FLAT))
def test_degrees_hold_for_numbers(name: str, installed_natives: NativeFunctions) -> None:
    """What is said to be linear is linear in every run, what is said not to be is not so in some."""
    known = derived(name)
    assert known is not None
    curved: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for values in inputs(name, torch.float64, installed_natives):
        single = tensors_in(values, torch.float64)
        for output, polynomial in enumerate(known.outputs):
            only = replace(known, outputs=(polynomial,))
            linear = [each for each in single if degree(only, values, [each]) is Degree.LINEAR]
            for directions in [*([each] for each in single), *([linear] if len(linear) > 1 else [])]:
                claim = degree(only, values, directions)
                if claim in (Degree.UNKNOWN, Degree.ZERO):
                    continue
                place = f"{directions} of value {output}"
                for check, holds in checked(name, output, values, directions, Random(name)):
                    if claim is not Degree.NONLINEAR:
                        assert holds or check not in CLAIMS[claim], (claim, place, check, values)
                    elif check == "affine":
                        seen[place] += 1
                        curved[place] += not holds
    for place in seen.keys() - {FLAT.get(name)}:
        assert curved[place], f"{name} looks linear in {place}"


def test_most_definitions_are_run(installed_natives: NativeFunctions) -> None:
    ran = [
        name
        for name in (*HELPERS, *OPERATORS)
        if any(run(name, values) is not None for values in inputs(name, torch.float64, installed_natives))
    ]
    assert len(ran) >= 130


def derivative(name: str, values: Mapping[str, Any], parameter: str, step: torch.Tensor) -> list[Any] | None:
    """The derivative by a parameter in one direction."""
    size = 1e-6
    value = values[parameter]
    return combined(
        name,
        values,
        [(0.5 / size, {parameter: value + size * step}), (-0.5 / size, {parameter: value - size * step})],
    )


@pytest.mark.parametrize("name", sample(HELPERS, 20))
def test_parities_hold_for_numbers(name: str, installed_natives: NativeFunctions) -> None:
    """Cauchy and Riemann: the derivative in the direction "i d" is that in "d", times i or -i."""
    known = derived(name)
    assert known is not None
    for values in inputs(name, torch.complex128, installed_natives):
        for parameter in tensors_in(values, torch.complex128):
            parity = known.parity(parameter)
            if parameter in known.unused or parity not in FACTORS:
                continue
            generator = torch.Generator().manual_seed(1)
            step = torch.randn(values[parameter].shape, generator=generator, dtype=torch.complex128)
            along = derivative(name, values, parameter, step)
            across = derivative(name, values, parameter, 1j * step)
            if along is None or across is None:
                continue
            for a, b in zip(along, across, strict=True):
                if a is None or b is None or not torch.isfinite(torch.view_as_real(a)).all():
                    continue
                scale = 1 + float(a.abs().max()) if a.numel() else 1.0
                assert torch.allclose(b, FACTORS[parity] * a, rtol=1e-5, atol=1e-5 * scale), (parity, parameter, values)


FACTORS = {Parity.HOLOMORPHIC: 1j, Parity.CONJUGATED: -1j, Parity.REAL: 0}
