"""Which helper functions there are in Python."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from derivlint.emit.python.spelling import LIBRARY
from derivlint.operators.reference.definitions import DefinitionKind, definitions

_PACKAGE = Path(__file__).parent.parent.parent / "functional" / "__init__.py"


@cache
def helper_names() -> frozenset[str]:
    """The names that :mod:`derivlint.functional` offers, written and defined ones, without importing torch."""
    defined = frozenset(name for name, definition in definitions().items() if definition.kind is DefinitionKind.HELPER)
    for node in ast.parse(_PACKAGE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            return defined | frozenset(ast.literal_eval(node.value))
    return defined


def functions_in(text: str) -> tuple[str, ...]:
    """The functions that a Python file defines; nothing of it is executed.

    Raises:
        SyntaxError: it is not Python.
    """
    return tuple(node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))


def helper_modules(own: Mapping[str, str] | None = None) -> dict[str, str]:
    """The helper functions that there are in Python, each with what generated code calls its module.

    Args:
        own: the functions of the author's own modules, with the names of these.
    """
    return {**dict.fromkeys(helper_names(), LIBRARY), **(own or {})}
