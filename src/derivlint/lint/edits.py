"""Fixes that several rules offer."""

from __future__ import annotations

from derivlint.lint.diagnostic import Fix, TextEdit
from derivlint.model import Entry
from derivlint.schema.difference import replacement
from derivlint.yaml_reader import Scalar


def quote_text(text: str) -> str:
    """A text of one line as a quoted YAML scalar."""
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def quote_scalar(node: Scalar, title: str, *, safe: bool = True) -> Fix | None:
    """The fix that puts an unquoted scalar in quotes; None where it is quoted or empty."""
    if node.style != "plain" or not node.value or node.tag is not None or "\n" in node.value:
        return None
    return Fix(title, (TextEdit(node.span, quote_text(node.value)),), safe=safe)


def schema_fix(entry: Entry, expected: str, *, safe: bool = False) -> Fix | None:
    """The fix that makes an entry's schema the expected one; None where the YAML would need more than that."""
    name = entry.name
    if name is None or not name.exact or (entry.mapping is not None and entry.mapping.flow):
        return None
    span, text = replacement(name.value, expected)
    if name.style not in ("plain", "single", "double") or (name.style != "plain" and set(text) & set("\"'\\")):
        return None
    edit = TextEdit(name.span_of(span.start, span.end), text)
    return Fix("write the schema as PyTorch declares it", (edit,), safe=safe)
