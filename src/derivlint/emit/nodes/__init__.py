"""The nodes of the autograd graph: one class for every info with derivatives, as PyTorch's ``Functions.h/.cpp``."""

from derivlint.emit.nodes.files import nodes_header, nodes_source
from derivlint.emit.nodes.members import MemberKind, NodeMember
from derivlint.emit.nodes.node import NodeClass, node_class, node_classes

__all__ = ["MemberKind", "NodeClass", "NodeMember", "node_class", "node_classes", "nodes_header", "nodes_source"]
