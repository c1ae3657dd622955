"""Text records of operators: one line for each name, with its facts and the releases in which they hold.

    logsumexp: complex since 2.5
    linear: complex since 2.12, entry
    _nested_view_from_buffer: may-return-view since 2.3, view since 2.3

A fact without a range holds in all releases of the file; ``since 2.5`` includes 2.5, ``until 2.4`` includes 2.4, and
``2.3 to 2.6`` includes both. A fact that held in two periods is repeated. The first line names the releases,
``releases: 2.1 2.2``; lines that begin with ``#`` are comments.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

RELEASES = "releases"

#: The major and minor number of a release.
Release = tuple[int, int]


class RecordError(ValueError):
    """The text is not a file of records."""


def parse_release(text: str) -> Release:
    """Parse ``2.13`` to its numbers.

    Raises:
        RecordError: the text is not a major and a minor number.
    """
    major, _, minor = text.partition(".")
    try:
        return int(major), int(minor)
    except ValueError as error:
        raise RecordError(f'"{text}" is not a release') from error


def releases_in(text: str) -> tuple[Release, ...]:
    """The releases of a file of records, oldest first.

    Raises:
        RecordError: the text is not a file of records.
    """
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, releases = line.partition(": ")
            if name == RELEASES and releases:
                return tuple(map(parse_release, releases.split()))
            break
    raise RecordError(f'expected a first line "{RELEASES}: ..."')


def read_records(text: str, release: Release) -> dict[str, frozenset[str]]:
    """The names that have each fact in a release.

    Args:
        text: a file of records.
        release: the release.

    Raises:
        RecordError: the text is not a file of records.
    """
    records: dict[str, set[str]] = {}
    holding = {"": True}
    for line in text.splitlines():
        if not line or line[0] == "#":
            continue
        name, _, facts = line.partition(": ")
        if name == RELEASES:
            continue
        for fact in facts.split(", "):
            topic, _, when = fact.partition(" ")
            holds = holding.get(when)
            if holds is None:
                holds = holding[when] = _holds(when, release)
            names = records.setdefault(topic, set())
            if holds:
                names.add(name)
    return {topic: frozenset(names) for topic, names in records.items()}


def _holds(when: str, release: Release) -> bool:
    words = when.split(" ")
    if len(words) == 2 and words[0] == "since":
        return parse_release(words[1]) <= release
    if len(words) == 2 and words[0] == "until":
        return release <= parse_release(words[1])
    if len(words) == 3 and words[1] == "to":
        return parse_release(words[0]) <= release <= parse_release(words[2])
    raise RecordError(f'"{when}" does not say for which releases a fact holds')


def write_records(lists: Mapping[Release, Mapping[str, Collection[str]]], comment: str) -> str:
    """Render the lists of releases as a file of records; deterministic.

    Args:
        lists: the names by fact, for each release.
        comment: a one-line description of the file.
    """
    releases = sorted(lists)
    holding: dict[str, dict[str, list[int]]] = {}
    for position, release in enumerate(releases):
        for topic, names in lists[release].items():
            for name in names:
                holding.setdefault(name, {}).setdefault(topic, []).append(position)
    lines = [f"# {comment}", f"{RELEASES}: {' '.join(map(_shown, releases))}"]
    for name, topics in sorted(holding.items()):
        facts = [
            topic + when for topic, positions in sorted(topics.items()) for when in _ranges(sorted(positions), releases)
        ]
        lines.append(f"{name}: {', '.join(facts)}")
    return "\n".join(lines) + "\n"


def _ranges(positions: Sequence[int], releases: Sequence[Release]) -> list[str]:
    ranges = []
    for _, run in groupby(enumerate(positions), lambda item: item[1] - item[0]):
        members = list(map(itemgetter(1), run))
        first, last = members[0], members[-1]
        if last < len(releases) - 1:
            until = _shown(releases[last])
            ranges.append(f" {_shown(releases[first])} to {until}" if first else f" until {until}")
        else:
            ranges.append(f" since {_shown(releases[first])}" if first else "")
    return ranges


def _shown(release: Release) -> str:
    return f"{release[0]}.{release[1]}"
