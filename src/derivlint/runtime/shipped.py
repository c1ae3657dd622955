"""Shipped nodes: node classes that the installed PyTorch exports, which kernels can create instead of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from derivlint.compiler.gxx import headers_version, torch_includes
from derivlint.emit.kernels import SHIPPED_NODES
from derivlint.emit.nodes import NodeClass, node_classes
from derivlint.emit.places import without_marks
from derivlint.emit.release import known_number
from derivlint.model import Model, build_model
from derivlint.schema import installed_torch, read_native_functions
from derivlint.source import SourceError, SourceFile

#: An exported class in PyTorch's Functions.h, or its exported constructor on Windows.
_EXPORTED = re.compile(r"struct TORCH_API (\w+) :|\bTORCH_API (\w+)\(\) = default;")
#: Comment lines in a node's code with the place of its entry.
_ORIGIN = re.compile(r"^//.*\n", re.MULTILINE)


def shipped_nodes(model: Model) -> frozenset[str]:
    """Return the node classes of a model that the installed PyTorch exports with equal members and formulas.

    Empty if the installed PyTorch is not of the model's release.
    """
    torch, includes = installed_torch(), torch_includes()
    if torch is None or torch.derivatives is None or includes is None:
        return frozenset()
    number, installed_number = known_number(model.natives.version), known_number(headers_version(includes))
    if number is None or number != installed_number:
        return frozenset()
    try:
        header = (includes[0] / SHIPPED_NODES).read_text(encoding="utf-8")
        natives = read_native_functions([SourceFile.read(torch.native_functions)])
        natives.version = model.natives.version
        theirs = _nodes(build_model(SourceFile.read(torch.derivatives), natives))
    except (OSError, UnicodeDecodeError, SourceError):
        return frozenset()
    exported = {exported_name or constructor for exported_name, constructor in _EXPORTED.findall(header)}
    return frozenset(name for name, text in _nodes(model).items() if name in exported and theirs.get(name) == text)


def _nodes(model: Model) -> Mapping[str, str]:
    """Return the code of each node of a model by name, without the places of entries."""
    return {node.name: _content(node) for node in node_classes(model)}


def _content(node: NodeClass) -> str:
    return _ORIGIN.sub("", without_marks(f"{node.header}\n{node.source}"))
