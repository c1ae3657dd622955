"""Special values of non-tensor arguments: flags, strings, absence, axes and indices, dtypes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator
from typing import Any

from derivlint.operators import Book
from derivlint.verify.code.functions import FunctionSpec, FunctionValue
from derivlint.verify.inputs.layouts import is_plain
from derivlint.verify.inputs.points import SamplePoint, is_inexact

#: The maximum number of flags that are tried in all combinations.
FLAGS = 3
#: Flags that determine which other arguments are present.
_TRUSTED = ("train", "training", "update", "cudnn_enabled")
#: The optional parameters of modules.
_PARAMETERS = ("weight", "bias")
#: Arguments that are axes, indices along an axis, or shifts.
_AXES = frozenset({"dim", "dims", "dim0", "dim1", "axis", "axis0", "axis1", "start_dim", "end_dim", "dimension"})
_PLACES = frozenset({"start", "end", "index"})
_STEPS = frozenset({"offset", "diagonal", "shifts", "k"})
#: Sizes of results; -1 is inferred.
_SIZES = frozenset({"size", "sizes", "shape"})
_WRAPPED_AXES = Book.by_hand("wrapped-axes")
#: Tensors of indices along an axis.
INDICES = frozenset({"index", "indices", "target", "targets"})
#: The states of a list of axes by its length, two for more.
_COUNTS = ("empty", "one axis", "several axes")
#: Integers that select an algorithm.
_CHOICES = frozenset(
    {"reduction", "mode", "interpolation_mode", "padding_mode", "compute_mode", "normalization", "mask_type"}
)
#: The states of a tensor with another dtype than the first one.
NARROWER, WIDER = "of lower precision than the first tensor", "of higher precision than the first tensor"
#: The dtypes requested for results.
_DTYPES = ("float16", "float32", "float64", "complex128")


def replaced(point: SamplePoint, changes: dict[int, Any], label: str, *, is_meant: bool = False) -> SamplePoint:
    """A point with replaced values at some positions."""
    values = [changes.get(index, value) for index, value in enumerate(point.values)]
    return SamplePoint(values, label, is_meant)


def is_place(argument: FunctionValue) -> bool:
    """Whether an argument is an axis or index, negative ones counting from the end."""
    kind = argument.type.partition("[")[0].rstrip("?")
    return kind in ("int", "SymInt") and argument.name in _AXES | _PLACES | _STEPS


def is_signed(argument: FunctionValue) -> bool:
    """Whether the signs of an argument, of an integer or a list of them, are states of it."""
    return argument.type.partition("[")[0].rstrip("?") in ("int", "SymInt") and argument.name not in _CHOICES


def expected_states(spec: FunctionSpec, argument: FunctionValue) -> tuple[str, ...]:
    """The states of an argument that inputs should reach, including those that the operator rejects."""
    if argument.type == "bool":
        return "True", "False"
    states: tuple[str, ...] = ()
    if argument.type.endswith("?") and argument.type != "Generator?":
        states = "present", "absent"
    if is_signed(argument):
        states = *states, "negative", "not negative"
    if argument.name in _AXES and "[" in argument.type:
        states = *states, *_COUNTS
    if argument.name in INDICES and argument.type.startswith("Tensor"):
        states = *states, "repeated", "not repeated", "of 32 bits", "empty"
    tensors = [value.name for value in spec.arguments if value.name in spec.inputs and value.type == "Tensor"]
    return (*states, NARROWER, WIDER) if argument.name in tensors[1:] else states


def argument_states(spec: FunctionSpec, point: SamplePoint) -> Iterator[tuple[str, str]]:
    """The states of the arguments at a point, with the argument names."""
    first = next((value.dtype.to_real().itemsize for value in point.values if is_inexact(value)), 0)
    for argument, value in zip(spec.arguments, point.values, strict=True):
        items = value if isinstance(value, list) else [value]
        if isinstance(value, (bool, str)):
            yield argument.name, str(value)
        elif argument.type.endswith("?"):
            yield argument.name, "absent" if value is None else "present"
        if is_signed(argument) and _integers(value):
            yield argument.name, "negative" if any(item < 0 for item in items) else "not negative"
        if argument.name in _AXES and isinstance(value, list):
            yield argument.name, _COUNTS[min(len(value), 2)]
        if argument.name in INDICES:
            yield from ((argument.name, state) for item in items for state in _index_states(item))
        if is_inexact(value) and (size := value.dtype.to_real().itemsize) != first:
            yield argument.name, NARROWER if size < first else WIDER


def _index_states(value: Any) -> Iterator[str]:
    """The states of a tensor of indices."""
    import torch

    if is_index(value):
        yield "repeated" if value.numel() > value.unique().numel() else "not repeated"
    elif isinstance(value, torch.Tensor) and value.dtype in (torch.int32, torch.int64):
        yield "of 32 bits" if value.numel() else "empty"


def is_index(value: Any) -> bool:
    """Whether a value is a tensor of indices along an axis."""
    import torch

    return isinstance(value, torch.Tensor) and value.dtype == torch.int64 and value.numel() > 0


def axes(point: SamplePoint, spec: FunctionSpec) -> Iterator[SamplePoint]:
    """Points with axes and indices that count from the end, and indices at the end."""
    named = {argument.name: index for index, argument in enumerate(spec.arguments) if is_place(argument)}
    positions = {name: index for name, index in named.items() if _integers(point.values[index])}
    like = next(
        (
            item
            for value in point.values
            for item in (value if isinstance(value, list) else [value])
            if is_inexact(item)
        ),
        None,
    )
    if like is None or not is_plain(like):
        return
    rank = like.dim()

    def changed(names: Collection[str], change: Callable[[int], int]) -> dict[int, Any]:
        chosen = {index: point.values[index] for name, index in positions.items() if name in names}
        return {
            index: list(map(change, value)) if isinstance(value, list) else change(value)
            for index, value in chosen.items()
        }

    turned = changed(_AXES, lambda axis: axis - rank if axis >= 0 else axis + rank)
    if turned and rank and spec.operator not in _WRAPPED_AXES:
        yield replaced(point, turned, "axes from the other end", is_meant=True)
    for name in _STEPS & positions.keys():
        yield replaced(point, changed((name,), lambda step: -step or -1), f"{name} to the other side", is_meant=True)
    for name in _AXES & positions.keys():
        several = point.values[positions[name]]
        if isinstance(several, list):
            yield from (
                replaced(point, {positions[name]: [axis]}, f"{name} {axis} of {several}", is_meant=True)
                for axis in (several if len(several) > 1 else ())
            )
            yield replaced(point, {positions[name]: []}, f"no {name}")
    axis = point.values[positions["dim"]] if "dim" in positions else 0
    if not rank or not isinstance(axis, int) or not -rank <= axis < rank or not _PLACES & positions.keys():
        return
    size = like.shape[axis]
    yield replaced(
        point,
        # an end that reaches the length has no name from the other end
        changed(_PLACES, lambda place: place if place >= size else place - size if place >= 0 else place + size),
        "places from the other end",
        is_meant=True,
    )
    for name in ("index", "start"):
        if name in positions:
            yield replaced(point, {positions[name]: -1}, f"{name} -1", is_meant=True)
    names = [argument.name for argument in spec.arguments]
    if "length" in names and "start" in positions:
        length = point.values[names.index("length")]
        for start in (size - length, -length):
            yield replaced(
                point,
                {positions["start"]: start},
                f"start {start}, where the length ends at the last place",
                is_meant=True,
            )
    if "end" in names:
        for end in (size, size + 2):
            yield replaced(point, {names.index("end"): end}, f"end {end - size} beyond the last place", is_meant=True)
        if "start" in names:
            before = {names.index("start"): -size - 2}
            yield replaced(point, before, "start before the first place", is_meant=True)


def signs(point: SamplePoint, spec: FunctionSpec) -> Iterator[SamplePoint]:
    """Points with other signs of integers that are not axes, such as a negative padding."""
    for index, argument in enumerate(spec.arguments):
        value = point.values[index]
        if not is_signed(argument) or is_place(argument) or not _integers(value):
            continue
        for sign in (-1, 1):
            made = [sign * (abs(item) or 1) for item in value] if isinstance(value, list) else sign * (abs(value) or 1)
            if made != value:
                yield replaced(point, {index: made}, f"{argument.name} is {made}")


def inferred(point: SamplePoint, spec: FunctionSpec) -> Iterator[SamplePoint]:
    """Points with a size of -1, which the operator infers or keeps."""
    for index, argument in enumerate(spec.arguments):
        sizes = point.values[index]
        if argument.name in _SIZES and isinstance(sizes, list):
            for place in sorted({0, len(sizes) - 1}) if sizes else ():
                changed = [*sizes[:place], -1, *sizes[place + 1 :]]
                yield replaced(point, {index: changed}, f"{argument.name} {place} is -1", is_meant=True)


def _integers(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return bool(items) and all(type(item) is int for item in items)


def types(point: SamplePoint, spec: FunctionSpec) -> Iterator[SamplePoint]:
    """Points with results of other precision, and of complex dtypes."""
    import torch

    for index, argument in enumerate(spec.arguments):
        if argument.type.rstrip("?") == "ScalarType":
            for name in _DTYPES:
                yield replaced(point, {index: getattr(torch, name)}, f"{argument.name} {name}", is_meant=True)


def flags(point: SamplePoint, spec: FunctionSpec) -> Iterator[SamplePoint]:
    """Points with all combinations of flags."""
    flags = [
        index
        for index, argument in enumerate(spec.arguments)
        if isinstance(point.values[index], bool) and argument.name not in _TRUSTED
    ][:FLAGS]
    for states in itertools.product((False, True), repeat=len(flags)) if flags else ():
        yield replaced(point, dict(zip(flags, states, strict=True)), f"flags {states}")


def factors(point: SamplePoint, spec: FunctionSpec) -> Iterator[SamplePoint]:
    """Points with all optional numbers present and different, since formulas confuse them."""
    missing = [
        index
        for index, argument in enumerate(spec.arguments)
        if argument.type == "float?" and point.values[index] is None
    ]
    if missing:
        yield replaced(point, {index: 0.5 + 0.25 * place for place, index in enumerate(missing)}, "numbers present")


def parameters(point: SamplePoint, spec: FunctionSpec) -> Iterator[SamplePoint]:
    """Points without the weight, the bias, and both."""
    if any(argument.name == "output_mask" for argument in spec.arguments):
        # it requires their gradients
        return
    present = [
        index
        for index, argument in enumerate(spec.arguments)
        if argument.type == "Tensor?" and argument.name in _PARAMETERS and point.values[index] is not None
    ]
    for missing in [[index] for index in present] + ([present] if len(present) > 1 else []):
        names = " and ".join(spec.arguments[index].name for index in missing)
        yield replaced(point, dict.fromkeys(missing), f"{names} absent", is_meant=True)


def states(point: SamplePoint, spec: FunctionSpec, words: Collection[str]) -> Iterator[SamplePoint]:
    """Points with optional arguments present and absent, and with all strings."""
    import torch

    arguments = list(enumerate(spec.arguments))
    like = next((value for value in point.values if is_inexact(value) and is_plain(value)), None)
    for index, argument in arguments:
        value = point.values[index]
        if argument.type.endswith("?") and value is not None:
            yield replaced(point, {index: None}, f"{argument.name} absent", is_meant=True)
        elif argument.type == "Tensor?" and like is not None:
            for made in (like * 0.5 + 0.1, like.reshape(-1)[: like.shape[-1] if like.dim() else 1] * 0.5):
                yield replaced(point, {index: made}, f"{argument.name} present")
        elif argument.type in ("Scalar?", "float?") and value is None:
            yield replaced(point, {index: 0.4}, f"{argument.name} present")
        elif isinstance(value, torch.Tensor) and value.dtype == torch.bool:
            yield replaced(point, {index: ~value}, f"{argument.name} inverted")
        if argument.type.rstrip("?") == "str":
            for word in words:
                yield replaced(point, {index: word}, f"{argument.name} {word}")
