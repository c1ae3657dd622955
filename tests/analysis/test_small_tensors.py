"""Formulas on tensors of a few elements: what operators compute there is what PyTorch computes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.scalar_evaluation.values import UnknownValueError
from derivlint.analysis.small_tensors.compare import compared_formulas, operator_of, small_tensors_of
from derivlint.analysis.small_tensors.domain import implementation_named, is_elementwise
from derivlint.analysis.small_tensors.inputs import numbers, small_arguments
from derivlint.analysis.small_tensors.tensor import TABLE, SmallTensor, Value
from derivlint.model import Model, build_model
from derivlint.operators.shapes.size_values import Sizes
from derivlint.schema import NativeFunction, NativeFunctions
from derivlint.source import SourceFile

#: Operators that PyTorch does not run on tensors of the CPU, or only sparse ones; and one whose tolerance is ignored.
NOT_RUN = frozenset(
    {"_sparse_addmm", "_sparse_sparse_matmul", "_sparse_sum", "_mkldnn_reshape", "_grouped_mm", "linalg_pinv"}
)
#: Operators of whose results only the absolute values are compared.
UNIQUE_UP_TO_SIGNS = frozenset({"_linalg_svd"})
ANTIALIASED = ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa")
#: So many formulas are compared: a ratchet.
COMPARED = 660


def tensor(value: Value) -> Any:
    if type(value) is SmallTensor:
        kind = type(value.items[0]) if len(value.items) else float
        dtype = {float: torch.float64, complex: torch.complex128, int: torch.int64, bool: torch.bool}[kind]
        return torch.tensor(list(value.items), dtype=dtype).reshape(tuple(value.sizes))
    return [tensor(each) for each in value] if type(value) is tuple else value


def functions(natives: NativeFunctions) -> Iterator[NativeFunction]:
    for base in sorted(TABLE.keys() - NOT_RUN):
        for function in natives.with_base(base):
            if function.namespace == "aten" and not function.name.inplace and not function.schema.is_out:
                yield function


@pytest.mark.torch
def test_operators_compute_what_pytorch_computes(bundled_natives: NativeFunctions) -> None:
    compared = set()
    for function in functions(bundled_natives):
        differentiable = [each.name for each in function.schema.arguments.flat_non_out if each.type.is_tensor_like]
        differentiable = [name for name in differentiable if name not in ("index", "indices", "mask", "target")]
        if any(each.name == "output" for each in function.schema.arguments.flat_non_out):
            # PyTorch computes with a saved output, which ours is not an output of
            continue
        implementation = implementation_named(function.name.base)
        assert implementation is not None
        names_of_arguments = {argument.name for argument in function.schema.arguments.flat_non_out}
        for arguments in small_arguments(function, differentiable, "random_samples" in names_of_arguments):
            names = [each.name for each in function.schema.arguments.flat_non_out]
            given = {name: arguments[name] for name in names if name in arguments}
            packet = getattr(torch.ops.aten, function.name.base)
            call = getattr(packet, function.name.overload or "default")
            own = {name: value for name, value in given.items() if name in implementation.parameters}
            if implementation.by_position:
                own = dict(zip(implementation.parameters, given.values(), strict=False))
            try:
                expected = call(**{name: tensor(value) for name, value in given.items()})
            except (RuntimeError, NotImplementedError):
                continue
            found = implementation.run(own)
            pairs = zip(expected, found, strict=False) if isinstance(expected, (tuple, list)) else [(expected, found)]
            for one, other in pairs:
                computed, right = tensor(other).cdouble(), one.cdouble()
                if function.name.base in UNIQUE_UP_TO_SIGNS:
                    computed, right = computed.abs(), right.abs()
                assert torch.allclose(computed, right), (str(function), given)
            compared.add(function.name.base)
    assert len(compared) >= 85


def entry(natives: NativeFunctions, *lines: str) -> Model:
    return build_model(SourceFile("derivatives.yaml", "\n".join(lines) + "\n"), natives)


@pytest.mark.parametrize(
    ("lines", "name", "where"),
    [
        (
            ("- name: cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", "  self: grad.cumsum(dim)"),
            "self",
            (0, 0, 0, 0),
        ),
        (
            (
                "- name: max(Tensor self) -> Tensor",
                "  self: grad.expand_as(self)",
            ),
            "self",
            (0, 0, 0),
        ),
        (
            (
                "- name: trace(Tensor self) -> Tensor",
                "  self: grad.expand(self.sizes())",
            ),
            "self",
            (0, 1),
        ),
        (
            (
                "- name: flip(Tensor self, int[] dims) -> Tensor",
                "  self: grad.flip(dims)",
                "  result: self_t",
            ),
            "result",
            (0, 0, 0),
        ),
        (
            (
                "- name: stack(Tensor[] tensors, int dim=0) -> Tensor",
                "  tensors: stack_tensors_backward(grad.flip({dim}), dim, to_args_scalartypes(tensors))",
            ),
            "tensors",
            (0, 0, 0),
        ),
        (
            (
                "- name: split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
                "  self: split_with_sizes_backward(grads, split_sizes, dim, self.sym_sizes(), self.options())"
                ".flip({dim})",
            ),
            "self",
            (0, 0, 0),
        ),
        (
            (
                "- name: as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride,"
                " SymInt? storage_offset=None) -> Tensor",
                "  src: grad.contiguous().as_strided_symint(size, stride)",
            ),
            "src",
            (0, 0),
        ),
        (
            (
                "- name: cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
                "  self: cummaxmin_backward(grad.flip({dim}), self, indices, dim)",
                "  output_differentiability: [True, False]",
            ),
            "self",
            (0, 0, 0, 0),
        ),
        (
            (
                "- name: masked_select(Tensor self, Tensor mask) -> Tensor",
                "  self: masked_select_backward(grad.flip({0}), self, mask)",
            ),
            "self",
            (0, 0, 0),
        ),
        (
            (
                "- name: channel_shuffle(Tensor self, SymInt groups) -> Tensor",
                "  self: channel_shuffle_symint(grad, groups)",
            ),
            "self",
            (0, 1, 0, 0),
        ),
        # the first sizes leave no position that is not overwritten
        (
            (
                "- name: index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
                "  self: zeros_like(self)",
            ),
            "self",
            (0,),
        ),
        (
            (
                "- name: index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
                "  self: zeros_like(self)",
            ),
            "self",
            (0, 0, 0),
        ),
        (
            (
                "- name: index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
                "  value: grad.index_select(dim, index).sum()",
            ),
            "value",
            (),
        ),
        (
            (
                "- name: embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1,"
                " bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
                "  weight: at::zeros_symint(weight.sym_sizes(), grad.options()).index_put({indices}, grad)",
            ),
            "weight",
            (0, 0),
        ),
        # the saved output is another tensor
        (
            (
                "- name: cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
                "  self: cumprod_backward(grad.to(self.scalar_type()), self, dim, self)",
            ),
            "self",
            (0, 0, 0, 0),
        ),
        # an offset is not a dimension
        (
            (
                "- name: diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2)"
                " -> Tensor",
                "  grad_output: grad.diagonal(dim1, dim1, dim2)",
            ),
            "grad_output",
            (0, 0),
        ),
        (
            (
                "- name: block_diag(Tensor[] tensors) -> Tensor",
                "  tensors: block_diag_backward(grad, to_args_sizes(tensors), to_args_scalartypes(tensors))",
                "  result: block_diag_jvp(tensors).flip({0, 1})",
            ),
            "result",
            (0, 0),
        ),
        (
            (
                "- name: _unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
                "  self: at::_unsafe_masked_index_put_accumulate(grad.new_zeros_symint(self.sym_sizes(),"
                " self.options()), mask, indices, grad.flip({0}))",
            ),
            "self",
            (1,),
        ),
        (
            (
                "- name: _sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor",
                "  self: sparse_sparse_matmul_backward(grad.flip({0}), self, other, 0)",
            ),
            "self",
            (0, 0),
        ),
        # saved statistics vary with the input
        (
            (
                "- name: native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight,"
                " Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train,"
                " float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
                "  input, weight, grad_out: batchnorm_double_backward(input, weight, grads[0], grads[1], grads[2],"
                " grad_out, running_mean, running_var, train, eps, save_mean, save_invstd * 2, grad_input_mask)",
            ),
            "input",
            (0, 0, 0),
        ),
        (
            (
                "- name: nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight,"
                " int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
                "  grad_output: nll_loss2d_symint(grad.flip({3}), target, weight, reduction, ignore_index)",
            ),
            "grad_output",
            (0, 0, 0),
        ),
        # one frequency is the same in both directions
        *(
            ((f"- name: {schema} -> Tensor", f"  self: {gradient}"), "self", where)
            for schema, gradient, where in (
                (
                    "_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward)",
                    "at::_fft_c2c_symint(grad, dim, normalization, forward)",
                    (0, 0, 1),
                ),
                (
                    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided)",
                    "fft_r2c_backward(grad.flip({0}), dim, normalization, onesided, self.sym_size(dim.back()))",
                    (0, 0, 0),
                ),
                (
                    "_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size)",
                    "at::_fft_r2c(grad, dim, normalization, true)",
                    (0, 0, 1),
                ),
            )
        ),
        (
            (
                "- name: view_as_complex(Tensor(a) self) -> Tensor(a)",
                "  self: at::view_as_real(grad.contiguous().resolve_conj().conj())",
            ),
            "self",
            (0, 0, 1),
        ),
        # the adjoint of another kernel
        (
            (
                "- name: upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners,"
                " float? scales_h=None, float? scales_w=None) -> Tensor",
                "  self: upsample_bilinear2d_backward_symint(grad, output_size, self.sym_sizes(), align_corners,"
                " scales_h, scales_w)",
            ),
            "self",
            (0, 0, 0, 0),
        ),
        # overwritten in place
        (
            (
                "- name: relu_(Tensor(a!) self) -> Tensor(a!)",
                "  self: threshold_backward(grad, result, 0)",
                "  result: self_t.copy_(threshold_backward(original_self_t.flip({0}), result, 0))",
            ),
            "result",
            (0, 0, 0),
        ),
        # an element that is read twice has the sum of two gradients
        *(
            (
                (f"- name: {schema} -> Tensor", f"  self: at::zeros_symint(self.sym_sizes(), grad.options()).{call}"),
                "self",
                where,
            )
            for schema, call, where in (
                (
                    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)",
                    "scatter(dim, index, grad)",
                    (0, 1),
                ),
                ("index_select(Tensor self, int dim, Tensor index)", "index_copy(dim, index, grad)", (1, 0)),
                ("take(Tensor self, Tensor index)", "put(index, grad)", (1,)),
                ("index.Tensor(Tensor self, Tensor?[] indices)", "index_put(indices, grad)", (1, 0)),
            )
        ),
    ],
)
def test_what_only_several_elements_show(
    lines: tuple[str, ...], name: str, where: tuple[int, ...], bundled_natives: NativeFunctions
) -> None:
    model = entry(bundled_natives, *lines)
    (found,) = small_tensors_of(model, model.entries[0])
    assert (found.name, found.where) == (name, where)


@pytest.mark.parametrize(
    "lines",
    [
        # a sum of gradients that the engine makes
        ("- name: mul.Tensor(Tensor self, Tensor other) -> Tensor", "  self: (grad * other).sum(0, true)"),
        # not known
        ("- name: cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", "  self: mine(grad, dim)"),
        ("- name: exp(Tensor self) -> Tensor", "  self: mine(grad, result)"),
        ("- name: repeat(Tensor self, SymInt[] repeats) -> Tensor", "  self: mine(grad, self.sym_sizes(), repeats)"),
        # frequencies scale the gradient by a convention
        (
            "- name: embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False,"
            " bool sparse=False) -> Tensor",
            "  weight: at::embedding_dense_backward_symint(grad, indices, weight.sym_size(0), padding_idx,"
            " scale_grad_by_freq)",
        ),
        # what is not linear is another fault
        ("- name: flip(Tensor self, int[] dims) -> Tensor", "  self: grad.flip(dims) * grad"),
        # right
        ("- name: trace(Tensor self) -> Tensor", "  self: trace_backward(grad, self.sym_sizes())"),
    ],
)
def test_what_is_not_said(lines: tuple[str, ...], bundled_natives: NativeFunctions) -> None:
    model = entry(bundled_natives, *lines)
    assert small_tensors_of(model, model.entries[0]) == ()


@pytest.mark.torch
@pytest.mark.parametrize("normalization", [0, 1, 2])
@pytest.mark.parametrize("dim", [(1, 2), (2, 1), (2,), (0, 1, 2)])
@pytest.mark.parametrize(
    ("name", "sizes", "flags"),
    [
        ("_fft_c2c", (2, 3, 5), {"forward": True}),
        ("_fft_c2c", (2, 3, 5), {"forward": False}),
        ("_fft_r2c", (2, 3, 8), {"onesided": True}),
        ("_fft_r2c", (2, 3, 5), {"onesided": False}),
        ("_fft_c2r", (2, 5, 5), {"last_dim_size": 8}),
        ("_fft_c2r", (2, 5, 5), {"last_dim_size": 9}),
    ],
)
def test_spectra_are_those_of_pytorch(
    name: str, sizes: tuple[int, ...], flags: dict[str, Any], dim: tuple[int, ...], normalization: int
) -> None:
    parts = [numbers(Sizes(sizes), salt).items for salt in (1, 2)]
    own = numbers(Sizes(sizes), 1) if name == "_fft_r2c" else SmallTensor(Sizes(sizes), list(map(complex, *parts)))
    implementation = implementation_named(name)
    assert implementation is not None
    spectrum = implementation.run({"self": own, "dim": dim, "normalization": normalization, **flags})
    call = getattr(torch.ops.aten, name)
    assert torch.allclose(call(tensor(own), list(dim), normalization, *flags.values()), tensor(spectrum))


@pytest.mark.torch
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize(("sizes", "output_size"), [((5, 7), (3, 4)), ((3, 4), (7, 9)), ((9, 4), (2, 5))])
@pytest.mark.parametrize("name", ["upsample_bilinear2d", "upsample_bicubic2d", *ANTIALIASED])
def test_images_are_resized_as_by_pytorch(
    name: str, sizes: tuple[int, int], output_size: tuple[int, int], is_scaled: bool, aligned: bool
) -> None:
    # with scales that lead to other sizes, PyTorch reads elements that are not there
    scales = [(output + 0.5) / size if is_scaled else None for size, output in zip(sizes, output_size, strict=True)]
    call = getattr(torch.ops.aten, name)
    implementation = implementation_named(name)
    assert implementation is not None
    image = numbers(Sizes((1, 2, *sizes)), 3)
    resized = implementation.run(
        {
            "self": image,
            "output_size": output_size,
            "align_corners": aligned,
            "scales_h": scales[0],
            "scales_w": scales[1],
        }
    )
    assert torch.allclose(call(tensor(image), list(output_size), aligned, *scales), tensor(resized), atol=1e-6)


def test_old_releases_have_another_gradient_of_complex_numbers(bundled_natives: NativeFunctions) -> None:
    name = "- name: view_as_real(Tensor(a) self) -> Tensor(a)"
    formula = "  self: at::view_as_complex(grad.contiguous()).conj()"
    model = entry(bundled_natives, name, formula)
    (wrong,) = small_tensors_of(model, model.entries[0])
    assert wrong.expected == pytest.approx(wrong.actual.conjugate())
    old = NativeFunctions(bundled_natives.written, version="1.6.0")
    model = entry(old, name, formula)
    assert small_tensors_of(model, model.entries[0]) == ()


def test_a_norm_is_not_compared_at_two_alone(bundled_natives: NativeFunctions) -> None:
    """At p = 2 point and tangent may be exchanged."""
    model = entry(
        bundled_natives,
        "- name: norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
        "  self: norm_backward(grad, self, p, result)",
        "  result: norm_jvp(self_t, self_p, p, result)",
    )
    (wrong,) = judgement_of(model, model.entries[0]).wrong
    assert (wrong.name, dict(wrong.at)["p"]) == ("result", 1.5)


def test_repeated_positions_are_shown(bundled_natives: NativeFunctions) -> None:
    model = entry(
        bundled_natives,
        "- name: index_select(Tensor self, int dim, Tensor index) -> Tensor",
        "  self: at::zeros_symint(self.sym_sizes(), grad.options()).index_copy(dim, index, grad)",
    )
    (wrong,) = small_tensors_of(model, model.entries[0])
    at = dict(wrong.at)
    assert (at["self"], at["index"]) == ((3, 2), (2, 1, 0, 2, 1))


def test_the_kind_of_a_reduction_is_shown(bundled_natives: NativeFunctions) -> None:
    """Products and maxima need the element and the result, sums do not."""
    model = entry(
        bundled_natives,
        "- name: scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *,"
        " bool include_self=True) -> Tensor",
        "  self, src: scatter_reduce_backward(grad, -self, dim, index, src, reduce, include_self, result)",
    )
    (wrong,) = small_tensors_of(model, model.entries[0])
    assert (wrong.where, dict(wrong.at)["reduce"]) == ((0, 0, 0), "prod")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            ("- name: repeat(Tensor self, SymInt[] repeats) -> Tensor", "  self: mine(grad, self.dim(), repeats)"),
            'it has the sizes of "self", which the formula does not use',
        ),
        (
            (
                "- name: embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights,"
                " SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
                "  grad_output: mine(grad, indices, scale_grad_by_freq)",
            ),
            'it depends on "padding_idx", which the formula does not use',
        ),
        (
            (
                "- name: elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
                "  self: mine(grad, alpha, scale, input_scale, result)",
            ),
            "-3.01 and 0.951 have the same output, but not the same derivative",
        ),
    ],
)
def test_no_helper_can_compute_what_its_arguments_do_not_determine(
    lines: tuple[str, ...], reason: str, bundled_natives: NativeFunctions
) -> None:
    model = entry(bundled_natives, *lines)
    (wrong,) = small_tensors_of(model, model.entries[0])
    assert wrong.reason == reason


def test_an_index_out_of_range_is_wrong(bundled_natives: NativeFunctions) -> None:
    model = entry(
        bundled_natives,
        "- name: topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)"
        " -> (Tensor values, Tensor indices)",
        "  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), true)",
        "  output_differentiability: [True, False]",
        "  values: gather(self_t, 0, indices)",
    )
    (found,) = small_tensors_of(model, model.entries[0])
    assert (found.name, found.reason) == ("values", "the index 2 is out of range for 2 elements")


def test_most_formulas_for_which_several_elements_matter_are_compared(
    bundled_natives: NativeFunctions, derivatives_path: Any
) -> None:
    model = build_model(SourceFile.read(derivatives_path), bundled_natives)
    analyses = analyses_of(model)
    known = 0
    for each in model.entries:
        for body in each.bodies if each.function is not None else ():
            differentiability = model.canonical_differentiability(body)
            if differentiability is not None:
                known += len(compared_formulas(differentiability, analyses.formulas_of(body)))
    assert known >= COMPARED


def test_elementwise_operators_are_left_to_single_elements() -> None:
    assert [name for name in ("mul", "sin", "where", "softplus") if not is_elementwise(name)] == []
    assert [name for name in ("sum", "mm", "cumsum", "tril", "_fft_c2c", "no_such") if is_elementwise(name)] == []


@pytest.mark.parametrize(
    "formula",
    [
        "grad.repeat({100000, 100000})",
        "at::zeros({100000, 100000}, grad.options())",
        "grad.expand({100000, 100000})",
        "grad.unsqueeze(-1).expand({3, 2, 5, 999999999}).sum(-1)",
        "grad.reshape({-1, 1}).mm(grad.reshape({1, -1})).repeat({99, 99}).sum()",
        "grad.reshape(std::vector<int64_t>(999999999, 1))",
    ],
)
def test_a_formula_gets_no_memory_that_it_asks_for(formula: str, bundled_natives: NativeFunctions) -> None:
    model = entry(bundled_natives, "- name: flip(Tensor self, int[] dims) -> Tensor", f"  self: '{formula}'")
    tracemalloc.start()
    small_tensors_of(model, model.entries[0])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30_000_000


def test_values_that_are_not_known_are_not_guessed(bundled_natives: NativeFunctions) -> None:
    model = entry(bundled_natives, "- name: trace(Tensor self) -> Tensor", "  self: grad")
    differentiability = model.canonical_differentiability(model.entries[0].bodies[0])
    assert differentiability is not None
    operator = operator_of(differentiability)
    assert operator is not None

    with pytest.raises(UnknownValueError):
        operator.outputs({"self": None})
