"""The templates of kernels."""

from __future__ import annotations

from derivlint.emit.template import fill, load


def filled(name: str, /, **parts: str) -> str:
    """The template ``<name>.cpp`` with its placeholders filled."""
    return fill(load(f"{name}.cpp"), **parts)
