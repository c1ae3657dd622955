"""The files that node classes stand in."""

from __future__ import annotations

from collections.abc import Sequence

from derivlint.emit.nodes.node import NodeClass
from derivlint.emit.release import DEFAULT, Release
from derivlint.emit.template import fill, load, number_lines

#: The namespace of PyTorch's own nodes, which other libraries use.
IN_TREE = "torch::autograd::generated"
HEADER = "nodes.h"


def nodes_header(classes: Sequence[NodeClass], namespace: str, *, guard: str = "") -> str:
    """The header that declares node classes.

    Args:
        classes: the classes.
        namespace: their namespace; in PyTorch's own they are exported.
        guard: what keeps it from being compiled with the headers of another release.
    """
    exporting = "node_export_in_tree.h" if namespace == IN_TREE else "node_export_extension.h"
    return fill(
        _release(classes).template("nodes.h") + "\n",
        file=_file(classes),
        namespace=namespace,
        guard=guard,
        exporting=load(exporting),
        classes="\n\n".join(node_class.header for node_class in classes),
    )


def nodes_source(classes: Sequence[NodeClass], namespace: str, *, name: str = "nodes.cpp", header: str = HEADER) -> str:
    """A source file with the functions of node classes, all of them or a shard.

    Args:
        classes: the classes.
        namespace: their namespace.
        name: the name of the file, for line directives.
        header: what it includes for the declarations.
    """
    tracing = ""
    if _release(classes).traces_gradients:
        # PyTorch's own nodes have their own names there
        prefix = "" if namespace == IN_TREE else namespace.replace("::", "_") + "_"
        tracing = fill(load("nodes_tracing.cpp"), prefix=prefix) + "\n"
    text = fill(
        load("nodes.cpp") + "\n",
        file=_file(classes),
        header=header,
        namespace=namespace,
        tracing=tracing,
        definitions="\n\n".join(node_class.source for node_class in classes),
    )
    return number_lines(text, name)


def _file(classes: Sequence[NodeClass]) -> str:
    return classes[0].file if classes else "derivatives.yaml"


def _release(classes: Sequence[NodeClass]) -> Release:
    return classes[0].release if classes else DEFAULT
