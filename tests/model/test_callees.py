"""Names that are one slip away from known ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from derivlint.model.callees import Callees, is_one_slip

words = st.text(alphabet="ab_", min_size=1, max_size=7)


def edits(word: str) -> set[str]:
    """Every word that one slip makes of a word, over the letters of the test."""
    made = {word[:i] + word[i + 1 :] for i in range(len(word))}
    made |= {word[:i] + letter + word[i:] for i in range(len(word) + 1) for letter in "ab_"}
    made |= {word[:i] + letter + word[i + 1 :] for i in range(len(word)) for letter in "ab_"}
    made |= {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)}
    return made - {word}


@given(words, words)
def test_one_slip_is_one_edit(a: str, b: str) -> None:
    if a != b:
        assert is_one_slip(a, b) == (b in edits(a))


@given(st.lists(words, max_size=6), words)
def test_the_known_name_one_slip_away_is_found(known: list[str], name: str) -> None:
    """A name is found if and only if one of the longer known names is one slip away; a known name is never a slip."""
    meant = Callees(known).meant(name)
    near = sorted(word for word in set(known) if len(word) >= 4 and word in edits(name))
    if name in known or len(name) < 4:
        assert meant is None
    elif near:
        assert meant in near
    else:
        assert meant is None
