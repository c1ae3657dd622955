"""The Python attributes of nodes, ``grad_fn._saved_self``: PyTorch's ``python_functions`` header and sources."""

from derivlint.emit.python_bindings.files import (
    EXTENSION_STEM,
    IN_TREE_SHARDS,
    IN_TREE_STEM,
    Getter,
    cmake_targets,
    functions_header,
    functions_source,
    getters,
    is_binding,
    nodes_source,
)

__all__ = [
    "EXTENSION_STEM",
    "IN_TREE_SHARDS",
    "IN_TREE_STEM",
    "Getter",
    "cmake_targets",
    "functions_header",
    "functions_source",
    "getters",
    "is_binding",
    "nodes_source",
]
