"""Records of operators, with the releases that their facts hold for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.operators.records import (
    RecordError,
    Release,
    parse_release,
    read_records,
    releases_in,
    write_records,
)

RELEASES: tuple[Release, ...] = ((2, 1), (2, 2), (2, 9), (2, 10), (3, 0))
NAMES = st.sampled_from(["add", "add_", "_foreach_add.Scalar", "__and__", "linalg_lu"])
TOPICS = st.sampled_from(["complex", "view", "no-derivative"])
LISTS = st.dictionaries(TOPICS, st.sets(NAMES, min_size=1), min_size=1)


def test_what_is_written() -> None:
    lists = {
        (2, 1): {"complex": ["add", "old", "twice", "inner"], "view": ["t"]},
        (2, 2): {"complex": ["add", "old", "new"], "view": ["t", "add"]},
        (2, 9): {"complex": ["add", "new", "inner"], "view": ["t"]},
        (2, 10): {"complex": ["add", "new", "twice"], "view": ["t"]},
    }
    assert (
        write_records(lists, "what it is")
        == """\
# what it is
releases: 2.1 2.2 2.9 2.10
add: complex, view 2.2 to 2.2
inner: complex until 2.1, complex 2.9 to 2.9
new: complex since 2.2
old: complex until 2.2
t: view
twice: complex until 2.1, complex since 2.10
"""
    )


@given(st.dictionaries(st.sampled_from(RELEASES), LISTS, min_size=1))
def test_what_is_written_is_read_again(lists: dict[Release, dict[str, set[str]]]) -> None:
    text = write_records(lists, "comment")
    assert releases_in(text) == tuple(sorted(lists))
    assert write_records(lists, "comment") == text
    for release, expected in lists.items():
        found = read_records(text, release)
        assert {topic: set(names) for topic, names in found.items() if names} == expected


def test_releases_between_and_after_have_the_facts_of_open_ends() -> None:
    text = "releases: 2.1 2.4 2.6\na: complex since 2.4\nb: complex until 2.4\n"
    assert read_records(text, (2, 5))["complex"] == {"a"}
    assert read_records(text, (2, 7))["complex"] == {"a"}
    assert read_records(text, (2, 0))["complex"] == {"b"}


@pytest.mark.parametrize("when", ["since", "since 2", "since x.y", "from 2.1", "2.1 to", "2.1 until 2.2", "2.1"])
def test_what_says_nothing_of_releases_is_refused(when: str) -> None:
    with pytest.raises(RecordError):
        read_records(f"releases: 2.1\na: complex {when}\n", (2, 1))


@pytest.mark.parametrize("text", ["", "a: complex\n", "# only a comment\n", "releases\n", "releases: two\n"])
def test_a_file_without_releases_is_refused(text: str) -> None:
    with pytest.raises(RecordError):
        releases_in(text)


def test_releases_are_numbers() -> None:
    assert parse_release("2.10") > parse_release("2.9")
