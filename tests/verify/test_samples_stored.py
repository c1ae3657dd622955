"""Recorded inputs in a file: what is read is what was written, for each operator alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.verify.inputs.samples import bound_arguments, storable
from derivlint.verify.inputs.stored import StoredInputs, write_inputs
from tests.sampling import examples

SHAPES = st.lists(st.integers(0, 3), max_size=3)
DTYPES = st.sampled_from([torch.float64, torch.complex128, torch.int64, torch.bool, torch.float32])


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """Dense tensors whose axes are in any order in memory."""
    shape = draw(SHAPES)
    made = (torch.arange(torch.Size(shape).numel()) % 2).reshape(shape).to(draw(DTYPES))
    return made.permute(draw(st.permutations(range(len(shape)))))


VALUES = st.one_of(
    tensors(),
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(0, 1),
    st.just(torch.channels_last),
    st.just("sum"),
)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same, tensors with their strides."""
    if isinstance(one, torch.Tensor):
        strides = one.numel() < 2 or [a for a, n in zip(one.stride(), one.shape, strict=True) if n > 1] == [
            a for a, n in zip(other.stride(), other.shape, strict=True) if n > 1
        ]
        return one.dtype == other.dtype and torch.equal(one, other) and strides
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.dictionaries(st.sampled_from(["add.Tensor", "mul", "cat"]), st.lists(st.lists(VALUES, max_size=3), max_size=2))
)
def test_what_is_written_is_read(tmp_path_factory: Any, found: dict[str, list[list[Any]]]) -> None:
    """Values, types, shapes and orders of axes come back, and no other operator is there."""
    path = tmp_path_factory.mktemp("stored") / "inputs.bin"
    write_inputs(path, found)
    stored = StoredInputs(path)
    assert list(stored) == list(found)
    assert all(same(stored[name], lists) for name, lists in found.items())


def test_no_file_is_left_behind(tmp_path: Path) -> None:
    """The file is written beside its place and moved there."""
    path = tmp_path / "inputs.bin"
    write_inputs(path, {"mul": [[1]]})
    assert [each.name for each in tmp_path.iterdir()] == ["inputs.bin"]


def test_values_are_kept_as_they_were() -> None:
    """A tensor is copied, a generator is left out, and all arguments have a place."""
    value = torch.ones(2)
    copied = storable([value, torch.Generator(), (1, "x")])
    value.zero_()
    assert same(copied, [torch.ones(2), None, [1, "x"]])
    assert bound_arguments(torch.ops.aten.add.Tensor._schema, (1, 2), {"alpha": 3}) == [1, 2, 3]
    assert bound_arguments(torch.ops.aten.add.Tensor._schema, (1, 2), {}) == [1, 2, 1]
