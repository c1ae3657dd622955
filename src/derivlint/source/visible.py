"""Escaping of the user's text for terminals and logs; no other module decides which characters are escaped.

A name, a message or a source line may hold anything. What steers a terminal (control codes), reorders or hides text
(bidirectional marks, zero-width characters) or ends a line where no line ends (CR, NEL, U+2028) is shown as a Python
escape. So are the marks by which build servers know commands in a log: GitHub and Azure take ``##[...]`` and
``##vso[...]`` anywhere in a line, TeamCity ``##teamcity[...]``, and GitHub ``::error::`` after leading blanks
(``ActionCommand.cs`` of actions/runner, ``Command.cs`` of azure-pipelines-agent).
"""

from __future__ import annotations

import re

#: Characters that draw nothing although Python calls them printable: joiners and fillers, not variation selectors.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]")
#: The first ``#`` of a command of Azure, GitHub (``##[``) or TeamCity.
_MARK = re.compile(r"#(?=#[\w.-]*\[)")
#: A command of GitHub, which C++ that begins with a qualified name of a well-known namespace is not.
_COMMAND = re.compile(r"^([ \t]*):(?=:(?!(?:at|c10|std|torch)::))", re.MULTILINE)


def visible(text: str) -> str:
    """A text as a part of a line: everything that is not plainly visible is escaped, line ends and tabs too."""
    return _shown(text, "")


def visible_line(text: str) -> str:
    """A text as a whole line, which is not a command for a build server either."""
    return _COMMAND.sub(r"\1\\x3a", _shown(text, ""))


def visible_page(text: str) -> str:
    """A text of several lines whose line ends and tabs are layout; every line is made visible."""
    return _COMMAND.sub(r"\1\\x3a", _shown(text, "\n\t"))


def _shown(text: str, layout: str) -> str:
    if not text.isprintable():
        text = "".join(char if char.isprintable() or char in layout else escaped(char) for char in text)
    if not text.isascii():
        text = _INVISIBLE.sub(lambda match: escaped(match[0]), text)
    return _MARK.sub(r"\\x23", text) if "##" in text else text


def visible_json(text: str) -> str:
    """JSON text that says the same and shows everything: what is not visible in its strings is an escape."""
    if not text.isascii() or "\x7f" in text:
        text = "".join(char if char.isprintable() or char in "\n\t\r" else _in_json(char) for char in text)
        text = _INVISIBLE.sub(lambda match: _in_json(match[0]), text)
    return _MARK.sub(r"\\u0023", text) if "##" in text else text


def visible_xml(text: str) -> str:
    """XML text that says the same and shows everything: what is not visible is a reference, line ends too.

    A character that XML 1.0 does not have is escaped as in other text.
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _in_xml(char) for char in text)
    if not text.isascii():
        text = _INVISIBLE.sub(lambda match: _in_xml(match[0]), text)
    text = _COMMAND.sub(r"\1&#58;", text)
    return _MARK.sub("&#35;", text) if "##" in text else text


def escaped(char: str) -> str:
    r"""A character as Python's escape for it: ``\x1b``, ``\u2028``, ``\udcff``."""
    return char.encode("unicode_escape").decode("ascii")


def _in_xml(char: str) -> str:
    if (char < " " and char not in "\t\n\r") or "\ud800" <= char <= "\udfff" or char in "\ufffe\uffff":
        return escaped(char)
    return f"&#{ord(char)};"


def _in_json(char: str) -> str:
    data = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))
