"""Pieces of C++ that stand in the YAML, as statements of a kernel."""

from __future__ import annotations

from derivlint.emit.template import in_yaml


def from_yaml(expression: str, line: int | None, path: str) -> str:
    """An expression with what stands before it: of the YAML, on lines that a compiler takes for lines of the YAML."""
    return f" {expression}" if line is None else in_yaml(expression, path, line)


def without_directives(text: str) -> str:
    """The text for people: without the lines that only a compiler needs."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("#line"))
