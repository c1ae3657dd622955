"""A sample point: the arguments of an operator at which formulas are checked."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from derivlint.verify.inputs.layouts import changed
from derivlint.verify.inputs.samples import elements

#: The errors of operators and formulas that reject their arguments.
REFUSALS = (RuntimeError, IndexError, ValueError, TypeError)


#: The default device type, and one without double precision.
CPU, MPS = "cpu", "mps"
#: The factor on inputs that reveals the effect of rounding; equal values stay equal, and zeros stay zero.
SCALE = 1 + 2.0**-40
#: The maximum change of a value under this scaling, relative to the judged difference; else rounding is the cause.
UNSTEADY = 0.05


#: Messages about a lack of memory.
_OUT_OF_MEMORY = re.compile(r"can't allocate memory|not enough memory|bad_alloc|bad allocation|Cannot allocate memory")
#: The size of a failed allocation in such a message.
_ALLOCATION = re.compile(r"tried to allocate (\d+) bytes")


def require_memory(error: Exception) -> None:
    """Raise a MemoryError if an error reports a lack of memory; return for other errors.

    PyTorch raises a ``RuntimeError`` for both. A request for more memory than the machine has is an error of the
    arguments.

    Raises:
        MemoryError: memory ran out.
    """
    if isinstance(error, MemoryError):
        raise error
    text = str(error)
    if not _OUT_OF_MEMORY.search(text):
        return
    requested = _ALLOCATION.search(text)
    if requested is None or int(requested[1]) <= _memory():
        raise MemoryError(text.splitlines()[0]) from error


def _memory() -> int:
    """Return the machine's memory in bytes; a number beyond any size if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


class SamplePoint(Struct, eq=False):
    """The arguments of an operator.

    Attributes:
        values: the arguments, in the order of the schema.
        label: their origin: ``sample``, ``recipe``, ``sibling``, or the variant of one.
        is_meant: whether the operator is documented to accept them, so that formulas must.
        cached_outputs: the operator's outputs nearby, shared by all versions of its formulas.
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
    """A random number generator that only depends on the seed and the parts."""
    import torch

    made = torch.Generator()
    # the generator only uses 32 bits of a seed
    made.manual_seed(zlib.crc32(repr(parts).encode(), seed))
    return made


def is_inexact(value: Any) -> bool:
    """Whether a value is a floating-point or complex tensor."""
    import torch

    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change the values of all floating-point and complex tensors in a value, whatever their layout."""
    if is_inexact(value):
        return changed(value, change)
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    return value


def is_available(device: str) -> bool:
    """Whether the machine and the installed PyTorch support a device type."""
    import torch

    if device == CPU:
        return True
    module: Any = torch.backends.mps if device == MPS else torch.cuda
    return bool(module.is_available())


def placed(point: SamplePoint, device: str) -> SamplePoint:
    """Move all tensors of a point to a device, in single precision if it lacks double precision."""
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
    """Scale all values of a point slightly."""
    values = [mapped(value, lambda numbers: numbers * SCALE) for value in point.values]
    return SamplePoint(values, point.label, point.is_meant)


def overload_of(operator: str) -> Any:
    """The operator in ``torch.ops.aten``.

    Raises:
        AttributeError: the operator does not exist.
    """
    import torch

    base, _, overload = operator.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def call(operator: str, values: list[Any]) -> Any:
    """Call an operator, which may modify its arguments.

    Raises:
        Exception: any error of the operator.
    """
    overload = overload_of(operator)
    arguments = overload._schema.arguments
    count = sum(not argument.kwarg_only for argument in arguments)
    keywords = {argument.name: value for argument, value in zip(arguments[count:], values[count:], strict=True)}
    return overload(*values[:count], **keywords)
