"""The Lark grammars of derivlint, as text: they are read through :func:`grammar_text`."""

from pathlib import Path


def grammar_text(name: str) -> str:
    """The text of the grammar called ``name``, such as ``"formula"`` for ``formula.lark``."""
    # pathlib rather than importlib.resources, whose import costs more than reading the file
    return Path(__file__).with_name(f"{name}.lark").read_text(encoding="utf-8")
