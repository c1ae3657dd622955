"""Operators of one's own in :mod:`torch.library`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch._functorch import autograd_function

#: What PyTorch's own transforms use to apply a Function at one of their levels.
_SINGLE_LEVEL = "enable_single_level_autograd_function"
Function = TypeVar("Function", bound=Callable[..., Any])


def define(name: str, schema: str) -> None:
    """Define an operator, unless someone has done it before.

    Args:
        name: its name with the namespace.
        schema: its arguments and returns.
    """
    namespace, _, operator = name.partition("::")
    base, _, overload = operator.partition(".")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    if packet is None or (overload or "default") not in packet.overloads():
        torch.library.define(name, schema)


def register(name: str) -> Callable[[Function], Function]:
    """Make a function the autograd kernel of an operator; what is called by its name then is the operator.

    Args:
        name: the operator's name with the namespace.
    """
    namespace, _, operator = name.partition("::")
    base, _, overload = operator.partition(".")

    def decorate(kernel: Function) -> Function:
        make: Callable[..., Any] = torch.library.Library
        library = make(namespace, "FRAGMENT")
        library.impl(operator, kernel, "Autograd")
        _libraries.append(library)
        called = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")

        @wraps(kernel)
        def call(*args: Any, **keywords: Any) -> Any:
            return called(*args, **keywords)

        return cast("Function", call)

    return decorate


def applied(function: type[torch.autograd.Function], *args: Any) -> Any:
    """Apply a Function in the autograd kernel of an operator, where PyTorch has dealt with all transforms but one."""
    apply: Callable[..., Any] = getattr(super(torch.autograd.Function, function), "apply")  # noqa: B009
    if not torch._C._are_functorch_transforms_active():
        return apply(*args)
    single_level: Callable[[], AbstractContextManager[None]] = getattr(autograd_function, _SINGLE_LEVEL)
    with single_level():
        return apply(*args)


#: Kernels are there as long as their library is.
_libraries: list[Any] = []
