"""Which functions are written code for, and what all code about views calls them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from derivlint.model.differentiable import has_generated_kernel, is_tensor_list
from derivlint.model.model import Model
from derivlint.schema import NativeFunction

#: The tensor that views are made of.
SELF = "self"
#: Which of several outputs a view function recreates.
VIEW_INDEX = "view_idx"


def generated_functions(
    model: Model, operators: Collection[str] | None, has_code: Callable[[NativeFunction], bool]
) -> list[NativeFunction]:
    """The functions that PyTorch's generator writes autograd code for, in the order of ``native_functions.yaml``.

    Args:
        model: a model without errors.
        operators: base names (``mul``: all overloads, in-place and out functions), names without overload (``mul_``)
            or full names (``mul.Tensor``); None for all.
        has_code: which functions are meant.
    """
    names = None if operators is None else frozenset(operators)
    return [
        function
        for function in model.natives.functions
        if (names is None or not names.isdisjoint(_names(function)))
        and has_code(function)
        and has_generated_kernel(model.match(function))
    ]


def _names(function: NativeFunction) -> tuple[str, str, str]:
    return str(function.name), function.name.name_without_overload, function.name.base


def by_name(function: NativeFunction) -> str:
    """The key that sorts functions by full name."""
    return str(function.name)


def class_name(function: NativeFunction) -> str:
    """The name of a view function's class, ``SelectIntViewFunc``; follows gen_view_funcs.py, ``view_func_name``."""
    name = function.name.unambiguous_name
    words = "".join(word.title() for word in f"{name}_view_func".split("_"))
    return f"_{words}" if name.startswith("_") else words


def makes_several_views(function: NativeFunction) -> bool:
    """Whether the function returns a list of views."""
    returns = function.schema.returns
    return len(returns) == 1 and is_tensor_list(returns[0].type)
