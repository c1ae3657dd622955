"""The points at which an operator is checked: recipes, recorded inputs, those of siblings, and harder variants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.inputs.domains import is_defined
from derivlint.verify.inputs.hardening import broadcast_positions, is_raw, noise_of
from derivlint.verify.inputs.hardening import variants as variants_of
from derivlint.verify.inputs.layouts import numbers
from derivlint.verify.inputs.points import REFUSALS, SamplePoint, call, generator, is_inexact, mapped, require_memory
from derivlint.verify.inputs.recipes import recipe_points, recorded_points, siblings
from derivlint.verify.inputs.regimes import regimes
from derivlint.verify.inputs.samples import shape_of
from derivlint.verify.inputs.stored import Inputs

#: The step used to test whether outputs depend on inputs.
STEP = 0.01
#: The number of recorded inputs from which special inputs are derived.
REGIMES = 3
#: PyTorch's error for an operator without gradients for complex numbers.
_UNLISTED = "does not support automatic differentiation for outputs with complex dtype"


def points_for(
    spec: FunctionSpec,
    recorded: Inputs,
    dtype: str,
    *,
    seed: int,
    count: int,
    hardened: int,
    variants: int,
    special: int = 0,
    refused: Callable[[SamplePoint], None] = lambda point: None,
) -> Iterator[SamplePoint]:
    """The points of an operator, the most common ones first.

    Args:
        spec: a function of the operator.
        recorded: the recorded inputs of all operators.
        dtype: their dtype.
        seed: the random seed.
        count: the number of recorded inputs.
        hardened: the number of them for which harder variants are generated.
        variants: the number of variants of each.
        special: the number of special inputs, one of each kind.
        refused: called with harder and special inputs that the operator rejects.
    """
    defined_points = [point for point in recorded_points(spec, recorded) if is_defined(spec, point.values)]
    wide = broadcast_positions(defined_points)
    chosen = [point for point in selected(spec, defined_points, count) if is_differentiated(spec, point)]
    if dtype == "float64":
        random = generator(seed, spec.operator, "recipe")
        chosen = [*recipe_points(spec, random), *chosen]
    yield from chosen
    for number, point in enumerate(chosen[:hardened]):
        random = generator(seed, spec.operator, "variants", dtype, number)
        harder = _callable(spec, variants_of(point, spec, random, broadcasts=wide), refused)
        yield from islice(harder, variants)
    random = generator(seed, spec.operator, "regimes", dtype)
    words = _words(spec, recorded) if special else ()
    seen: set[str] = set()
    # a kind that the first point does not allow may be derived from another one
    for point in chosen[:REGIMES] if special else ():
        kinds = (
            candidate for candidate in regimes(point, spec, noise_of(random), words) if candidate.label not in seen
        )
        for candidate in islice(_callable(spec, kinds, refused), special - len(seen)):
            seen.add(candidate.label)
            yield candidate


def _words(spec: FunctionSpec, recorded: Inputs) -> list[str]:
    """The strings that an operator accepts: those in its formula, its recorded inputs and those of its siblings."""
    if not any(argument.type.rstrip("?") == "str" for argument in spec.arguments):
        return []
    inputs = (values for name in siblings(spec.operator, recorded) for values in recorded[name])
    return sorted({value for values in inputs for value in values if isinstance(value, str)}.union(spec.words))


def _callable(
    spec: FunctionSpec, points: Iterable[SamplePoint], refused: Callable[[SamplePoint], None]
) -> Iterator[SamplePoint]:
    """The points that the operator accepts."""
    for point in points:
        if not is_differentiated(spec, point):
            continue
        if _is_defined(spec, point) and (is_raw(spec) or _outputs(spec, point) is not None):
            yield point
        else:
            refused(point)


def _is_defined(spec: FunctionSpec, point: SamplePoint) -> bool:
    """Whether the result of an operator is defined at a point; False if that cannot be computed."""
    try:
        return is_defined(spec, point.values)
    except REFUSALS as error:
        require_memory(error)
        return False


def selected(spec: FunctionSpec, points: Sequence[SamplePoint], count: int) -> list[SamplePoint]:
    """Select points with as many different values of non-tensor arguments as possible.

    Points that the operator rejects are skipped, and those at which it does not depend on its inputs come last.
    """
    remaining = sorted((point for point in points if point.size), key=lambda point: abs(point.size - 12))
    kinds = {id(point): [(index, shape_of(value)) for index, value in enumerate(point.values)] for point in remaining}
    chosen: list[SamplePoint] = []
    idle: list[SamplePoint] = []
    seen: set[Any] = set()
    while remaining and len(chosen) < count:
        best = max(remaining, key=lambda point: sum(kind not in seen for kind in kinds[id(point)]))
        remaining.remove(best)
        depends = _depends(spec, best)
        if depends is None:
            continue
        seen.update(kinds[id(best)])
        (chosen if depends else idle).append(best)
    return (chosen + idle)[:count]


def _depends(spec: FunctionSpec, point: SamplePoint) -> bool | None:
    """Whether an operator's outputs depend on its inputs at a point, or None if it rejects the point."""
    import torch

    first = _outputs(spec, point)
    if first is None:
        return None
    if is_raw(spec):
        # internal operators do not validate their arguments
        return True
    second = _outputs(spec, SamplePoint([mapped(value, lambda item: item * (1 + STEP)) for value in point.values]))
    if second is None:
        return False
    try:
        return any(
            before.shape != after.shape or not torch.equal(before, after)
            for before, after in zip(first, second, strict=False)
        )
    except NotImplementedError:
        # such dtypes are too imprecise for differences
        return None


def is_differentiated(spec: FunctionSpec, point: SamplePoint) -> bool:
    """Whether PyTorch differentiates the operator at a point; with complex arguments only those on its list."""
    import torch

    if not any(is_inexact(value) and value.is_complex() for value in point.values) or is_raw(spec):
        return True
    values = [value.detach().clone().requires_grad_() if is_inexact(value) else value for value in point.values]
    if any(argument.is_write for argument in spec.arguments):
        # a leaf that requires grad cannot be written to
        values = [value * 1 if is_inexact(value) else value for value in values]
    try:
        with torch.enable_grad():
            call(spec.operator, values)
    except RuntimeError as error:
        require_memory(error)
        return _UNLISTED not in str(error)
    except Exception as error:
        # other errors are reported by the checks
        require_memory(error)
        return True
    return True


def _outputs(spec: FunctionSpec, point: SamplePoint) -> list[Any] | None:
    """The differentiable outputs of an operator, or None if it rejects the point or has none."""
    import torch

    values = [value.clone() if isinstance(value, torch.Tensor) else value for value in point.values]
    # for every other device torch.manual_seed formats a stack
    torch.default_generator.manual_seed(0)
    try:
        with torch.no_grad():
            result = call(spec.operator, values)
    except Exception as error:
        # any error: the operator rejects the point
        require_memory(error)
        return None
    items = list(result) if isinstance(result, (list, tuple)) else [result]
    tensors = [part for item in items if is_inexact(item) for part in numbers(item)]
    return tensors or None
