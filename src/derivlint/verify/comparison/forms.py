"""Forms of gradients and tangents: their type, layout and sizes, and the tensors whose memory they share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from derivlint.verify.comparison.numeric import CallResult, OperatorAtPoint, tensors
from derivlint.verify.inputs.layouts import is_plain

#: Tensors by what they are called.
Named = Iterable[tuple[str, Any]]


class Form(Struct, frozen=True):
    """The properties of a gradient or tangent that are not its numbers.

    Attributes:
        kind: its layout and type.
        sizes: its sizes, None where components differ.
        shares: the names of the tensors with the same memory.
    """

    kind: str
    sizes: tuple[int, ...] | None
    shares: frozenset[str]

    def difference(self, earlier: Form) -> str:
        """Return the difference from an earlier version in words, or an empty string.

        Memory that was shared before is not reported: a copy serves as well.
        """
        if self.kind != earlier.kind:
            return f"is {self.kind}, and {earlier.kind} before"
        if self.sizes != earlier.sizes and self.sizes is not None and earlier.sizes is not None:
            return f"has the sizes {list(self.sizes)}, and {list(earlier.sizes)} before"
        shared = sorted(self.shares - earlier.shares)
        return f"shares its memory with {' and '.join(shared)}, and did not before" if shared else ""


def form_of(tensor: Any, named_tensors: Named) -> Form:
    """The form of a gradient or tangent.

    Args:
        tensor: the tensor.
        named_tensors: the tensors that it may share memory with.
    """
    kind, layout = (str(property_).removeprefix("torch.") for property_ in (tensor.dtype, tensor.layout))
    place = _memory(tensor)
    shares = frozenset(name for name, tensor_there in named_tensors if place and _memory(tensor_there) == place)
    return Form(f"{layout} {kind}", None if tensor.is_nested else tuple(tensor.shape), shares)


def saved(subject: OperatorAtPoint, called: CallResult) -> Named:
    """The arguments and outputs of an operator."""
    spec = subject.spec
    named = [*zip(spec.arguments, called.values, strict=True)]
    own = [value for value in spec.returns if value.name not in {argument.name for argument in spec.arguments}]
    for value, content in [*named, *zip(own, called.returns, strict=True)]:
        yield from ((f'"{value.name}"', item) for item in tensors(content) if item is not None)


def _memory(tensor: Any) -> int:
    """Where the numbers of a tensor are; 0 where there are none, or none that could be written to."""
    if not is_plain(tensor) or not tensor.numel() or tensor._is_zerotensor():
        return 0
    return int(tensor.untyped_storage().data_ptr())
