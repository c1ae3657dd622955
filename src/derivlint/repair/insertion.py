"""Writes a formula under a key that an entry lacks."""

from __future__ import annotations

from derivlint.lint.diagnostic import TextEdit
from derivlint.lint.edits import quote_text
from derivlint.repair.candidates import Candidate, Target
from derivlint.source import Span

#: What makes a plain YAML scalar something else, at its beginning and anywhere.
_INDICATORS = frozenset("&*!|>'\"%@`#,[]{}?:-")
_SEPARATORS = (": ", " #")


def insertion(target: Target, candidate: Candidate, text: str) -> tuple[TextEdit, ...]:
    """The edit that writes a formula under a key that is not there; none if the YAML of its entry has another form.

    Args:
        target: the key.
        candidate: the formula.
        text: the file.
    """
    formulas = target.body.formulas
    mapping = target.body.mapping
    if not formulas or mapping is None or mapping.flow:
        return ()
    last = formulas[-1]
    begin = last.key_span.start
    indent = text[text.rfind("\n", 0, begin) + 1 : begin]
    stop = text.find("\n", target.body.entry.place(last.value).end)
    stop = len(text) if stop < 0 else stop
    if indent.strip(" "):
        return ()
    value = candidate.text
    if value[0] in _INDICATORS or any(separator in value for separator in _SEPARATORS):
        value = quote_text(value)
    return (TextEdit(Span(stop, stop), f"\n{indent}{target.key}: {value}"),)
