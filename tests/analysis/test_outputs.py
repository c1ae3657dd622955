"""The dtypes of outputs that the book states, against the operators themselves; and what follows for entries."""

from __future__ import annotations

from typing import Any

import pytest
import torch as torch_package

from derivlint.analysis.outputs import (
    BOOLEAN,
    COMPUTE_IN_DTYPE,
    INTEGRAL,
    INTEGRAL_NAMES,
    differentiable_discrete_outputs,
    discrete_kind,
    has_unconditional_dtype,
)
from derivlint.model import build_model
from derivlint.operators import Book
from derivlint.schema import NativeFunctions, SchemaKind
from derivlint.source import SourceFile

BOOLEAN_OUTPUTS, INTEGRAL_OUTPUTS = Book.by_hand("boolean-output"), Book.by_hand("integral-output")

#: Operators are looked up by their names, and called with whatever they take.
torch: Any = torch_package

#: One call of each operator in the book that runs on the CPU, in terms of ``x``, a matrix of floats, ``i``, a tensor
#: of integers, ``image`` and ``volume``.
CALLS = """
    all(x) any(x) eq(x,x) ge(x,x) gt(x,x) le(x,x) lt(x,x) ne(x,x) isclose(x,x) isfinite(x) isin(x,x) isinf(x) isnan(x)
    isneginf(x) isposinf(x) isreal(x) logical_and(x,x) logical_not(x) logical_or(x,x) logical_xor(x,x) signbit(x)
    native_dropout(x,0.5,True) fake_quantize_per_tensor_affine_cachemask(x.float(),0.1,0,0,255)
    _fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x.float(),one,zero,long,0,255)
    fake_quantize_per_channel_affine_cachemask(x.float(),x.float()[0],x.float()[0],0,0,255)
    argmax(x) argmin(x) argsort(x) argwhere(x) bucketize(x,x[0]) count_nonzero(x) hash_tensor(x) multinomial(x,1)
    nonzero(x) nonzero_static(x,size=1) searchsorted(x,x) bitwise_and(i,i) bitwise_left_shift(i,i) bitwise_not(i)
    bitwise_or(i,i) bitwise_right_shift(i,i) bitwise_xor(i,i) gcd(i,i) lcm(i,i) indices(coo) _indices(coo)
    crow_indices(csr) col_indices(csr) ccol_indices(csc) row_indices(csc) int_repr(quantized)
    q_per_channel_zero_points(channels) cummax(x,0) cummin(x,0) kthvalue(x,1) max(x,0) median(x,0) min(x,0) mode(x)
    nanmedian(x,0) sort(x) topk(x,1) frexp(x) adaptive_max_pool2d(image,[2,2]) adaptive_max_pool3d(volume,[2,2,2])
    fractional_max_pool2d(image,[2,2],[2,2],samples2) fractional_max_pool3d(volume,[2,2,2],[2,2,2],samples3)
    max_pool2d_with_indices(image,[2,2]) max_pool3d_with_indices(volume,[2,2,2]) _unique(x) _unique2(x)
    unique_consecutive(x) unique_dim(x,0) unique_dim_consecutive(x,0) _embedding_bag(x,i,i[:1])
    _embedding_bag_forward_only(x,i,i[:1]) _linalg_det(x) _linalg_slogdet(x) _linalg_solve_ex(x,x)
    linalg_cholesky_ex(x) linalg_inv_ex(x) linalg_ldl_factor_ex(x) linalg_lstsq(x,x) linalg_lu_factor_ex(x)
    _lu_with_info(x)
"""
#: Operators in the book that need a GPU, an observer or another build, or take integers only.
NOT_CALLED = {
    "_batch_norm_with_update", "_cudnn_rnn", "_fused_dropout", "_fused_moving_avg_obs_fq_helper",
    "_sparse_mm_reduce_impl", "cudnn_batch_norm", "is_pinned", "tril_indices", "triu_indices",
}  # fmt: skip


def variables() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.rand(3, 3, dtype=torch.float64) + torch.eye(3, dtype=torch.float64)
    scales = torch.ones(3)
    return {
        "x": x,
        "i": torch.tensor([0, 1, 2]),
        "one": torch.ones(1),
        "zero": torch.zeros(1, dtype=torch.int32),
        "long": torch.ones(1, dtype=torch.int64),
        "image": torch.rand(1, 2, 4, 4),
        "volume": torch.rand(1, 2, 4, 4, 4),
        "samples2": torch.rand(1, 2, 2),
        "samples3": torch.rand(1, 2, 3),
        "coo": x.to_sparse().coalesce(),
        "csr": x.to_sparse_csr(),
        "csc": x.to_sparse_csc(),
        "quantized": torch.quantize_per_tensor(x.float(), 0.1, 0, torch.quint8),
        "channels": torch.quantize_per_channel(x.float(), scales, torch.zeros(3, dtype=torch.int64), 0, torch.quint8),
    }


def kinds(outputs: Any) -> list[str | None]:
    """The kind of every output of a call."""
    found: list[str | None] = []
    for value in outputs if isinstance(outputs, (tuple, list)) else [outputs]:
        continuous = value.is_floating_point() or value.is_complex() or value.is_quantized
        found.append(None if continuous else BOOLEAN if value.dtype == torch.bool else INTEGRAL)
    return found


def stated(name: str, count: int) -> list[str | None]:
    """The same as the book states it."""
    outputs = [f"{name}({index})" for index in range(count)]
    return [BOOLEAN if each in BOOLEAN_OUTPUTS else INTEGRAL if each in INTEGRAL_OUTPUTS else None for each in outputs]


# torch warns of prototypes and of deprecated operators, which are called here like all others
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", CALLS.split())
def test_the_outputs_of_an_operator_are_of_the_stated_kinds(call: str) -> None:
    name, _, arguments = call.partition("(")
    seen = kinds(eval(f"f({arguments}", {"f": getattr(torch.ops.aten, name), "torch": torch, **variables()}))
    assert seen == stated(name, len(seen))
    assert seen != [None] * len(seen)


def test_every_operator_of_the_tables_is_called_or_excused() -> None:
    called = {call.partition("(")[0] for call in CALLS.split()}
    assert called.isdisjoint(NOT_CALLED)
    assert called | NOT_CALLED == {each.partition("(")[0] for each in BOOLEAN_OUTPUTS | INTEGRAL_OUTPUTS}


# torch warns of prototypes and of deprecated operators, which are called here like all others
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_operators_of_one_tensor_have_no_other_discrete_outputs(installed_natives: NativeFunctions) -> None:
    """Every operator of the file that takes one tensor and nothing else: what is not in the book is continuous."""
    x = variables()["x"]
    compared, wrong = [], []
    for function in installed_natives.functions:
        name = str(function.name)
        if function.schema.kind is not SchemaKind.functional or function.generated or not function.is_abstract:
            continue
        if [str(each.type) for each in function.schema.arguments.flat_non_out] != ["Tensor"]:
            continue
        overload = getattr(
            getattr(torch.ops.aten, function.name.name_without_overload), function.name.overload or "default"
        )
        try:
            outputs = overload(x)
        except (RuntimeError, NotImplementedError):
            continue
        if not all(isinstance(each, torch.Tensor) for each in (outputs if isinstance(outputs, tuple) else [outputs])):
            continue
        compared.append(name)
        seen = kinds(outputs)
        if seen != [discrete_kind(function, index) for index in range(len(seen))]:
            wrong.append((name, seen))
    assert wrong == []
    assert len(compared) > 80


def discrete(text: str, natives: NativeFunctions) -> list[tuple[str, str]]:
    model = build_model(SourceFile("derivatives.yaml", text), natives)
    found = [each for body in model.bodies() for each in differentiable_discrete_outputs(model, body)]
    return [(each.output.name, each.kind) for each in found]


def test_outputs_are_found_where_the_kernel_makes_them_differentiable(bundled_natives: NativeFunctions) -> None:
    text = """\
- name: _unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) \
-> (Tensor, Tensor, Tensor)
  self: not_implemented("_unique2")
- name: ge.Scalar(Tensor self, Scalar other) -> Tensor
  output_differentiability: [True]
"""
    assert discrete(text, bundled_natives) == [("result1", INTEGRAL), ("result2", INTEGRAL), ("result", BOOLEAN)]


@pytest.mark.parametrize(
    "text",
    [
        # switched off
        "- name: any(Tensor self) -> Tensor\n  output_differentiability: [False]\n",
        # no input can require a gradient
        "- name: any(Tensor self) -> Tensor\n  self: non_differentiable\n",
        # never differentiated by the generator
        '- name: isnan(Tensor self) -> Tensor\n  self: not_implemented("isnan")\n',
        # only the first output is differentiable, since "grad" is used
        "- name: topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) "
        "-> (Tensor values, Tensor indices)\n  self: f(grad, indices)\n",
        # in-place: the dtype is that of "self"
        "- name: ge_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n  self: zeros_like(self)\n",
        # under a condition
        "- name: any(Tensor self) -> Tensor\n"
        "  output_differentiability: ['self.is_floating_point()']\n  self: f(grad)\n",
    ],
)
def test_nothing_is_said_where_the_output_is_not_differentiable(text: str, bundled_natives: NativeFunctions) -> None:
    assert discrete(text, bundled_natives) == []


def test_a_return_is_integral_by_its_name(installed_natives: NativeFunctions) -> None:
    """The names are those of returns of some operator, and the tables agree where they have the operator."""
    seen = set()
    for function in installed_natives.functions:
        if function.schema.kind is not SchemaKind.functional:
            continue
        for index, item in enumerate(function.schema.returns):
            if item.name in INTEGRAL_NAMES:
                seen.add(item.name)
                assert discrete_kind(function, index) == INTEGRAL
                assert f"{function.name.base}({index})" not in BOOLEAN_OUTPUTS
    assert INTEGRAL_NAMES - seen == set()


def test_the_installed_file_leaves_no_such_output_differentiable(
    derivatives_path: Any, installed_natives: NativeFunctions
) -> None:
    assert discrete(derivatives_path.read_text(encoding="utf-8"), installed_natives) == []


@pytest.mark.parametrize("name", sorted(COMPUTE_IN_DTYPE))
def test_an_integral_dtype_makes_the_kernel_fail(name: str) -> None:
    """That is what the missing condition does; an input that requires no gradient is taken."""
    dimension = (0,) if name.startswith("cum") else ()
    x = torch.rand(3)
    assert getattr(torch, name)(x, *dimension, dtype=torch.int64).dtype == torch.int64
    with pytest.raises(RuntimeError, match="Autograd not support dtype: Long"):
        getattr(torch, name)(x.requires_grad_(), *dimension, dtype=torch.int64)


def test_a_condition_on_the_dtype_is_found(bundled_natives: NativeFunctions) -> None:
    text = "- name: prod(Tensor self, *, ScalarType? dtype=None) -> Tensor\n  self: f(grad, result)\n"
    condition = "  output_differentiability: ['!dtype']\n"
    for source, expected in ((text, [True]), (text + condition, [False])):
        model = build_model(SourceFile("derivatives.yaml", source), bundled_natives)
        assert [has_unconditional_dtype(model, body) for body in model.bodies()] == expected
