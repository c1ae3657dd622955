"""Pieces of C++ that are in the YAML, as statements of a kernel."""

from __future__ import annotations

from derivlint.emit.template import in_yaml


def from_yaml(expression: str, line: int | None, path: str) -> str:
    """An expression with what comes before it: of the YAML, on lines that a compiler takes for lines of the YAML."""
    return f" {expression}" if line is None else in_yaml(expression, path, line)
