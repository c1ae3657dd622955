"""The files of a PyTorch build: those in torch/csrc/autograd/generated that depend on derivatives.

PyTorch's CMake files list them, so their number is fixed. The other files of the folder (tracing, variable factories,
Python functions) depend on native_functions.yaml only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from derivlint.emit import python_bindings as python
from derivlint.emit.inplace_or_view import inplace_or_view_kernels, inplace_or_view_source, variable_type_header
from derivlint.emit.kernels import Kernel, kernels_source
from derivlint.emit.nodes import NodeClass, nodes_header, nodes_source
from derivlint.emit.release import Release, release_of
from derivlint.emit.template import split_into, yaml_name
from derivlint.emit.view_funcs import view_funcs, view_funcs_header, view_funcs_source
from derivlint.model import Model

#: The folder of generated files in a PyTorch checkout.
GENERATED = "torch/csrc/autograd/generated"
INPLACE_OR_VIEW_SHARDS = 2
NODES = "Functions"
VIEWS = "ViewFuncs"


def in_tree_files(
    model: Model,
    operators: Collection[str] | None,
    classes: Sequence[NodeClass],
    kernels: Sequence[Kernel],
    namespace: str,
    shards: int | None = None,
    python_bindings: bool = True,
) -> dict[str, str]:
    """Emit nodes, kernels, view functions, ADInplaceOrView kernels and the Python bindings of the nodes.

    Args:
        model: the model.
        operators: names as :func:`derivlint.emit.selection.is_selected` takes them; None for all.
        classes: the node classes.
        kernels: the autograd kernels.
        namespace: the namespace of node classes and view functions.
        shards: the number of files for autograd kernels, by default PyTorch's.
        python_bindings: whether to expose the node classes to Python.
    """
    file = yaml_name(model.source.path)
    release = release_of(model.natives.version)
    views = view_funcs(model, operators)
    files = {
        f"{NODES}.h": nodes_header(classes, namespace),
        f"{NODES}.cpp": nodes_source(classes, namespace, header=f"{NODES}.h"),
        f"{VIEWS}.h": release.spelled(view_funcs_header(views, namespace)),
        f"{VIEWS}.cpp": release.spelled(view_funcs_source(views, namespace, f"{VIEWS}.h")),
        "VariableType.h": release.spelled(variable_type_header()),
    }
    count = shards or kernel_shards(release)
    for index, group in enumerate(split_into(kernels, count)):
        name = f"VariableType_{index}.cpp"
        files[name] = kernels_source(group, namespace, nodes_header=f"{NODES}.h")
    of_views = inplace_or_view_kernels(model, operators)
    for index, part in enumerate(split_into(of_views, INPLACE_OR_VIEW_SHARDS)):
        source = inplace_or_view_source(part, namespace, view_funcs_header=f"{VIEWS}.h", release=release)
        files[f"ADInplaceOrViewType_{index}.cpp"] = release.spelled(source)
    if python_bindings:
        files[f"{python.IN_TREE_STEM}.h"] = release.spelled(python.functions_header(file, namespace))
        for index, some in enumerate(split_into(classes, python.IN_TREE_SHARDS)):
            source = python.functions_source(some, namespace, shard=index, file=file, header=f"{NODES}.h")
            files[f"{python.IN_TREE_STEM}_{index}.cpp"] = release.spelled(source)
    return files


def kernel_shards(release: Release) -> int:
    """The number of files for autograd kernels in a build of a release."""
    return 10 if release.since >= (2, 13) else 5
