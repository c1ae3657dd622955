"""The versions for which an entry of a back end's file holds, or an operator is declared there.

Follows torch_npu's op_plugin, ``codegen/utils.py``: the word of the file's list means all versions, a list of two is a
range with both ends, whose end may be ``newest``, and a text names versions one by one.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from derivlint.yaml_reader import Mapping, Scalar, Sequence, YamlNode

NEWEST = "newest"
#: The key with the names of all versions, and what stands for all of them.
ALL_VERSIONS = "all_version"


class VersionProblemKind(Enum):
    """The kind of a problem with versions."""

    #: there is no such version
    UNKNOWN = "unknown"
    #: a range that ends before it begins
    REVERSED = "reversed"
    #: neither a range nor a text
    SHAPE = "shape"
    #: the list of all versions is missing, or is not a list of texts
    LIST = "list"


class VersionProblem(Struct, frozen=True):
    """A problem with versions.

    Attributes:
        kind: what is wrong.
        node: what is wrong.
        name: the word that is wrong.
    """

    kind: VersionProblemKind
    node: YamlNode
    name: str | None = None


class FileVersions(Struct, frozen=True):
    """The versions that a file serves.

    Attributes:
        word: the top-level key, and what an entry says for "all of them".
        names: the versions, oldest first; empty if they are not known.
        problem: what is wrong with the list.
    """

    word: str
    names: tuple[str, ...]
    problem: VersionProblem | None = None


class EntryVersions(Struct, frozen=True):
    """The versions for which an entry holds; all of the file's where it names none or they cannot be understood.

    Attributes:
        names: the versions, oldest first.
        problems: what cannot be understood.
    """

    names: tuple[str, ...]
    problems: tuple[VersionProblem, ...] = ()


def file_versions(root: YamlNode | None, word: str | None) -> FileVersions | None:
    """The versions that a file serves, None for a file without versions.

    Args:
        root: the file.
        word: the top-level key with their names; None if files of its kind have no versions.
    """
    if word is None or not isinstance(root, Mapping):
        return None
    node = root.get(word)
    if node is None:
        return FileVersions(word, (), VersionProblem(VersionProblemKind.LIST, root))
    names = _texts(node)
    if not names:
        return FileVersions(word, (), VersionProblem(VersionProblemKind.LIST, node))
    return FileVersions(word, tuple(names))


def entry_versions(node: YamlNode | None, file_versions: FileVersions) -> EntryVersions:
    """The versions for which an entry holds.

    Args:
        node: the value of its key for versions, None if it has none.
        file_versions: those of the file.
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
    """The texts of a list; empty if something else is among them."""
    items = node.items if isinstance(node, Sequence) else ()
    texts = [item.value for item in items if isinstance(item, Scalar)]
    return texts if len(texts) == len(items) else []


def spelled(names: tuple[str, ...], all_names: tuple[str, ...]) -> str:
    """Versions in prose: ``v2.1``, or ``v2.1 to v2.5`` where they follow each other, else all of them."""
    if len(names) == 1:
        return names[0]
    start = all_names.index(names[0])
    if all_names[start : start + len(names)] == names:
        return f"{names[0]} to {names[-1]}"
    return ", ".join(names)
