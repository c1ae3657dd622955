"""Fixes for consumers that take one replacement for each finding."""

from __future__ import annotations

from itertools import pairwise

from derivlint.lint import Fix, TextEdit
from derivlint.source import SourceFile


def merged_edit(source: SourceFile, fix: Fix) -> TextEdit | None:
    """All edits of a fix as one, with the text between them; None where there is none.

    Consumers offer each replacement on its own, and half a fix is none.
    """
    edits = sorted(fix.edits, key=lambda edit: edit.span)
    if not edits:
        return None
    pieces = [edits[0].text]
    for before, after in pairwise(edits):
        pieces += (source.text[before.span.end : after.span.start], after.text)
    return TextEdit(edits[0].span.cover(edits[-1].span), "".join(pieces))
