"""Compiles expressions, and maps compiler errors to them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from derivlint.compiler.gxx import Compiler, CompilerError, Toolchain, compile_command, first_error, run
from derivlint.compiler.unit import CONSUMER, FORMULA, is_backward, source_of
from derivlint.model.generated.evaluation import Evaluation

#: The maximum number of rounds: a broken template is only reported at its first use, so others show in later rounds.
ROUNDS = 4
_MESSAGE = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): +(?P<text>(?:fatal )?error: .*|required from .*)$"
)
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
    """The option for columns in bytes, the default of clang."""
    return compiler.reading if compiler.is_clang else (*compiler.reading, "-fdiagnostics-column-unit=byte")


def refusals(
    toolchain: Toolchain,
    evaluations: Sequence[Evaluation],
    *,
    includes: Sequence[Path] = (),
    progress: Callable[[str], None] = lambda message: None,
) -> list[CompilerRefusal]:
    """Compile expressions; returns the errors, one for each expression.

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
    """Return the errors, and whether they are complete: other uses of a broken template are not reported."""
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
        match = _MESSAGE.match(line)
        if match is None:
            continue
        place = _PLACE.match(match["file"])
        if place is not None:
            user = (place[1], int(place[2]), int(match["line"]), int(match["column"]))
        if not match["text"].startswith(("error", "fatal")):
            continue
        if in_headers:
            # missing declarations of a broken header are not errors of the expressions
            raise CompilerError(f"the headers do not compile: {line}")
        is_complete = is_complete and place is not None
        if user is None:
            continue
        message = match["text"].partition(": ")[2]
        kind, number, row, column = user
        user = None
        if number in by_number:
            offset = _offset(by_number[number].text, row, column) if kind == FORMULA else None
            refused.setdefault(number, CompilerRefusal(by_number[number], message, offset))
    if done.status and not refused:
        raise CompilerError(f"the compiler fails: {first_error(done.stderr)}")
    return refused, is_complete


def _offset(text: str, line: int, column: int) -> int | None:
    """The offset of a position given by line and byte."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    before = lines[line - 1].encode()[: column - 1].decode(errors="ignore")
    return sum(len(earlier) + 1 for earlier in lines[: line - 1]) + len(before)
