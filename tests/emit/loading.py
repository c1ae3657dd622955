"""Loading an extension in a child process, with the classes that it registers in Python."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from derivlint.runtime import Extension, load


def load_with_classes(folder: str, build_folder: str) -> tuple[Extension, frozenset[type[Any]]]:
    """Load an extension; also return its classes, whose names alone are those of PyTorch's own."""
    import torch

    node = torch.autograd.graph.Node
    with patch.object(node, "register", side_effect=node.register) as register:
        extension = load(folder, build_folder=build_folder)
    return extension, frozenset(call.args[0] for call in register.call_args_list)
