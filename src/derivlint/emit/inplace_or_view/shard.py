"""One source file of kernels with their registrations, and the header beside it."""

from __future__ import annotations

from collections.abc import Sequence

from derivlint.emit.inplace_or_view.kernel import InplaceOrViewKernel
from derivlint.emit.kernels.shard import registrations
from derivlint.emit.own_operators import kernel_namespaces
from derivlint.emit.selection import ATEN
from derivlint.emit.template import fill, load
from derivlint.emit.view_funcs.view_func import HEADER, SHIPPED_NAMESPACE, operator_headers

#: The dispatch key.
KEY = "ADInplaceOrView"


def inplace_or_view_source(
    kernels: Sequence[InplaceOrViewKernel],
    namespace: str = SHIPPED_NAMESPACE,
    *,
    view_funcs_header: str = HEADER,
    view_funcs_namespace: str | None = None,
) -> str:
    """The text of one file.

    Args:
        kernels: the kernels that it holds.
        namespace: the namespace of the extension.
        view_funcs_header: the header that declares the view functions.
        view_funcs_namespace: the namespace of the view functions; that of the extension by default.
    """
    return fill(
        load("inplace_or_view_shard.cpp") + "\n",
        source=kernels[0].file if kernels else "derivatives.yaml",
        view_funcs_header=view_funcs_header,
        operators=operator_headers([kernel.function for kernel in kernels]),
        inverses=fill(
            load("inplace_or_view_inverses.h"),
            declarations="\n".join(kernel.inverse for kernel in kernels if kernel.inverse),
        ),
        kernels_namespace=kernel_namespaces(namespace)[1],
        view_funcs_namespace=(view_funcs_namespace or namespace).removeprefix("::"),
        kernels="\n\n".join(kernel.text for kernel in kernels),
        registrations="\n\n".join(
            registrations(library, KEY, lines) for library, lines in _by_library(kernels).items()
        ),
    )


def _by_library(kernels: Sequence[InplaceOrViewKernel]) -> dict[str, list[str]]:
    statements: dict[str, list[str]] = {} if kernels else {ATEN: []}
    for kernel in kernels:
        statements.setdefault(kernel.function.namespace, []).append(kernel.registration)
    return statements


def variable_type_header() -> str:
    """PyTorch's ``VariableType.h``, which depends on no model: what files written by hand define and others use."""
    return load("variable_type.h") + "\n"
