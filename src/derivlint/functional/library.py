"""Operators of one's own in :mod:`torch.library`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual


def define(name: str, schema: str) -> None:
    """Define an operator, unless somebody has done it before.

    Args:
        name: its name with the namespace.
        schema: its arguments and returns.
    """
    namespace, _, operator = name.partition("::")
    base, _, overload = operator.partition(".")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    if packet is None or (overload or "default") not in packet.overloads():
        torch.library.define(name, schema)


def register(name: str, backward: Callable[..., Any], setup_context: Callable[..., None]) -> None:
    """Give an operator its gradient, and have it refuse tangents, which torch.library would drop without a word.

    Args:
        name: its name with the namespace.
        backward: the gradients, as ``torch.library.register_autograd`` takes them.
        setup_context: what is kept for them.
    """
    make: Callable[..., torch.library.Library] = _RefusingTangents
    library = make(name.partition("::")[0], "FRAGMENT")
    _libraries.append(library)
    torch.library.register_autograd(name, backward, setup_context=setup_context, lib=library)


#: A tensor that may have a tangent, in its parts.
_parts_of: Callable[..., Any] = unpack_dual


class _RefusingTangents(torch.library.Library):
    """A library whose kernels raise where an argument has a tangent."""

    def impl(self, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
        """Register a kernel."""

        @wraps(fn)
        def kernel(*args: Any, **keywords: Any) -> Any:
            tensors = [item for item in (*args, *keywords.values()) if isinstance(item, Tensor)]
            if any(_parts_of(item).tangent is not None for item in tensors):
                raise NotImplementedError(f"{self.ns}::{op_name} has no tangent: torch.library has no forward mode")
            return fn(*args, **keywords)

        inherited: Callable[..., Any] = super().impl
        return inherited(op_name, kernel, dispatch_key, **options)


#: Kernels are there as long as their library is.
_libraries: list[torch.library.Library] = []
