"""The slips of someone who types, made once before the first edit: what they need is loaded and worked out then."""

from __future__ import annotations

from contextlib import suppress

from derivlint.lsp.checker import CheckedDocument, check
from derivlint.source import Span

#: A formula is looked for in so many entries.
FIRST = 50
#: What is typed before a formula: an opening quote, and names that mean nothing, the first one nearly something.
BEFORE_FORMULAS = ('"', "zeros_liek(grad) + unknown(grad) + grad.unknown() + at::unknown() + unknown + ")
#: What is typed after the name of an operator: a letter, and a bracket.
AFTER_NAMES = ("x", "(")


def make_slips(checked: CheckedDocument) -> None:
    """Check the text with slips in one of its entries; nothing of that is kept.

    Args:
        checked: the check of the text.
    """
    if checked.kept is None:
        return
    for entry in checked.analysis.model.entries[:FIRST]:
        formula = next((formula for formula in entry.formulas if formula.is_expression), None)
        if formula is None:
            continue
        slips = [(formula.value_span.start, text) for text in BEFORE_FORMULAS]
        slips += [(entry.name_span.end, text) for text in AFTER_NAMES]
        for place, text in slips:
            # what fails here fails again, and is reported, where someone types it
            with suppress(Exception):
                edited = checked.source.replaced(Span(place, place), text)
                check(edited, checked.project, kept=checked.kept).analysis.model.discard()
        return
