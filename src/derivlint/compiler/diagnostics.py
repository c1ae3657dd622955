"""Compiling expressions, and compiler errors as diagnostics at the spans of formulas."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from derivlint.compiler.gxx import Compiler, CompilerError, Toolchain, compile_command, first_error, run
from derivlint.compiler.messages import parse_message
from derivlint.compiler.unit import CONSUMER, FORMULA, is_backward, source_of
from derivlint.lint import Confidence, Diagnostic, Severity
from derivlint.model import DerivativeFormula, Model
from derivlint.model.generated.evaluation import Evaluation, Origin
from derivlint.model.generated.typing import is_checkable
from derivlint.source import Span

#: The rule name of compiler findings.
COMPILER_ERROR = "compiler-error"


def compiler_diagnostics(
    model: Model,
    toolchain: Toolchain,
    reported: Collection[tuple[str | None, str | None, str | None]],
    *,
    includes: Sequence[Path] = (),
    progress: Callable[[str], None] = lambda message: None,
) -> list[Diagnostic]:
    """Compile the formulas, and return one diagnostic for each formula with a compiler error.

    Args:
        model: the model.
        toolchain: the compiler and the headers.
        reported: the entry, dispatch key and key of each formula with an error of a rule; they get no diagnostic.
        includes: headers of the user.
        progress: called with the current step.

    Raises:
        CompilerError: the compiler fails.
    """
    evaluations = [
        evaluation
        for entry in model.entries
        for evaluation in model.evaluations(entry)
        if is_checkable(evaluation.written)
    ]
    first: dict[DerivativeFormula, CompilerRefusal] = {}
    for refusal in refusals(toolchain, evaluations, includes=includes, progress=progress):
        formula = refusal.evaluation.written
        earlier = first.get(formula)
        if earlier is None or (
            earlier.evaluation.origin is not Origin.YAML and refusal.evaluation.origin is Origin.YAML
        ):
            first[formula] = refusal
    diagnostics = [_diagnostic(model, refusal) for formula, refusal in first.items() if not is_made_of(formula, first)]
    return sorted(item for item in diagnostics if (item.entry, item.dispatch, item.key) not in reported)


def is_made_of(formula: DerivativeFormula, refused: Collection[DerivativeFormula]) -> bool:
    """Whether a formula is automatic and derived from a formula with an error."""
    return formula.auto is not None and any(
        source in refused for source in formula.body.formulas if source.auto is None
    )


def _diagnostic(model: Model, refusal: CompilerRefusal) -> Diagnostic:
    evaluation = refusal.evaluation
    formula = evaluation.written
    message = f"the compiler rejects this formula: {refusal.message}"
    if evaluation.origin is not Origin.YAML:
        message = f'the compiler rejects this formula as rewritten for "{evaluation.function.name}": {refusal.message}'
    return Diagnostic(
        path=model.source.path,
        span=_place(refusal),
        rule=COMPILER_ERROR,
        message=message,
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        help=None,
        entry=formula.entry.operator,
        dispatch=formula.body.key,
        key=formula.key_text,
    )


def _place(refusal: CompilerRefusal) -> Span:
    """Return the span of the word at the compiler's position, or of the whole formula."""
    formula, offset = refusal.evaluation.written, refusal.offset
    if offset is None:
        return formula.value_span
    text = refusal.evaluation.text
    end = offset
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    written = refusal.evaluation.written_range(offset, max(end, min(offset + 1, len(text))))
    return formula.range(*written) if written is not None else formula.value_span


# ---- diagnostics


#: The maximum number of compiler runs: an error in a template is only reported at its first use, so later runs find its
#: other uses.
ROUNDS = 4
_PLACE = re.compile(rf"({FORMULA}|{CONSUMER})(\d+)$")
_IN_UNIT = re.compile(rf"(?:{FORMULA}|{CONSUMER})\d+:")


class CompilerRefusal(Struct, frozen=True):
    """A compiler error in an expression.

    Attributes:
        evaluation: the expression.
        message: the compiler's first error message.
        offset: the offset in the expression, or None for an error in the surrounding code.
    """

    evaluation: Evaluation
    message: str
    offset: int | None


def _options(compiler: Compiler) -> tuple[str, ...]:
    """Return the options for syntax checks with columns in bytes, Clang's default."""
    return compiler.reading if compiler.is_clang else (*compiler.reading, "-fdiagnostics-column-unit=byte")


def refusals(
    toolchain: Toolchain,
    evaluations: Sequence[Evaluation],
    *,
    includes: Sequence[Path] = (),
    progress: Callable[[str], None] = lambda message: None,
) -> list[CompilerRefusal]:
    """Compile expressions, and return the first error of each rejected one.

    Args:
        toolchain: the compiler and the headers.
        evaluations: expressions with balanced brackets; unparsable ones are not compiled.
        includes: headers of the user.
        progress: called with the current step.

    Raises:
        CompilerError: the compiler fails.
    """
    numbered = list(enumerate(evaluations))
    parts = [[item for item in numbered if is_backward(item[1]) is flag] for flag in (True, False)]
    progress(f"compiling {len(numbered):,} expressions with {toolchain.compiler.path.name}")
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = pool.map(lambda part: _judge(toolchain, part, includes), [part for part in parts if part])
        merged = {number: refusal for part in results for number, refusal in part.items()}
    return [merged[number] for number in sorted(merged)]


def _judge(
    toolchain: Toolchain, numbered: list[tuple[int, Evaluation]], includes: Sequence[Path]
) -> dict[int, CompilerRefusal]:
    refused: dict[int, CompilerRefusal] = {}
    for _ in range(ROUNDS):
        remaining = [item for item in numbered if item[0] not in refused]
        more, is_complete = _compile(toolchain, remaining, includes)
        refused |= more
        if is_complete:
            break
    return refused


def _compile(
    toolchain: Toolchain, numbered: list[tuple[int, Evaluation]], includes: Sequence[Path]
) -> tuple[dict[int, CompilerRefusal], bool]:
    """Return the errors, and whether they are complete: of a broken template, only the first use is reported."""
    if not numbered:
        return {}, True
    by_number = dict(numbered)
    source = source_of(
        numbered, backward=is_backward(numbered[0][1]), includes=[str(path.resolve()) for path in includes]
    )
    with tempfile.TemporaryDirectory(prefix="derivlint-") as name:
        folder = Path(name)
        (folder / "unit.cpp").write_text(source, encoding="utf-8")
        done = run(compile_command(toolchain, *_options(toolchain.compiler), "unit.cpp"), folder)
    refused: dict[int, CompilerRefusal] = {}
    in_headers = is_complete = True
    user: tuple[str, int, int, int] | None = None
    for line in done.stderr.split("\n"):
        in_headers = in_headers and _IN_UNIT.match(line) is None
        message = parse_message(line)
        if message is None or (message.error is None and not message.is_site_before):
            continue
        place = _PLACE.match(message.file)
        if place is not None:
            user = (place[1], int(place[2]), message.line, message.column)
        if message.error is None:
            continue
        if in_headers:
            # missing declarations of a broken header are not errors of the expressions
            raise CompilerError(f"the headers do not compile: {line}")
        is_complete = is_complete and place is not None
        if user is None:
            continue
        kind, number, row, column = user
        user = None
        if number in by_number:
            offset = _offset(by_number[number].text, row, column) if kind == FORMULA else None
            refused.setdefault(number, CompilerRefusal(by_number[number], message.error, offset))
    if done.status and not refused:
        raise CompilerError(f"the compiler fails: {first_error(done.stderr)}")
    return refused, is_complete


def _offset(text: str, line: int, column: int) -> int | None:
    """Return the offset of a position given by line and byte column, or None outside of the text."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    before = lines[line - 1].encode()[: column - 1].decode(errors="ignore")
    return sum(len(earlier) + 1 for earlier in lines[: line - 1]) + len(before)
