"""The files that derivlint ships of PyTorch's releases, made of the indexes of these releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from derivlint.operators.book import DEFAULT_RELEASE, ENTRIES, GENERATORS, records_at, release_number
from derivlint.operators.history import HISTORY, build_history, bundled_versions, history_bytes, read_history
from derivlint.operators.records import Release, write_records
from derivlint.operators.topics import DECOMPOSED, ENTRY, TOPICS
from derivlint.schema.index import available_versions, index_bytes, index_content, index_name, render_index

_GENERATORS = "what PyTorch's generators say of operators; made by derivlint index bundle"
_ENTRIES = "what PyTorch's derivatives.yaml has entries for; made by derivlint index bundle"


class BundleError(Exception):
    """Indexes that cannot be bundled."""


def bundled_files(indexes: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """The files by their names; equal indexes give equal files.

    Args:
        indexes: one index of each release as JSON, in any order, with the lists of its generators.

    Raises:
        BundleError: an index lacks a list, or is not of a release, or two are of the same one.
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
    """The indexes that the shipped files were made of, with the lists of the generators, oldest first."""
    data = history_bytes()
    for version in bundled_versions():
        release = release_number(version)
        assert release is not None, "it is bundled"
        lists = {topic: sorted(names) for topic, names in records_at(GENERATORS, release).items()}
        own = version in available_versions()
        index = index_content(index_bytes(version)) if own else read_history(data, version)
        yield {**index, "generator_lists": lists}
