"""The versions to which an entry or operator in a back end's file applies.

Follows torch_npu's op_plugin, ``codegen/utils.py``: the key of the version list denotes all versions, a list of two is
an inclusive range, whose end may be ``newest``, and a string lists versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

from msgspec import Struct

from derivlint.yaml_reader import Mapping, Scalar, Sequence, YamlNode

NEWEST = "newest"
#: The key of the list of all versions; as a value it denotes all of them.
ALL_VERSIONS = "all_version"
#: The key of an entry's versions.
VERSION = "version"

_VERSION = re.compile(r"v?\d+(?:\.\d+)*")
_NUMBER = re.compile(r"\d+")


class VersionProblemKind(Enum):
    """The kinds of problems with versions."""

    #: an unknown version
    UNKNOWN = "unknown"
    #: a range whose end precedes its start
    REVERSED = "reversed"
    #: neither a range nor a string
    SHAPE = "shape"
    #: the list of all versions is missing, or not a list of strings
    LIST = "list"


class VersionProblem(Struct, frozen=True):
    """A problem with versions.

    Attributes:
        kind: the kind of problem.
        node: the erroneous YAML node.
        name: the erroneous word.
    """

    kind: VersionProblemKind
    node: YamlNode
    name: str | None = None


class FileVersions(Struct, frozen=True):
    """The versions of a file.

    Attributes:
        word: the top-level key, which denotes all versions in entries.
        names: the versions, oldest first; empty if unknown.
        problem: the error in the list, if any.
    """

    word: str
    names: tuple[str, ...]
    problem: VersionProblem | None = None


class EntryVersions(Struct, frozen=True):
    """The versions to which an entry applies: all if it names none or they are malformed.

    Attributes:
        names: the versions, oldest first.
        problems: the malformed parts.
    """

    names: tuple[str, ...]
    problems: tuple[VersionProblem, ...] = ()


def file_versions(root: YamlNode | None, word: str | None, key: str | None = None) -> FileVersions | None:
    """The versions of a file, or None for a file without versions.

    Args:
        root: the root of the file.
        word: the top-level key of the version list, or None if such files have no versions.
        key: the key of versions in entries; in a plain list without a version list, the entries' versions are all
            versions.
    """
    if word is not None and key is not None and isinstance(root, Sequence):
        return FileVersions(word, named_versions(root.items, key))
    if word is None or not isinstance(root, Mapping):
        return None
    node = root.get(word)
    if node is None:
        return FileVersions(word, (), VersionProblem(VersionProblemKind.LIST, root))
    names = _texts(node)
    if not names:
        return FileVersions(word, (), VersionProblem(VersionProblemKind.LIST, node))
    return FileVersions(word, tuple(names))


def named_versions(items: Iterable[YamlNode], key: str) -> tuple[str, ...]:
    """The versions that entries name under a key, oldest first."""
    values = [item.get(key) for item in items if isinstance(item, Mapping)]
    texts = [text for value in values if value is not None for text in (_texts(value) or [getattr(value, "value", "")])]
    words = {word.strip() for text in texts for word in text.split(",")}
    return tuple(sorted(filter(_VERSION.fullmatch, words), key=lambda word: [int(n) for n in _NUMBER.findall(word)]))


def entry_versions(node: YamlNode | None, file_versions: FileVersions) -> EntryVersions:
    """The versions to which an entry applies.

    Args:
        node: the value of its version key, or None.
        file_versions: the versions of the file.
    """
    if node is None or not file_versions.names:
        return EntryVersions(file_versions.names)
    if isinstance(node, Scalar) and node.value:
        return _named(node, file_versions)
    if isinstance(node, Sequence) and len(node.items) == 2:
        return _ranged(node.items[0], node.items[1], file_versions)
    return EntryVersions(file_versions.names, (VersionProblem(VersionProblemKind.SHAPE, node),))


def _named(node: Scalar, file_versions: FileVersions) -> EntryVersions:
    words = [word.strip() for word in node.value.split(",")]
    if words == [file_versions.word]:
        return EntryVersions(file_versions.names)
    selected = {file_versions.names[-1] if word == NEWEST else word for word in words}
    problems = tuple(
        VersionProblem(VersionProblemKind.UNKNOWN, node, word) for word in words if _place(word, file_versions) is None
    )
    names = tuple(name for name in file_versions.names if name in selected)
    return EntryVersions(names if names or not problems else file_versions.names, problems)


def _ranged(first: YamlNode, last: YamlNode, file_versions: FileVersions) -> EntryVersions:
    problems = []
    places = []
    for node in (first, last):
        word = node.value if isinstance(node, Scalar) else ""
        place = _place(word, file_versions)
        if place is None:
            problems.append(
                VersionProblem(VersionProblemKind.UNKNOWN if word else VersionProblemKind.SHAPE, node, word or None)
            )
        else:
            places.append(place)
    if problems:
        return EntryVersions(file_versions.names, tuple(problems))
    start, end = places
    if start > end:
        return EntryVersions(file_versions.names, (VersionProblem(VersionProblemKind.REVERSED, last),))
    return EntryVersions(file_versions.names[start : end + 1])


def _place(word: str, file_versions: FileVersions) -> int | None:
    if word == NEWEST:
        return len(file_versions.names) - 1
    return file_versions.names.index(word) if word in file_versions.names else None


def _texts(node: YamlNode) -> list[str]:
    """The strings of a list; empty if it has other items."""
    items = node.items if isinstance(node, Sequence) else ()
    texts = [item.value for item in items if isinstance(item, Scalar)]
    return texts if len(texts) == len(items) else []


def spelled(names: tuple[str, ...], all_names: tuple[str, ...]) -> str:
    """Format versions for messages: ``v2.1``, or ``v2.1 to v2.5`` if consecutive, else a list."""
    if len(names) == 1:
        return names[0]
    start = all_names.index(names[0])
    if all_names[start : start + len(names)] == names:
        return f"{names[0]} to {names[-1]}"
    return ", ".join(names)
