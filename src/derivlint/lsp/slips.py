"""The slips of someone who types, made once before the first edit: what they need is loaded and worked out then."""

from __future__ import annotations

from contextlib import suppress

from derivlint.lsp.checker import CheckedDocument
from derivlint.project.check import check_source
from derivlint.source import Span

#: A formula is looked for in so many entries.
FIRST = 50
#: What is typed before a formula: an opening quote, and names that mean nothing.
BEFORE_FORMULAS = ('"', "unknown(grad.unknown()) + at::unknown() + unknown + ")
#: What is typed after the name of a schema: a letter, and a bracket.
AFTER_NAMES = ("x", "(")


def make_slips(checked: CheckedDocument) -> None:
    """Check the text with slips in one of its entries; nothing of that is kept.

    Args:
        checked: the check of the text.
    """
    source, project, kept = checked.source, checked.project, checked.kept
    for entry in checked.analysis.model.entries[:FIRST]:
        formula = next((formula for body in entry.bodies for formula in body.formulas if formula.is_expression), None)
        if kept is None or formula is None or entry.name is None:
            continue
        end = source.text.find("(", entry.name.start, entry.name.end)
        slips = [(formula.value.start, text) for text in BEFORE_FORMULAS]
        slips += [(end, text) for text in AFTER_NAMES if end >= 0]
        for place, text in slips:
            # what fails here fails again, and is reported, where someone types it
            with suppress(Exception):
                edited = source.replaced(Span(place, place), text)
                natives, settings = project.loaded.natives, project.settings
                check_source(edited, natives, settings, project.rules, kept=kept).model.discard()
        return
