"""The shipped names of namespaces are those that a compiler finds there."""

from __future__ import annotations

import pytest

from derivlint.compiler.gxx import find_toolchain
from derivlint.cpp.known_names import load_names
from tests.sampling import sample
from tools.namespaces import NAMESPACES, names_of


@pytest.mark.torch
@pytest.mark.usefixtures("precompiled_headers")
def test_names_exist_where_they_are_listed_and_nowhere_else() -> None:
    known = load_names()
    words = sorted({name for namespace in NAMESPACES for name in known.of(namespace)})
    asked, listed = [], []
    declared: set[str] = set()
    for seed, namespace in enumerate(("at", "c10", "std", "torch::autograd")):
        # a word can be declared once: names that it has elsewhere, too, are asked about there
        own = known.of(namespace) - declared
        declared |= own
        foreign = set(words) - known.of(namespace) - known.of("c10")
        right = [f"{namespace}::{name}" for name in sample(sorted(own), 150, seed=seed)]
        wrong = [f"{namespace}::{name}" for name in (*sample(sorted(foreign), 150, seed=seed), "no_such_name_at_all")]
        listed += right
        asked += [*right, *wrong]
    assert names_of(find_toolchain(), "", asked)[0] == listed


def test_every_namespace_is_listed() -> None:
    known = load_names()
    assert all(known.lists(namespace) for namespace in NAMESPACES)
    assert not known.lists("at::indexing")
    assert {"at::native", "at::indexing", "c10::detail", "torch::autograd"} <= known.namespaces
    assert known.has("", "M_PI")
    assert known.has("", "INFINITY")
    assert not known.has("at", "no_such_name_at_all")
