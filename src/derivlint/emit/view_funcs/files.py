"""The files that view functions stand in."""

from __future__ import annotations

from collections.abc import Sequence

from derivlint.emit.own_operators import HEADER as OPERATORS
from derivlint.emit.selection import ATEN
from derivlint.emit.template import fill, load
from derivlint.emit.view_funcs.view_func import ViewFunc
from derivlint.schema import NativeFunction

#: The header that PyTorch itself ships, and its namespace.
HEADER = "torch/csrc/autograd/generated/ViewFuncs.h"
SHIPPED_NAMESPACE = "torch::autograd::generated"


def operator_headers(functions: Sequence[NativeFunction]) -> str:
    """The includes of operators, PyTorch's each in a header of its own where it is built so."""
    roots = [function.root_name for function in functions if function.namespace == ATEN]
    if functions and not roots:
        return f'#include "{OPERATORS}"'
    return fill(
        load("view_func_operators.h"),
        includes="\n".join(f"#include <ATen/ops/{root}_ops.h>" for root in dict.fromkeys(roots)),
    )


def view_funcs_header(funcs: Sequence[ViewFunc], namespace: str = SHIPPED_NAMESPACE) -> str:
    """The header that declares view functions.

    Args:
        funcs: the view functions.
        namespace: their namespace.
    """
    return fill(
        load("view_funcs.h") + "\n",
        operators=operator_headers([func.function for func in funcs]),
        namespace=namespace.removeprefix("::"),
        classes="\n\n".join(func.header for func in funcs),
    )


def view_funcs_source(funcs: Sequence[ViewFunc], namespace: str = SHIPPED_NAMESPACE, header: str = HEADER) -> str:
    """The source file with the functions of view functions.

    Args:
        funcs: the view functions.
        namespace: their namespace.
        header: what it includes for the declarations.
    """
    return fill(
        load("view_funcs.cpp") + "\n",
        header=header,
        namespace=namespace.removeprefix("::"),
        definitions="\n\n".join(func.source for func in funcs),
    )
