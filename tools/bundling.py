"""The bundled files with the facts of all PyTorch releases, built from an index of each release.

The weave holds a row once for all releases that have it, with the range of these releases, in an order that fits every
release.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from derivlint.operators.book import DEFAULT_RELEASE, ENTRIES, GENERATORS, records_at, release_number
from derivlint.operators.history import FORMAT, HISTORY, bundled_versions, history_bytes, read_history
from derivlint.operators.records import Release, write_records
from derivlint.operators.topics import DECOMPOSED, ENTRY, TOPICS
from derivlint.schema.index import available_versions, index_bytes, index_content, index_name, render_index

_GENERATORS = "operators on lists of PyTorch's generators; made by python -m tools.index bundle"
_ENTRIES = "entries of PyTorch's derivatives.yaml; made by python -m tools.index bundle"
#: The keys of an index that are not facts, or are bundled in other files.
_NOT_FACTS = frozenset({"format", "version", "functions", "profiles", "generator_lists"})
#: A row: the position of the first release that has it, of the first later one without it or None, and its content.
_Row = tuple[int, int | None, Any]


class BundleError(Exception):
    """Indexes that cannot be bundled."""


def bundled_files(indexes: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return the bundled files by name; equal indexes give equal files.

    Args:
        indexes: one index for each release as JSON, in any order, with the lists of its generators.

    Raises:
        BundleError: an index lacks a list, its version is not a release, or two indexes are of one release.
    """
    by_release: dict[Release, Mapping[str, Any]] = {}
    for index in indexes:
        version = index["version"]
        release = release_number(version)
        if release is None:
            raise BundleError(f'"{version}" is not a release of PyTorch')
        if release in by_release:
            raise BundleError(f'two indexes of one release: "{by_release[release]["version"]}" and "{version}"')
        lists = index["generator_lists"] or {}
        missing = sorted({*TOPICS, DECOMPOSED} - lists.keys())
        if missing or index["derivatives"] is None:
            raise BundleError(f'the index of PyTorch "{version}" lacks {", ".join(missing) or "derivatives"}')
        by_release[release] = index
    releases = sorted(by_release)
    ordered = [by_release[release] for release in releases]
    files = {
        GENERATORS: write_records(
            {release: by_release[release]["generator_lists"] for release in releases}, _GENERATORS
        ).encode("ascii"),
        ENTRIES: write_records(
            {release: {ENTRY: by_release[release]["derivatives"]} for release in releases}, _ENTRIES
        ).encode("ascii"),
        HISTORY: build_history(ordered),
    }
    default = by_release.get(DEFAULT_RELEASE)
    if default is not None:
        # its lists are among the records
        files[index_name(default["version"])] = render_index({**default, "generator_lists": None})
    return files


def bundled_indexes() -> Iterator[dict[str, Any]]:
    """Yield the indexes from which the bundled files were built, oldest release first."""
    data = history_bytes()
    for version in bundled_versions():
        release = release_number(version)
        assert release is not None, "it is bundled"
        lists = {topic: sorted(names) for topic, names in records_at(GENERATORS, release).items()}
        own = version in available_versions()
        index = index_content(index_bytes(version)) if own else read_history(data, version)
        yield {**index, "generator_lists": lists}


def build_history(indexes: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the compressed file with the operators of all releases; its text is equal for equal indexes.

    Args:
        indexes: the indexes as JSON, oldest first.
    """
    profiles: dict[str, int] = {}
    weave: list[tuple[int, int | None, str]] = []
    for position, index in enumerate(indexes):
        numbers = [profiles.setdefault(_json(profile), len(profiles)) for profile in index["profiles"]]
        rows = [_json([text, numbers[profile], *own]) for text, profile, *own in index["functions"]]
        weave = _woven(weave, rows, position)
    facts: list[_Row] = list(_facts(indexes))
    parts = [
        f'"format":{FORMAT}',
        f'"releases":{_json([index["version"] for index in indexes])}',
        '"profiles":[\n' + ",\n".join(profiles) + "\n]",
        '"functions":[\n' + ",\n".join(f"[{since},{_json(until)},{row}]" for since, until, row in weave) + "\n]",
        '"facts":[\n' + ",\n".join(_json(fact) for fact in facts) + "\n]",
    ]
    return zlib.compress(("{" + ",\n".join(parts) + "}\n").encode("ascii"), 9)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _woven(
    weave: Sequence[tuple[int, int | None, str]], rows: Sequence[str], position: int
) -> list[tuple[int, int | None, str]]:
    """Add a release to the weave.

    Args:
        weave: the rows of the earlier releases.
        rows: the rows of the release, in its order.
        position: the position of the release.
    """
    alive = [index for index, (_, until, _) in enumerate(weave) if until is None]
    before = [weave[index][2] for index in alive]
    woven: list[tuple[int, int | None, str]] = []
    taken = 0
    for kind, first, last, begin, end in SequenceMatcher(None, before, rows, autojunk=False).get_opcodes():
        place = alive[last - 1] + 1 if last else 0
        gone = frozenset() if kind == "equal" else frozenset(alive[first:last])
        for index in range(taken, place):
            since, until, row = weave[index]
            ends = index in gone
            woven.append((since, position if ends else until, row))
        taken = max(taken, place)
        if kind in ("insert", "replace"):
            woven += [(position, None, row) for row in rows[begin:end]]
    return [*woven, *weave[taken:]]


def _facts(indexes: Sequence[Mapping[str, Any]]) -> Iterator[_Row]:
    """Yield each fact with the range of releases that have it."""
    values: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for position, index in enumerate(indexes):
        for path, value in _leaves({name: value for name, value in index.items() if name not in _NOT_FACTS}, ()):
            values.setdefault(path, []).append((position, _json(value)))
    for path, rows in sorted(values.items()):
        for (_, text), run in groupby(enumerate(rows), lambda item: (item[1][0] - item[0], item[1][1])):
            positions = [position for _, (position, _) in run]
            until = positions[-1] + 1
            yield positions[0], until if until < len(indexes) else None, [list(path), json.loads(text)]


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, (*path, name))
    else:
        yield path, value
