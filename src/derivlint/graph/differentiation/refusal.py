"""Find nodes that cannot be differentiated.

Differentiation assumes pure dataflow: every node defines its outputs from its inputs, without side effects. Violations
other than control flow are reported before any rewriting, even off the path of gradients: appending to a list, writing
into a tensor, calling a function outside the graph.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula.vocabulary import words
from derivlint.graph.differentiation.entries import Entries, operator_name
from derivlint.graph.ir import (
    ADD,
    CONSTANT,
    GRAD_OF,
    IF,
    LIST,
    LIST_UNPACK,
    TUPLE,
    TUPLE_UNPACK,
    ZERO,
    GraphBlock,
    GraphNode,
)
from derivlint.graph.passes import METADATA, TOTAL
from derivlint.graph.types import GraphError, holds_tensors
from derivlint.operators import Book

#: Supported nodes that are not operators.
_UNDERSTOOD = METADATA | {
    *(ADD, GRAD_OF, IF, LIST, LIST_UNPACK, TUPLE, TUPLE_UNPACK, ZERO, TOTAL),
    "aten::_grad_sum_to_size",
}
#: TorchScript operators that mutate lists and dictionaries.
_CHANGES_CONTAINER = words(
    "append extend insert pop popitem remove reverse sort clear _set_item setdefault update Delete"
)
#: Pure TorchScript operators whose results contain no differentiable tensors.
_SCRIPT = Book.by_hand("of-numbers")
_PRIM = {
    "prim::Loop": "loops have no derivative here",
    "prim::fork": "work of other threads has no derivative here",
    "prim::PythonOp": "it calls Python, which is not in the graph",
    "prim::CallFunction": "what it calls is not in the graph",
    "prim::CallMethod": "what it calls is not in the graph",
    "prim::GetAttr": "what it reads is not in the graph",
    "prim::SetAttr": "it changes an object",
    "prim::Enter": "contexts, such as no_grad, have no meaning here",
    "prim::Exit": "contexts, such as no_grad, have no meaning here",
    "prim::Print": "it has an effect",
    "prim::RaiseException": "control flow has no derivative here",
}
#: The types of supported constants.
_CONSTANTS = words("int float bool str number NoneType Device Layout list")


def refused(block: GraphBlock, entries: Entries) -> Iterator[tuple[GraphNode, str]]:
    """The nodes that cannot be differentiated, nested blocks included, each with the reason."""
    for node in block.nodes:
        reason = _reason(node, entries)
        if reason is not None:
            yield node, reason
        for inner in node.blocks:
            yield from refused(inner, entries)


def _reason(node: GraphNode, entries: Entries) -> str | None:
    if node.kind in _UNDERSTOOD:
        return None
    if node.kind == CONSTANT:
        return _of_constant(node)
    if not node.kind.startswith("aten::"):
        if node.kind.startswith("^"):
            return _PRIM["prim::PythonOp"]
        # subgraphs have numbered names
        return _PRIM.get(node.kind.rstrip("_0123456789"), "it is not an operator of PyTorch")
    name = operator_name(node).partition(".")[0]
    changes = name in _CHANGES_CONTAINER and not (node.inputs and node.inputs[0].type.is_tensor)
    if changes or (name.endswith("_") and not name.endswith("__")):
        return "it changes its operand in place"
    if node.blocks:
        return "control flow has no derivative here"
    if not any(holds_tensors(value.type) for value in node.inputs):
        exists = name in _SCRIPT or entries.operators.exists(name)
        return None if exists else f'there is no operator "{name}"'
    return _of_tensors(node, name, entries)


def _of_tensors(node: GraphNode, name: str, entries: Entries) -> str | None:
    try:
        function = entries.arguments(node).function
    except GraphError as error:
        # on a tensor they return numbers, on a list of tensors one of the tensors
        return None if name in _SCRIPT and not entries.operators.exists(name) else str(error)
    arguments = function.schema.arguments
    is_written = any(
        argument.annotation is not None and argument.annotation.is_write
        for argument in (*arguments.flat_non_out, *arguments.out)
    )
    return "it writes into one of its operands" if is_written else None


def _of_constant(node: GraphNode) -> str | None:
    (value,) = node.outputs
    name = value.type.name
    if name in ("optional", "NoneType"):
        return None if not node.attributes else "it is a constant of unknown kind"
    held = node.attributes.get("value")
    if value.type.is_tensor and type(held) in (int, float):
        # a zero-dimensional tensor, whose value TorchScript prints
        return None
    if name not in _CONSTANTS or "value" not in node.attributes:
        return f"it is a constant of the type {value.type}"
    return None
