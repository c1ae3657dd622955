"""The files that view functions stand in."""

from __future__ import annotations

from collections.abc import Sequence

from derivlint.emit.template import fill, load
from derivlint.emit.view_funcs.view_func import ViewFunc

#: The header that PyTorch itself ships, and its namespace.
HEADER = "torch/csrc/autograd/generated/ViewFuncs.h"
SHIPPED_NAMESPACE = "torch::autograd::generated"


def operator_headers(roots: Sequence[str]) -> str:
    """The includes of operators, each in a header of its own where PyTorch is built so."""
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
        operators=operator_headers([func.function.root_name for func in funcs]),
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
