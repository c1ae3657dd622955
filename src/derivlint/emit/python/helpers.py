"""Which helper functions there are in Python."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent.parent / "functional" / "__init__.py"


@cache
def helper_names() -> frozenset[str]:
    """The names that :mod:`derivlint.functional` offers, read without importing torch."""
    for node in ast.parse(_PACKAGE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            return frozenset(ast.literal_eval(node.value))
    return frozenset()
