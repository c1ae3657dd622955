"""Source map from emitted files to formulas: a separate file, or ``#line`` directives on request.

Emitted code has no line numbers of the YAML, so a comment at the top does not change it. ``derivlint.map.json`` has the
positions of all formulas instead; a formula is on one line of the code. Its rows count from the row before and from the
entry, so that an edit of a formula changes the rows of that formula, and a line inserted above it the one line with the
beginnings of entries:

    {"format": 1, "source": "derivatives.yaml",
     "entries": {"abs": 2, "mul.Tensor": 9},
     "files": {"nodes_0.cpp": [
       ["abs", 31, [[20, 4, 1, 9, 4], [27, 10, 1, 16, 11]]],
       ["mul.Tensor", 45, [[20, 12, 1, 9, 12]]]]}}

A row has the entry, the lines since the previous row, and ranges of characters. A range has its column and its length,
then the line in the YAML from that of the entry, the column there and the length there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path, PurePath
from typing import NamedTuple

from msgspec import DecodeError, Struct
from msgspec import json as fast_json

from derivlint.emit.template import quoted, yaml_name
from derivlint.model import Entry, Model
from derivlint.model.entry import DerivativeFormula, Expression
from derivlint.source import Span, read_input

#: The file name of the map, next to the manifest.
MAP = "derivlint.map.json"
FORMAT = 1
#: Larger files are not maps; that of all operators has half a megabyte.
MAX_BYTES = 64 * 1024 * 1024
#: A formula in the text of an unfinished file, after the offset of its scalar; C++ never has these characters.
_MARKED = re.compile(r"\x01(\d+)\x02([^\x01-\x03]*)\x03")
_TOKEN = re.compile(r"\w+|[^\w\s]")

Token = re.Match[str]


class Range(NamedTuple):
    """A range of a line of an emitted file and of the YAML, whose lines are relative to the entry."""

    column: int
    length: int
    yaml_line: int
    yaml_column: int
    yaml_length: int


#: A row of the map: an entry, the lines since the previous row, and ranges.
Row = tuple[str, int, list[Range]]


class PlaceMap(Struct, frozen=True):
    """The source map of emitted files.

    Attributes:
        format: the form of the map.
        source: the name of the YAML file.
        entries: the first line of each entry.
        files: rows for each emitted file.
    """

    format: int
    source: str
    entries: Mapping[str, int]
    files: Mapping[str, list[Row]]

    def to_json(self) -> str:
        """The text of the map; one row a line, all entries on one."""
        files = ",\n".join(
            f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in rows) + "]"
            for name, rows in self.files.items()
        )
        head = f'"format": {self.format}, "source": {json.dumps(self.source)},\n"entries": {json.dumps(self.entries)}'
        return f'{{{head},\n"files": {{{files}}}}}\n'

    def position(self, file: str, line: int, column: int) -> str | None:
        """Map a position in an emitted file to ``source:line:column`` in the YAML, or to None outside of formulas."""
        row = 1
        for entry, distance, ranges in self.files.get(PurePath(file).name, ()):
            row += distance
            for item in ranges if row == line else ():
                within = column - item.column
                if 0 <= within < item.length:
                    is_equal = item.length == item.yaml_length
                    yaml_column = item.yaml_column + (within if is_equal else 0)
                    return f"{self.source}:{self.entries[entry] + item.yaml_line}:{yaml_column}"
        return None


def read_map(folder: Path) -> PlaceMap | None:
    """Read the map of an emitted folder, or return None if it is missing or unreadable."""
    try:
        places = fast_json.decode(read_input(folder / MAP, MAX_BYTES), type=PlaceMap)
    except (OSError, DecodeError, RecursionError):
        return None
    return places if places.format == FORMAT else None


def marked(expression: str, start: int | None) -> str:
    """Mark an expression of the YAML in the text of an unfinished file, on one line.

    Args:
        expression: the C++.
        start: the offset of its scalar in the YAML, or None if it is not from there.
    """
    if any(mark in expression for mark in ("\x01", "\x02", "\x03", "//")):
        # not code: torchgen rejects formulas with comments
        return expression
    expression = " ".join(filter(None, map(str.strip, expression.split("\n"))))
    if start is None:
        return expression
    return f"\x01{start}\x02{expression}\x03"


def without_marks(text: str) -> str:
    """Remove the marks from a part of an unfinished file."""
    return _MARKED.sub(r"\2", text)


def listing(text: str, file: str, line: int | None) -> str:
    """A part of a file for display, with the line of its entry in the YAML."""
    text = without_marks(text)
    return text if line is None else text.replace(f"// {file}: ", f"// {file}:{line}: ", 1)


class Places:
    """Finishes the files of an emission, and collects the positions of their formulas."""

    def __init__(self, model: Model, *, line_directives: bool) -> None:
        self._model = model
        self._line_directives = line_directives
        self._source = yaml_name(model.source.path)
        self._formulas: dict[int, DerivativeFormula | Expression] = {}
        self._names: dict[int, str] = {}
        self._entries: dict[str, int] = {}
        self._rows: dict[str, list[Row]] = {}
        for entry in model.entries:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        name = base = entry.operator or ""
        count = 1
        while name in self._entries:
            count += 1
            name = f"{base}#{count}"
        self._entries[name] = self._model.source.position(entry.span.start).line
        self._names[entry.index] = name
        for expression in entry.expressions:
            self._formulas[expression.span.start] = expression
        for formula in entry.formulas:
            self._formulas[formula.value_span.start] = formula

    def finish(self, files: Mapping[str, str]) -> dict[str, str]:
        """Remove the marks from the files, and add the map unless they get line directives."""
        if self._line_directives:
            return {name: self._with_directives(name, text) for name, text in files.items()}
        finished = {name: self._without_marks(name, text) for name, text in files.items()}
        return {**finished, MAP: PlaceMap(FORMAT, self._source, self._entries, self._rows).to_json()}

    def _without_marks(self, name: str, text: str) -> str:
        parts: list[str] = []
        rows: list[Row] = []
        end = 0
        line = before = 1
        for match in _MARKED.finditer(text):
            parts.append(text[end : match.start()])
            line += parts[-1].count("\n")
            line_start = text.rfind("\n", 0, match.start()) + 1
            column = len(without_marks(text[line_start : match.start()])) + 1
            formula = self._formulas.get(int(match[1]))
            if formula is not None:
                ranges = list(self._ranges(formula, match[2], column))
                rows.append((self._names[formula.entry.index], line - before, ranges))
                before = line
            parts.append(match[2])
            end = match.end()
        if rows:
            self._rows[name] = rows
        parts.append(text[end:])
        return "".join(parts)

    def _ranges(self, formula: DerivativeFormula | Expression, emitted: str, column: int) -> Iterator[Range]:
        """The ranges of a formula's tokens; contiguous ones are merged."""
        written = formula.scalar.value if isinstance(formula, Expression) else formula.text or ""
        first = self._entries[self._names[formula.entry.index]]
        last: Range | None = None
        for token, (start, stop) in _aligned(emitted, written):
            place = formula.range(start, stop)
            yaml_line, yaml_column = self._model.source.position(place.start)
            item = Range(
                column + token.start,
                token.end - token.start,
                yaml_line - first,
                yaml_column,
                place.end - place.start,
            )
            if last is not None and (joined := _joined(last, item)) is not None:
                last = joined
                continue
            if last is not None:
                yield last
            last = item
        if last is not None:
            yield last

    def _with_directives(self, name: str, text: str) -> str:
        """Put formulas on their own lines, with ``#line`` directives to the YAML."""
        done = ""
        end = 0
        for match in _MARKED.finditer(text):
            done += text[end : match.start()].rstrip(" ")
            line_start = text.rfind("\n", 0, match.start()) + 1
            before = text[line_start : match.start()]
            space = before[: len(before) - len(before.lstrip(" \t"))]
            line = self._model.source.position(int(match[1])).line
            done += f"\n#line {line} {quoted(self._source)}\n{space}{match[2]}\n"
            done += f"#line {done.count(chr(10)) + 2} {quoted(name)}\n{space}"
            end = match.end()
        return done + text[end:]


def _joined(one: Range, next_: Range) -> Range | None:
    """Merge two ranges if they are adjacent in both texts, with equal characters in between."""
    gap = next_.column - one.column - one.length
    is_exact = one.length == one.yaml_length and next_.length == next_.yaml_length
    if not (
        is_exact and one.yaml_line == next_.yaml_line and gap == next_.yaml_column - one.yaml_column - one.yaml_length
    ):
        return None
    length = one.length + gap + next_.length
    return one._replace(length=length, yaml_length=length)


def _aligned(emitted: str, written: str) -> Iterator[tuple[Span, Span]]:
    """Align the tokens of an emitted expression with ranges of the written one."""
    tokens, written_tokens = list(_TOKEN.finditer(emitted)), list(_TOKEN.finditer(written))
    for token, (first, last) in _aligned_tokens(tokens, written_tokens):
        yield Span(*token.span()), Span(first.start(), last.end())


def _aligned_tokens(tokens: Sequence[Token], written: Sequence[Token]) -> Iterator[tuple[Token, tuple[Token, Token]]]:
    """Align emitted tokens with the first and last token of their source; added tokens are skipped."""
    texts, written_texts = [token[0] for token in tokens], [token[0] for token in written]
    if texts == written_texts:
        yield from zip(tokens, zip(written, written, strict=True), strict=True)
        return
    matcher = SequenceMatcher(None, texts, written_texts, autojunk=False)
    for kind, start, end, written_start, written_end in matcher.get_opcodes():
        if kind == "equal":
            pairs = [(token, token) for token in written[written_start:written_end]]
            yield from zip(tokens[start:end], pairs, strict=True)
        elif kind == "replace":
            whole = (written[written_start], written[written_end - 1])
            yield from ((token, whole) for token in tokens[start:end])
        elif len(written) <= end - start < len(tokens):
            # an in-place kernel has some formulas twice
            yield from _aligned_tokens(tokens[start:end], written)
