"""A point at which formulas are checked: the arguments of an operator."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from derivlint.verify.inputs.layouts import changed
from derivlint.verify.inputs.samples import elements

#: The errors of operators and formulas for arguments that they refuse.
REFUSALS = (RuntimeError, IndexError, ValueError, TypeError)


#: The kind of the device that all inputs are made on, and of one without double precision.
CPU, MPS = "cpu", "mps"
#: Inputs are scaled by so much to see how far rounding goes: what is equal stays equal, and what is zero stays zero.
SCALE = 1 + 2.0**-40
#: What a number may change by under such a scaling, as a part of the difference that it is to tell.
UNSTEADY = 0.05


_SAID = re.compile(r"can't allocate memory|not enough memory|bad_alloc|bad allocation|Cannot allocate memory")
_WANTED = re.compile(r"tried to allocate (\d+) bytes")


def require_memory(error: Exception) -> None:
    """Raise a MemoryError for an error about a lack of memory; any other error is the caller's.

    PyTorch raises a ``RuntimeError`` for both. A request for more than the machine has is an error of the arguments.

    Raises:
        MemoryError: memory ran out.
    """
    if isinstance(error, MemoryError):
        raise error
    text = str(error)
    if not _SAID.search(text):
        return
    requested = _WANTED.search(text)
    if requested is None or int(requested[1]) <= _memory():
        raise MemoryError(text.splitlines()[0]) from error


def _memory() -> int:
    """Return the bytes of memory of the machine; a number beyond any memory if that is not known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


class SamplePoint(Struct, eq=False):
    """Arguments of an operator.

    Attributes:
        values: the arguments, in the order of the schema.
        label: where they come from: ``sample``, ``recipe``, ``sibling``, or what was made of one of these.
        is_meant: whether the operator is documented to take them, so that a formula has to.
        cached_outputs: what the operator gives near them, for all versions of its formulas.
    """

    values: list[Any]
    label: str = "sample"
    is_meant: bool = False
    cached_outputs: dict[Any, list[Any]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of elements of all tensors."""
        return elements(self.values)


def generator(seed: int, *parts: object) -> Any:
    """Random numbers that are the same for the same parts, whatever else runs."""
    import torch

    made = torch.Generator()
    # the generator takes 32 bits of a seed only
    made.manual_seed(zlib.crc32(repr(parts).encode(), seed))
    return made


def is_inexact(value: Any) -> bool:
    """Whether a value is a tensor of real or complex numbers."""
    import torch

    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value with the numbers of every tensor of real or complex numbers changed, whatever its layout."""
    if is_inexact(value):
        return changed(value, change)
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    return value


def is_available(device: str) -> bool:
    """Whether the machine and the installed PyTorch have a device, by its kind."""
    import torch

    if device == CPU:
        return True
    module: Any = torch.backends.mps if device == MPS else torch.cuda
    return bool(module.is_available())


def placed(point: SamplePoint, device: str) -> SamplePoint:
    """A point with all tensors on a device; one without double precision gets single precision."""
    import torch

    def moved(value: Any) -> Any:
        if isinstance(value, list):
            return [moved(item) for item in value]
        if isinstance(value, torch.device):
            return torch.device(device)
        if not isinstance(value, torch.Tensor):
            return value
        narrow = {torch.float64: torch.float32, torch.complex128: torch.complex64} if device == MPS else {}
        return value.to(device=device, dtype=narrow.get(value.dtype, value.dtype))

    return (
        point if device == CPU else SamplePoint([moved(value) for value in point.values], point.label, point.is_meant)
    )


def scaled(point: SamplePoint) -> SamplePoint:
    """A point with all numbers a little larger."""
    values = [mapped(value, lambda numbers: numbers * SCALE) for value in point.values]
    return SamplePoint(values, point.label, point.is_meant)


def overload_of(operator: str) -> Any:
    """The operator in ``torch.ops.aten``.

    Raises:
        AttributeError: there is none.
    """
    import torch

    base, _, overload = operator.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def call(operator: str, values: list[Any]) -> Any:
    """Call an operator with arguments, which it may change.

    Raises:
        Exception: of any kind that it raises.
    """
    overload = overload_of(operator)
    arguments = overload._schema.arguments
    count = sum(not argument.kwarg_only for argument in arguments)
    keywords = {argument.name: value for argument, value in zip(arguments[count:], values[count:], strict=True)}
    return overload(*values[:count], **keywords)
