"""Harder inputs keep what they should keep, and have what their label says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.verify.code.functions import FunctionSpec, FunctionValue
from derivlint.verify.inputs.domains import is_defined
from derivlint.verify.inputs.hardening import broadcast_positions, is_raw, variants
from derivlint.verify.inputs.inputs import points_for, selected
from derivlint.verify.inputs.layouts import changed, dense, inner_product, moved, numbers
from derivlint.verify.inputs.points import SamplePoint, generator, overload_of


def spec(operator: str) -> FunctionSpec:
    """An operator as it is passed to the process that checks."""
    kinds = {"Optional[Tensor]": "Tensor?", "Optional[number]": "Scalar?", "Optional[List[int]]": "int[]?"}
    kinds |= {"number": "Scalar", "List[int]": "int[]", "Optional[int]": "int?"}
    schema = overload_of(operator)._schema
    arguments = tuple(FunctionValue(each.name, kinds.get(str(each.type), str(each.type))) for each in schema.arguments)
    return FunctionSpec(0, "backward", operator, "self", arguments, (), (), (), (), ())


def made(operator: str, values: list[Any], **more: Any) -> list[SamplePoint]:
    return list(variants(SamplePoint(values), spec(operator), generator(0), **more))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.sampled_from([torch.float64, torch.complex128]),
    st.integers(0, 9),
)
def test_variants_keep_types_and_most_keep_shapes(shape: list[int], dtype: torch.dtype, seed: int) -> None:
    """Only those that are about shapes change them, only "one complex" changes types, and the sample itself stays."""
    one, other = torch.ones(shape, dtype=dtype), torch.full(shape, 2, dtype=dtype)
    for point in variants(SamplePoint([one, other]), spec("mul.Tensor"), generator(seed)):
        tensors = [value for value in point.values if isinstance(value, torch.Tensor)]
        if point.label not in ("sizes 2", "narrow", "broadcast"):
            assert [list(value.shape) for value in tensors] == [shape, shape]
        if point.label == "sizes 2":
            assert all(size == 2 for value in tensors for size in value.shape)
        expected = {dtype, torch.float64} if point.label == "one complex" else {dtype}
        assert {value.dtype for value in tensors} <= expected
    assert bool((one == 1).all())
    assert bool((other == 2).all())


def test_variants_are_the_same_for_the_same_seed() -> None:
    """A finding can be made again."""
    first, second = (made("mul.Tensor", [torch.ones(2, 3), torch.ones(3)]) for _ in range(2))
    assert [point.label for point in first] == [point.label for point in second]
    assert all(
        torch.equal(a, b)
        for one, two in zip(first, second, strict=True)
        for a, b in zip(one.values, two.values, strict=True)
    )


def test_labels_say_what_is_special() -> None:
    """Strides, equal rows, equal arguments, a flipped argument, an absent one, another number."""
    points = {point.label: point.values for point in made("addcmul", [torch.rand(3, 3)] * 3 + [1.0])}
    assert not points["strided"][0].is_contiguous()
    assert torch.equal(points["equal rows"][0][0], points["equal rows"][0][2])
    assert points["scalar"][3] == pytest.approx(1.37)
    points = {point.label: point.values for point in made("maximum", [torch.zeros(20), torch.ones(20)])}
    assert 0 < int((points["equal"][0] == points["equal"][1]).sum()) < 20
    loss = [torch.rand(3), torch.rand(3), torch.rand(3), 1]
    labels = [(point.label, point.values[2:]) for point in made("binary_cross_entropy", loss)]
    assert ("absent", [None, 1]) in labels
    assert [rest[1] for label, rest in labels if label == "reduction"] == [0, 2]


def test_operators_that_trust_their_arguments_are_spared() -> None:
    """No shape, no flag and no optional argument of theirs is changed."""
    operator = spec("native_layer_norm")
    assert is_raw(operator)
    values = [torch.rand(2, 3), [3], torch.rand(3), None, 1e-5]
    assert {point.label for point in variants(SamplePoint(values), operator, generator(0))} == {"generic", "small"}


def test_arguments_are_broadcast_where_samples_do_so() -> None:
    """The smaller argument of a sample may be smaller elsewhere, too."""
    points = [SamplePoint([torch.rand(2, 3), torch.rand(3), 1]), SamplePoint([torch.rand(2), torch.rand(2), 1])]
    assert broadcast_positions(points) == {1}
    assert broadcast_positions(points[1:]) == frozenset()


def test_indices_of_variants_occur_once() -> None:
    """Where an index occurs twice it may not be defined what is kept."""
    index = torch.tensor([[0, 1, 2], [2, 0, 1]])
    (point,) = (each for each in made("gather", [torch.rand(3, 3), 0, index, False]) if each.label == "sizes 2")
    assert point.values[2].sort(0).values.tolist() == [[0, 0], [1, 1]]


def test_undefined_results_are_no_points() -> None:
    """Indices that occur twice, classes that are not there, negative lengths and singular matrices are left out."""
    unpool = spec("max_unpool2d")
    assert is_defined(unpool, [torch.rand(1, 2, 2), torch.tensor([[[0, 1], [2, 3]]]), [2, 2]])
    assert not is_defined(unpool, [torch.rand(1, 2, 2), torch.tensor([[[0, 1], [1, 3]]]), [2, 2]])
    probabilities, lengths = torch.zeros(2, 1, 3), ([2], [1], 0, False)
    assert is_defined(spec("_ctc_loss"), [probabilities, torch.tensor([[2]]), *lengths])
    assert not is_defined(spec("_ctc_loss"), [probabilities, torch.tensor([[3]]), *lengths])
    assert not is_defined(spec("polar"), [torch.tensor([-1.0]), torch.ones(1)])
    assert not is_defined(spec("linalg_qr"), [torch.ones(2, 2), "reduced"])
    wide = torch.tensor([[0.0, 1.0, 2.0], [0.0, 3.0, 4.0]])
    assert not is_defined(spec("linalg_lu_factor_ex"), [wide, True, False])
    assert is_defined(spec("linalg_lu_factor_ex"), [wide.flip(1), True, False])
    assert not is_defined(spec("scatter.src"), [torch.ones(2), 0, torch.tensor([1, 1]), torch.ones(2)])


def test_selection_covers_other_arguments_and_leaves_out_what_is_refused() -> None:
    """Each value of "dim" is there, a call that fails is not, and a sample without any derivative comes last."""
    x = torch.rand(3, 3, dtype=torch.float64)
    points = [SamplePoint([x, 0, None]), SamplePoint([x, 1, None]), SamplePoint([x, 7, None])]
    assert sorted(point.values[1] for point in selected(spec("cumsum"), points, 5)) == [0, 1]
    flat = [SamplePoint([torch.zeros(3)]), SamplePoint([torch.ones(3)])]
    assert [point.values[0].sum().item() for point in selected(spec("exp"), flat, 2)] == [3, 0]


SPECIAL = {
    *("nan 0", "infinite 0", "minus infinite 0", "negated", "stepped", "0-dim", "one element", "one row", "one column"),
    *("batch of one", "1 zero 0", "2 zero 0", "zeros 0"),
}


def test_points_of_an_operator_begin_with_its_samples() -> None:
    """As many as are asked for, then harder ones, at which the operator can be called."""
    recorded = {"exp": [[torch.rand(3, dtype=torch.float64)], [torch.rand(2, 2, dtype=torch.float64)]]}
    points = list(points_for(spec("exp"), recorded, "float64", seed=0, count=2, hardened=1, variants=3))
    assert [point.label for point in points[:2]] == ["sample", "sample"]
    assert [point.label in ("sample", *SPECIAL) for point in points].count(False) == 3


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["dense", "coo", "csr", "csc", "nested"])
def test_layouts_are_vectors_of_their_numbers(kind: str) -> None:
    """A change keeps the layout and the positions, and a step is one in the numbers."""
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]], dtype=torch.float64)
    kinds: dict[str, Callable[[], Any]] = {
        "dense": lambda: x,
        "coo": x.to_sparse,
        "csr": x.to_sparse_csr,
        "csc": x.to_sparse_csc,
        "nested": lambda: torch.nested.as_nested_tensor([x, x[:1]]),
    }
    tensor = kinds[kind]()
    twice = changed(tensor, lambda values: 2 * values)
    assert twice.layout == tensor.layout
    assert torch.equal(dense(twice), 2 * dense(tensor))
    assert torch.equal(dense(moved(tensor, twice, 0.5)), 2 * dense(tensor))
    total = sum(float((part * part).sum()) for part in numbers(tensor))
    assert inner_product(tensor, tensor) == pytest.approx(total)
