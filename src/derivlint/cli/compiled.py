"""Messages of a compiler about emitted files, mapped to the formulas that caused them.

The emitted files say by ``#line`` directives which of their lines come from the YAML, so that messages name the YAML
file and the line. Columns are those of the emitted line, which is made of the formula and is not the formula; where the
compiler quotes a word that the formula has just once, that word is the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from msgspec import Struct

from derivlint.compiler.diagnostics import COMPILER_ERROR, is_made_of
from derivlint.lint import Confidence, Diagnostic, Severity
from derivlint.model import DerivativeFormula, Model
from derivlint.source import Span

#: clang and g++ write the same form.
_MESSAGE = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? +(?:fatal )?error: (?P<text>.*)$")
_QUOTED = re.compile(r"['\u2018](?:[\w:]*::)?(\w+)['\u2019]")


class CompilerMessages(Struct, frozen=True):
    """The messages of a compiler about emitted files.

    Attributes:
        diagnostics: the messages about formulas, each once.
        unplaced: its errors elsewhere, as it wrote them.
    """

    diagnostics: list[Diagnostic]
    unplaced: list[str]


def messages_of(model: Model, outputs: Iterable[str]) -> CompilerMessages:
    """The errors in what a compiler printed.

    Args:
        model: the model that the files were emitted from.
        outputs: what it printed for each file.
    """
    name = PurePath(model.source.path).name
    lines = list(_lines(model))
    by_place: dict[tuple[int, str], tuple[Diagnostic, DerivativeFormula | None]] = {}
    unplaced: list[str] = []
    for output in outputs:
        for text in output.splitlines():
            match = _MESSAGE.match(text)
            if match is None:
                continue
            row = int(match["line"])
            if PurePath(match["file"]).name != name or not 0 < row <= len(model.source.text.split("\n")):
                unplaced.append(text)
                continue
            formula = next((formula for first, last, formula in lines if first <= row <= last), None)
            diagnostic = _diagnostic(model, formula, row, match["text"])
            by_place.setdefault((diagnostic.span.start, diagnostic.message), (diagnostic, formula))
    refused = [formula for _, formula in by_place.values() if formula is not None]
    remaining = (item for item, formula in by_place.values() if formula is None or not is_made_of(formula, refused))
    return CompilerMessages(sorted(remaining), unplaced)


def _lines(model: Model) -> Iterator[tuple[int, int, DerivativeFormula]]:
    """Every formula with its first and last line."""
    for body in model.bodies():
        for formula in body.formulas:
            first = model.source.position(formula.value_span.start)[0]
            yield first, model.source.position(max(formula.value_span.start, formula.value_span.end - 1))[0], formula


def _diagnostic(model: Model, formula: DerivativeFormula | None, row: int, message: str) -> Diagnostic:
    return Diagnostic(
        path=model.source.path,
        span=_place(formula, message) if formula is not None else _row(model, row),
        rule=COMPILER_ERROR,
        message=f"the compiler refuses the code that is made of this: {message}",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        help=None,
        entry=formula.entry.operator if formula is not None else None,
        dispatch=formula.body.key if formula is not None else None,
        key=formula.key_text if formula is not None else None,
    )


def _place(formula: DerivativeFormula, message: str) -> Span:
    """The word that the compiler quotes, where the formula has it once; else the whole formula."""
    if formula.is_expression:
        for quoted in _QUOTED.findall(message):
            words = [word for word in formula.parsed.words if word.text == quoted]
            if len(words) == 1:
                return formula.span_of(words[0])
    return formula.value_span


def _row(model: Model, row: int) -> Span:
    """A whole line of the file."""
    texts = model.source.text.split("\n")
    start = sum(len(text) + 1 for text in texts[: row - 1])
    return Span(start, start + len(texts[row - 1]))
