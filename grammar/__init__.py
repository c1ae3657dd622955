"""The Lark grammars of derivlint, as text: they are read through :func:`grammar_text`."""

from importlib.resources import files


def grammar_text(name: str) -> str:
    """The text of the grammar called ``name``, such as ``"formula"`` for ``formula.lark``."""
    return files(__package__).joinpath(f"{name}.lark").read_text(encoding="utf-8")
