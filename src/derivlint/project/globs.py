"""Patterns of paths in a configuration: ``*`` stays within a folder, ``**`` does not."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from derivlint.source.records import dataclass


@dataclass(frozen=True, slots=True)
class PathGlob:
    """A pattern, and the folder that it is relative to.

    Attributes:
        pattern: the pattern. One without a slash matches a file or a folder of that name anywhere; others match from
            the folder on. What matches a folder matches everything in it.
        folder: the folder of the configuration.
    """

    pattern: str
    folder: Path

    def matches(self, path: Path) -> bool:
        """Whether an absolute path matches."""
        pattern = self.pattern.removeprefix("./").rstrip("/")
        relative = path.relative_to(self.folder) if path.is_relative_to(self.folder) else path
        if "/" not in pattern:
            return any(_compiled(pattern).fullmatch(part) for part in relative.parts)
        subject = path if pattern.startswith("/") else relative
        return any(_compiled(pattern).fullmatch(part.as_posix()) for part in (subject, *subject.parents))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            parts.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(".*")
            at += 2
        else:
            char = pattern[at]
            end = pattern.find("]", at + 2) if char == "[" else -1
            if end > 0:
                chars = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
                parts.append(f"[^/{chars[1:]}]" if chars.startswith("!") else f"[{chars}]")
                at = end
            else:
                parts.append({"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)))
            at += 1
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error:
        # a range such as [z-a]: taken literally, as shells do
        return re.compile(re.escape(pattern))
