"""The shipped names of namespaces are those that a compiler finds there."""

from __future__ import annotations

import random

import pytest

from derivlint.compiler.gxx import find_toolchain
from derivlint.compiler.names import NAMESPACES, names_of
from derivlint.cpp.known_names import load_names

COUNT = 150


@pytest.mark.torch
@pytest.mark.parametrize("namespace", ["at", "c10", "std", "torch::autograd"])
def test_a_sample_of_names_exists_where_it_is_listed(namespace: str) -> None:
    known = load_names()
    dice = random.Random(20261121)
    listed = dice.sample(sorted(known.of(namespace)), min(COUNT, len(known.of(namespace))))
    others = sorted({name for other in NAMESPACES for name in known.of(other)} - known.of(namespace) - known.of("c10"))
    foreign = dice.sample(others, COUNT)
    found, _ = names_of(find_toolchain(), namespace, [*listed, *foreign, "no_such_name_at_all"])
    assert found == listed


def test_every_namespace_is_listed() -> None:
    known = load_names()
    assert all(known.lists(namespace) for namespace in NAMESPACES)
    assert not known.lists("at::indexing")
    assert {"at::native", "at::indexing", "c10::detail", "torch::autograd"} <= known.namespaces
    assert known.has("", "M_PI")
    assert known.has("", "INFINITY")
    assert not known.has("at", "no_such_name_at_all")
