"""One source file of kernels with their registrations."""

from __future__ import annotations

from collections.abc import Iterable

from derivlint.emit.kernels.kernel import Kernel
from derivlint.emit.kernels.templates import filled
from derivlint.emit.release import DEFAULT
from derivlint.emit.template import number_lines

#: What kernels need of PyTorch.
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
    file_name: str = "kernels.cpp",
) -> str:
    """The text of one file.

    Args:
        kernels: the kernels that it holds.
        namespace: the namespace of the extension.
        nodes_header: the header that declares the node classes.
        nodes_namespace: the namespace of the node classes; that of the extension by default.
        file_name: the name of the file, for messages of the compiler.
    """
    chosen = tuple(kernels)
    by_key: dict[tuple[str, str], list[str]] = {}
    for kernel in chosen:
        by_key.setdefault((kernel.function.namespace, kernel.dispatch_key), []).append(kernel.registration)
    registrations = [
        f"TORCH_LIBRARY_IMPL({library}, {key}, m) {{\n" + "\n".join(f"  {line}" for line in lines) + "\n}"
        for (library, key), lines in sorted(by_key.items())
    ]
    text = filled(
        chosen[0].release if chosen else DEFAULT,
        "kernel_shard",
        source=chosen[0].path if chosen else "no entry",
        includes="\n".join([f'#include "{nodes_header}"', *(f"#include <{header}>" for header in HEADERS)]),
        kernels_namespace=f"{namespace.strip(':').replace('::', '_')}_kernels",
        nodes_namespace=(nodes_namespace or namespace).removeprefix("::"),
        kernels="\n\n".join(kernel.text for kernel in chosen if kernel.text),
        registrations="\n\n".join(registrations),
    )
    return number_lines(text, file_name) + "\n"
