"""Find the items of a top-level list in a file that is not valid YAML as a whole."""

from __future__ import annotations

import re

from msgspec import Struct

from derivlint.source import Span
from derivlint.yaml_reader.nodes import YamlProblem, YamlProblemKind
from derivlint.yaml_reader.text import token_end

_LINE_START = r"(?:(?<=[\n\r])|(?<![\s\S]))"


class Items(Struct, frozen=True):
    """The boundaries of the items of a top-level list.

    Attributes:
        starts: the offset of each ``- `` at the start of a line.
        end: the end of the list: the end of the text, or a document marker.
        problems: the problems around the items.
    """

    starts: list[int]
    end: int
    problems: list[YamlProblem]


def find_items(text: str, base: int) -> Items | None:
    """The items of a text that is recognizably meant to be a list, or None."""
    item = re.compile(_LINE_START + r"-(?=[ \t\r\n]|\Z)")
    starts = [match.start() for match in item.finditer(text, base)]
    # A lookbehind cannot skip a byte order mark before the first item.
    if (
        text[base : base + 1] == "-"
        and text[base + 1 : base + 2] in ("", " ", "\t", "\r", "\n")
        and starts[:1] != [base]
    ):
        starts.insert(0, base)
    if not starts:
        return None
    problems: list[YamlProblem] = []
    if not _is_prologue(text, base, starts[0], problems):
        return None
    end = len(text)
    marker = re.compile(_LINE_START + r"(?:---|\.\.\.)(?=[ \t\r\n]|\Z)").search(text, starts[0])
    if marker is not None:
        end = marker.start()
        second = re.compile(_LINE_START + r"---(?=[ \t\r\n]|\Z)").search(text, end)
        if second is not None:
            problems.append(several_documents(text, second.start()))
        starts = [start for start in starts if start < end]
    return Items(starts, end, problems)


def several_documents(text: str, start: int) -> YamlProblem:
    """The problem of a second document at ``start``."""
    return YamlProblem(
        YamlProblemKind.SEVERAL_DOCUMENTS,
        "a second YAML document starts here",
        Span(start, token_end(text, start)),
        "keep one document per file",
    )


def _is_prologue(text: str, start: int, end: int, problems: list[YamlProblem]) -> bool:
    """Whether only comments, directives, ``---`` or an item without its blank precede the first item."""
    offset = start
    for line in re.split(r"(?<=[\n\r])", text[start:end]):
        stripped = line.strip()
        if stripped and not stripped.startswith("#") and not re.match(r"---(?:\s+#.*)?$|%YAML\s", stripped):
            # ``-name: abs`` is a key, whose value extends to the next item.
            if not re.match(r"-[^\s-]", line):
                return False
            problems.append(
                YamlProblem(
                    YamlProblemKind.SYNTAX,
                    'a list item needs a blank after its "-"',
                    Span(offset, offset + 1),
                    'write "- " at the start of the item',
                )
            )
            return True
        offset += len(line)
    return True
