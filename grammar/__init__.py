"""The Lark grammars of derivlint, and the parser tables generated from them."""

from pathlib import Path


def grammar_text(name: str) -> str:
    """The text of the grammar called ``name``, such as ``"formula"`` for ``formula.lark``."""
    # pathlib rather than importlib.resources, whose import costs more than reading the file
    return Path(__file__).with_name(f"{name}.lark").read_text(encoding="utf-8")


def table_path(name: str) -> Path:
    """Where the table of the grammar called ``name`` is kept; ``python -m tools.parser_tables`` writes it."""
    return Path(__file__).with_name(f"{name}.table.json")


def table_text(name: str) -> str | None:
    """The table of the grammar called ``name`` as JSON, or None where there is none that can be read."""
    try:
        return table_path(name).read_text(encoding="utf-8")
    except OSError:
        return None
