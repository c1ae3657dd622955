"""Which name a misspelt one is taken for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.lint.wording import closest, distance

NAMES = ("cos", "sign", "sin", "sinh", "tan", "tanh")
WORDS = st.text("ABabc_", max_size=8)


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("sihn", "sinh"),
        ("sgin", "sign"),
        ("SINH", "sinh"),
        ("tanhh", "tanh"),
        ("sni", "sin"),
        ("sinn", "sin"),
        ("exponential", None),
    ],
)
def test_a_name_of_the_same_letters_is_preferred(misspelt: str, meant: str | None) -> None:
    assert closest(misspelt, NAMES) == meant


@given(WORDS, st.lists(WORDS))
def test_nothing_nearer_is_left_out(name: str, candidates: list[str]) -> None:
    limit = min(3, max(1, len(name) // 3))
    far = limit + 1
    distances = {each: distance(name.lower(), each.lower(), limit) for each in candidates if each != name}

    found = closest(name, candidates)

    nearest = min(distances.values(), default=far)
    assert nearest == (far if found is None else distances[found])
