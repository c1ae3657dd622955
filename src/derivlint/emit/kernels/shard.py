"""One source file of kernels with their registrations."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from derivlint.emit.kernels.kernel import Kernel
from derivlint.emit.kernels.subject import NODES
from derivlint.emit.own_operators import kernel_namespaces
from derivlint.emit.release import DEFAULT, filled
from derivlint.emit.template import number_lines

#: The headers of PyTorch that kernels need.
HEADERS = (
    "torch/csrc/autograd/FunctionsManual.h",
    "torch/csrc/autograd/VariableTypeUtils.h",
    "torch/csrc/autograd/autograd_not_implemented_fallback.h",
    "ATen/Functions.h",
    "ATen/Operators.h",
    "ATen/SparseCsrTensorUtils.h",
    "torch/library.h",
)
#: The header of the node classes that PyTorch itself ships, and their namespace.
SHIPPED_NODES = "torch/csrc/autograd/generated/Functions.h"
SHIPPED_NAMESPACE = "torch::autograd::generated"


def kernels_source(
    kernels: Iterable[Kernel],
    namespace: str,
    *,
    nodes_header: str = "nodes.h",
    nodes_namespace: str | None = None,
    shipped: Collection[str] = (),
    file_name: str = "kernels.cpp",
) -> str:
    """The text of one file.

    Args:
        kernels: the kernels that it holds.
        namespace: the namespace of the extension.
        nodes_header: the header that declares the node classes.
        nodes_namespace: the namespace of the node classes; that of the extension by default.
        shipped: the node classes of PyTorch's own library that take the place of those of that namespace.
        file_name: the name of the file, for messages of the compiler.
    """
    chosen = tuple(kernels)
    by_key: dict[tuple[str, str], list[str]] = {}
    for kernel in chosen:
        by_key.setdefault((kernel.function.namespace, kernel.dispatch_key), []).append(kernel.registration)
    headers = (*HEADERS, SHIPPED_NODES) if shipped else HEADERS
    text = filled(
        chosen[0].release if chosen else DEFAULT,
        "kernel_shard",
        source=chosen[0].path if chosen else "no entry",
        includes="\n".join([f'#include "{nodes_header}"', *(f"#include <{header}>" for header in headers)]),
        kernels_namespace=kernel_namespaces(namespace)[0],
        nodes=_nodes(chosen, (nodes_namespace or namespace).removeprefix("::"), shipped),
        kernels="\n\n".join(kernel.text for kernel in chosen if kernel.text),
        registrations="\n\n".join(
            registrations(library, key, lines) for (library, key), lines in sorted(by_key.items())
        ),
    )
    return number_lines(text, file_name) + "\n"


def registrations(library: str, key: str, statements: Iterable[str]) -> str:
    """The registration of kernels under a dispatch key, for the operators of a namespace."""
    lines = "".join(f"  {statement}\n" for statement in statements)
    return f"TORCH_LIBRARY_IMPL({library}, {key}, m) {{\n{lines}}}"


def _nodes(kernels: Iterable[Kernel], namespace: str, shipped: Collection[str]) -> str:
    """Return declarations that make the node classes visible in one namespace."""
    if not shipped:
        return f"namespace {NODES} = ::{namespace};"
    names = sorted({kernel.node for kernel in kernels if kernel.node is not None})
    lines = (f"using ::{SHIPPED_NAMESPACE if name in shipped else namespace}::{name};" for name in names)
    return "\n".join([f"namespace {NODES} {{", *lines, "}"])
