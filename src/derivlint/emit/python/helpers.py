"""Which helper functions there are in Python."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from derivlint.operators.definitions import Kind, definitions

_PACKAGE = Path(__file__).parent.parent.parent / "functional" / "__init__.py"


@cache
def helper_names() -> frozenset[str]:
    """The names that :mod:`derivlint.functional` offers, written and defined ones, without importing torch."""
    defined = frozenset(name for name, each in definitions().items() if each.kind is Kind.HELPER)
    for node in ast.parse(_PACKAGE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            return defined | frozenset(ast.literal_eval(node.value))
    return defined
