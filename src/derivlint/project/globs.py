"""Path patterns of a configuration: ``*`` matches within a folder, ``**`` across folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import has_magic
from pathlib import Path

from msgspec import Struct

#: The pattern for any number of folders.
_FOLDERS = "**"


class PathGlob(Struct, frozen=True):
    """A pattern, and the folder that it is relative to.

    Attributes:
        pattern: the pattern. One without a slash matches files and folders with that name anywhere; others match
            relative to the folder. A pattern that matches a folder matches everything in it.
        folder: the folder of the configuration.
    """

    pattern: str
    folder: Path

    def matches(self, path: Path) -> bool:
        """Whether an absolute path matches."""
        pattern = self.pattern.removeprefix("./").rstrip("/")
        relative = path.relative_to(self.folder) if path.is_relative_to(self.folder) else path
        if "/" not in pattern:
            return any(_fits(_tokens(pattern), part) for part in relative.parts)
        subject = path if pattern.startswith("/") else relative
        return _fits(_tokens(pattern), subject.as_posix(), folders=True)


#: A part of a pattern: the predicate of accepted characters, and whether any number of them matches. None matches
#: nothing, and may be skipped together with the next two parts.
_Token = tuple[Callable[[str], bool], bool] | None


def _fits(tokens: Sequence[_Token], text: str, *, folders: bool = False) -> bool:
    """Whether a pattern matches a text, or with ``folders`` one of its parent folders.

    Simulates all matches in parallel, so the time is at most proportional to the product of both lengths; backtracking
    is exponential for patterns such as ``*a*a*a*a``. pathspec 1.1, which uses regular expressions, takes 5 minutes for
    six stars and a name of 120 letters.
    """
    states = _reached(tokens, {0})
    for index, char in enumerate(text):
        if folders and char == "/" and index and len(tokens) in states:
            return True
        following = set()
        for state in states:
            token = tokens[state] if state < len(tokens) else None
            if token is not None and token[0](char):
                following.add(state if token[1] else state + 1)
        states = _reached(tokens, following)
    return len(tokens) in states


def _reached(tokens: Sequence[_Token], states: set[int]) -> set[int]:
    """Add the states that are reached without consuming a character."""
    reached: set[int] = set()
    todo = list(states)
    while todo:
        state = todo.pop()
        if state in reached:
            continue
        reached.add(state)
        if state < len(tokens):
            token = tokens[state]
            if token is None:
                todo += [state + 1, state + 3]
            elif token[1]:
                todo.append(state + 1)
    return reached


@lru_cache(maxsize=256)
def _tokens(pattern: str) -> tuple[_Token, ...]:
    tokens: list[_Token] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            tokens += [None, (_anything, True), ("/".__eq__, False)]
            at += 3
        elif pattern.startswith("**", at):
            tokens.append((_anything, True))
            at += 2
        elif char in "*?":
            tokens.append(("/".__ne__, char == "*"))
            at += 1
        else:
            end = pattern.find("]", at + 2) if char == "[" else -1
            if end > 0:
                chosen = _class(pattern[at + 1 : end])
                if chosen is None:
                    # an inverted range such as [z-a] is taken literally, as in shells
                    return tuple((item.__eq__, False) for item in pattern)
                tokens.append((chosen, False))
                at = end + 1
            else:
                tokens.append((char.__eq__, False))
                at += 1
    return tuple(tokens)


def _anything(char: str) -> bool:
    return True


def _class(chars: str) -> Callable[[str], bool] | None:
    """Return the predicate of ``[chars]``, or None for an inverted range."""
    positive = not chars.startswith("!")
    chars = chars if positive else chars[1:]
    ranges: list[tuple[str, str]] = []
    at = 0
    while at < len(chars):
        if chars[at + 1 : at + 2] == "-" and at + 2 < len(chars):
            ranges.append((chars[at], chars[at + 2]))
            at += 3
        else:
            ranges.append((chars[at], chars[at]))
            at += 1
    if any(first > last for first, last in ranges):
        return None
    return lambda char: any(first <= char <= last for first, last in ranges) is positive and (positive or char != "/")


def expanded(pattern: str) -> list[str]:
    """Return the paths that a pattern matches, sorted, as by Python's ``glob``.

    Unlike there, ``**`` does not follow links to folders, which may be cyclic.
    """
    anchor, rest = os.path.splitdrive(pattern)
    parts = rest.split("/") if os.sep == "/" else rest.replace(os.sep, "/").split("/")
    if parts[0] == "":
        anchor += os.sep
    paths = sorted(_expanded(anchor, tuple(part for part in parts if part), set()))
    return paths if parts[-1] else [path for path in paths if os.path.isdir(path)]


def _expanded(folder: str, parts: tuple[str, ...], seen: set[tuple[str, int]]) -> Iterator[str]:
    if (folder, len(parts)) in seen:
        return
    seen.add((folder, len(parts)))
    if not parts:
        if os.path.lexists(folder):
            yield folder
        return
    part, rest = parts[0], parts[1:]
    if part == _FOLDERS:
        if rest or folder:
            yield from _expanded(folder, rest, seen)
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                yield from _expanded(os.path.join(folder, entry.name), parts, seen)
            elif not rest:
                yield os.path.join(folder, entry.name)
    elif has_magic(part):
        for entry in _entries(folder, hidden=part.startswith(".")):
            if fnmatchcase(os.path.normcase(entry.name), os.path.normcase(part)):
                yield from _expanded(os.path.join(folder, entry.name), rest, seen)
    else:
        yield from _expanded(os.path.join(folder, part), rest, seen)


def _entries(folder: str, hidden: bool = False) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder or os.curdir) as entries:
            return [entry for entry in entries if hidden or not entry.name.startswith(".")]
    except (OSError, ValueError):
        return []
