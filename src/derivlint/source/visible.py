"""Escape user text for terminals and logs; no other module decides which characters are escaped.

Names, messages and source lines may contain anything. Control codes, characters that reorder or hide text
(bidirectional marks, zero-width characters) and unusual line ends (CR, NEL, U+2028) become Python escapes. So do the
markers of build server commands: GitHub and Azure take ``##[...]`` and ``##vso[...]`` anywhere in a line, TeamCity
``##teamcity[...]``, and GitHub ``::error::`` after leading blanks (``ActionCommand.cs`` of actions/runner,
``Command.cs`` of azure-pipelines-agent).
"""

from __future__ import annotations

import re

#: Invisible characters that Python considers printable: joiners and fillers, not variation selectors.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]")
#: The first ``#`` of an Azure, GitHub (``##[``) or TeamCity command.
_MARK = re.compile(r"#(?=#[\w.-]*\[)")
#: A GitHub command, as opposed to a qualified C++ name such as ``::at::Tensor``.
_COMMAND = re.compile(r"^([ \t]*):(?=:(?!(?:at|c10|std|torch)::))", re.MULTILINE)


def visible(text: str) -> str:
    """Escape a text for use within a line: all invisible characters, line ends and tabs included."""
    return _shown(text, "")


def visible_line(text: str) -> str:
    """Escape a text for use as a whole line, build server commands included."""
    return _COMMAND.sub(r"\1\\x3a", _shown(text, ""))


def visible_page(text: str) -> str:
    """Escape a text of several lines, build server commands included; line ends and tabs stay."""
    return _COMMAND.sub(r"\1\\x3a", _shown(text, "\n\t"))


def _shown(text: str, layout: str) -> str:
    if not text.isprintable():
        text = "".join(char if char.isprintable() or char in layout else escaped(char) for char in text)
    if not text.isascii():
        text = _INVISIBLE.sub(lambda match: escaped(match[0]), text)
    return _MARK.sub(r"\\x23", text) if "##" in text else text


def visible_json(text: str) -> str:
    """Escape invisible characters in JSON text by JSON escapes, which leaves its value unchanged."""
    if not text.isascii() or "\x7f" in text:
        text = "".join(char if char.isprintable() or char in "\n\t\r" else _in_json(char) for char in text)
        text = _INVISIBLE.sub(lambda match: _in_json(match[0]), text)
    return _MARK.sub(r"\\u0023", text) if "##" in text else text


def visible_xml(text: str) -> str:
    """Escape invisible characters in XML text, line ends included, by character references.

    A character that XML 1.0 excludes becomes a Python escape.
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _in_xml(char) for char in text)
    if not text.isascii():
        text = _INVISIBLE.sub(lambda match: _in_xml(match[0]), text)
    text = _COMMAND.sub(r"\1&#58;", text)
    return _MARK.sub("&#35;", text) if "##" in text else text


def escaped(char: str) -> str:
    r"""The Python escape of a character: ``\x1b``, ``\u2028``, ``\udcff``."""
    return char.encode("unicode_escape").decode("ascii")


def _in_xml(char: str) -> str:
    if (char < " " and char not in "\t\n\r") or "\ud800" <= char <= "\udfff" or char in "\ufffe\uffff":
        return escaped(char)
    return f"&#{ord(char)};"


def _in_json(char: str) -> str:
    data = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))
