"""Calls of operators that none of PyTorch's samples calls, in the shape of its OpInfo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Call:
    """An operator with one sample; the attributes are those of OpInfo that the checks read.

    Attributes:
        name: what is called.
        op: a function of tensors that require a gradient.
        shapes: their shapes; all elements lie between 0.5 and 1.5.
        supports_forward_ad: whether forward-mode AD is checked.
        supports_gradgrad: whether second derivatives are.
    """

    name: str
    op: Function
    shapes: tuple[tuple[int, ...], ...]
    supports_forward_ad: bool = True
    supports_gradgrad: bool = True
    variant_test_name: str = "call"
    inplace_variant: None = None
    supports_autograd: bool = True
    supports_inplace_autograd: bool = False
    supports_out: bool = False
    gradcheck_nondet_tol: float = 0.0

    def supported_backward_dtypes(self, device: str) -> set[Any]:
        """Real numbers only."""
        import torch

        return {torch.float64}

    def gradcheck_wrapper(self, function: Function, *args: Any) -> Any:
        """Calls the function as it is."""
        return function(*args)

    def sample_inputs(self, device: str, dtype: Any, requires_grad: bool) -> Iterator[Any]:
        """The one sample."""
        import torch
        from torch.testing._internal.opinfo.core import SampleInput

        made = [(torch.rand(shape, dtype=dtype) + 0.5).requires_grad_(requires_grad) for shape in self.shapes]
        yield SampleInput(made[0], args=tuple(made[1:]))  # type: ignore[no-untyped-call]  # torch gives it no types


def calls() -> list[Call]:
    """All of them."""
    import torch

    aten = torch.ops.aten
    seed = torch.manual_seed
    flat, square = (2, 3), (3, 3)
    image = (1, 1, 4, 4)

    def changed(function: Function) -> Function:
        """An in-place function of a copy."""
        return lambda x, *args: function(x.clone(), *args)

    def seeded(function: Function) -> Function:
        """A random function that gives the same each time."""

        def run(*args: Any) -> Any:
            seed(0)
            return function(*args)

        return run

    def slope(function: Function) -> Function:
        """The gradient of a function by its first argument, which another function of PyTorch's computes."""

        def run(x: Any, *args: Any) -> Any:
            y = function(x, *args)
            return torch.autograd.grad(y, x, y.cos(), create_graph=True)[0]

        return run

    one = (flat,)
    two = (flat, flat)
    found = [
        Call("xlogy.Scalar_Other", lambda x: aten.xlogy.Scalar_Other(x, 2.0), one),
        Call("xlogy.Scalar_Self", lambda x: aten.xlogy.Scalar_Self(2.0, x), one),
        Call("special_xlog1py.other_scalar", lambda x: aten.special_xlog1py.other_scalar(x, 2.0), one),
        Call("special_xlog1py.self_scalar", lambda x: aten.special_xlog1py.self_scalar(2.0, x), one),
        Call("xlogy_.Scalar_Other", changed(lambda x: aten.xlogy_.Scalar_Other(x, 2.0)), one),
        Call("special_zeta.self_scalar", lambda x: aten.special_zeta.self_scalar(2.5, 1 + x), one, False, False),
        Call("igamma", lambda x: torch.igamma(torch.ones(2, 3).double(), x), one, False),
        Call("igammac", lambda x: torch.igammac(torch.ones(2, 3).double(), x), one, False),
        Call("igamma_", changed(lambda x: torch.ones(2, 3).double().igamma_(x)), one, False),
        Call("pow.Scalar", lambda x: aten.pow.Scalar(2.0, x), one),
        Call("remainder.Scalar", lambda x: aten.remainder.Scalar(x, 2.0), one),
        Call("remainder_.Scalar", changed(lambda x: aten.remainder_.Scalar(x, 2.0)), one),
        Call("fmod.Scalar", lambda x: aten.fmod.Scalar(x, 2.0), one),
        Call("fmod_.Scalar", changed(lambda x: aten.fmod_.Scalar(x, 2.0)), one),
        Call("rsub.Scalar", lambda x: aten.rsub.Scalar(x, 2.0, 3.0), one),
        Call("sub_.Scalar", changed(lambda x: aten.sub_.Scalar(x, 2.0, 3.0)), one),
        Call("div.Scalar_mode", lambda x: aten.div.Scalar_mode(x, 2.0, rounding_mode=None), one),
        Call("div_.Scalar_mode", changed(lambda x: aten.div_.Scalar_mode(x, 2.0, rounding_mode=None)), one),
        Call("norm.Scalar", lambda x: aten.norm.Scalar(x, 3), one),
        Call("norm.ScalarOpt_dtype", lambda x: aten.norm.ScalarOpt_dtype(x, 3, dtype=torch.double), one),
        Call("norm.ScalarOpt_dim", lambda x: aten.norm.ScalarOpt_dim(x, 3, [1]), one),
        Call("clamp_max", lambda x: aten.clamp_max(x, 1.0), one),
        Call("clamp_max_", changed(lambda x: aten.clamp_max_(x, 1.0)), one),
        Call("acosh_", changed(lambda x: (x + 1).acosh_()), one),
        Call("asinh_", changed(lambda x: (x * 1).asinh_()), one),
        Call("atanh_", changed(lambda x: (x / 2).atanh_()), one),
        Call("ldexp_", changed(lambda x, y: x.ldexp_(y)), two),
        Call("relu_", changed(torch.relu_), one),
        Call("gelu_", changed(aten.gelu_), one),
        Call("hardtanh_", changed(aten.hardtanh_), one),
        Call("hardswish_", changed(aten.hardswish_), one),
        Call("fill.Tensor", lambda x, y: aten.fill.Tensor(x, y.sum()), two),
        Call("fill_.Tensor", changed(lambda x, y: x.fill_(y.sum())), two),
        Call("masked_fill_.Tensor", changed(lambda x, y: x.masked_fill_(x > 1, y.sum())), two),
        Call("eq_.Scalar", changed(lambda x: x.eq_(1.0)), one),
        Call("ge_.Scalar", changed(lambda x: x.ge_(1.0)), one),
        Call("conv_tbc", lambda x, w, b: aten.conv_tbc(x, w, b), ((3, 1, 2), (2, 2, 2), (2,)), False),
        Call("col2im", lambda x: aten.col2im(x, [3, 3], [2, 2], [1, 1], [0, 0], [1, 1]), ((1, 4, 4),)),
        Call("unsafe_split_with_sizes", lambda x: aten.unsafe_split_with_sizes(x, [1, 2], 1), one),
        Call("view_as_real_copy", lambda x: aten.view_as_real_copy(torch.complex(x, x)), one),
        Call("view_as_complex_copy", lambda x: aten.view_as_complex_copy(x).abs(), ((3, 2),)),
        Call("slice_copy", lambda x: aten.slice_copy.Tensor(x, 1, 1), one),
        Call("select_copy", lambda x: aten.select_copy.int(x, 1, 1), one),
        Call("split_copy", lambda x: aten.split_copy.Tensor(x, 2, 1), one),
        Call("squeeze_copy.dims", lambda x: aten.squeeze_copy.dims(x, [0]), ((1, 3),)),
        Call("_neg_view", lambda x: aten._neg_view(x), one),
        Call("_neg_view_copy", lambda x: aten._neg_view_copy(x), one),
        Call("_conj_copy", lambda x: aten._conj_copy(torch.complex(x, x)), one),
        Call("_reshape_alias", lambda x: aten._reshape_alias(x, [3, 2], [2, 1]), one),
        Call("_reshape_copy", lambda x: aten._reshape_copy(x, [3, 2]), one),
        Call("_unsafe_index", lambda x: aten._unsafe_index.Tensor(x, [None, torch.tensor([1, 0])]), one),
        Call(
            "_unsafe_index_put",
            lambda x, y: aten._unsafe_index_put(x, [torch.tensor([1, 0])], y, True),
            two,
        ),
        Call("_index_put_impl_", changed(lambda x, y: aten._index_put_impl_(x, [torch.tensor([1, 0])], y)), two),
        Call("geqrf", lambda x: aten.geqrf(x)[0], (square,), False, False),
        Call("native_dropout", seeded(lambda x: aten.native_dropout(x, 0.5, True)[0]), one),
        Call("_masked_softmax", lambda x: aten._masked_softmax(x, x > 1, 1, 2), one, False, False),
        Call("_weight_norm_interface", lambda v, g: aten._weight_norm_interface(v, g, 0)[0], (square, (3, 1)), False),
        Call("affine_grid_generator", lambda x: aten.affine_grid_generator(x, [1, 1, 2, 2], False), ((1, 2, 3),)),
        Call("_standard_gamma", seeded(aten._standard_gamma), one, False, False),
        Call("poisson", seeded(aten.poisson), one),
        Call("normal.float_Tensor", seeded(lambda x: aten.normal.float_Tensor(0.0, x)), one),
        Call("bernoulli_.Tensor", changed(seeded(lambda x: x.bernoulli_(torch.full((2, 3), 0.5)))), one),
        Call("uniform_", changed(seeded(lambda x: x.uniform_())), one),
        Call("geometric_", changed(seeded(lambda x: x.geometric_(0.5))), one),
        Call("exponential_", changed(seeded(lambda x: x.exponential_())), one),
        Call("log_normal_", changed(seeded(lambda x: x.log_normal_())), one),
        Call("cauchy_", changed(seeded(lambda x: x.cauchy_())), one),
        Call("random_", changed(seeded(lambda x: x.random_())), one),
        Call("embedding_renorm_", changed(lambda x: torch.embedding_renorm_(x * 1, torch.tensor([0]), 1.0, 2.0)), one),
        Call("rrelu_with_noise_functional", seeded(_rrelu), one, False),
        Call("_batch_norm_no_update", _no_update, ((2, 3), (3,), (3,)), False),
        Call("_native_batch_norm_legit_no_training", _no_training, ((2, 3), (3,), (3,)), False),
        Call("_native_batch_norm_legit.no_stats", _no_stats, ((2, 3), (3,), (3,)), False),
        Call("slow_conv_transpose2d", _transposed, (image, (1, 1, 2, 2), (1,)), False),
        Call("slow_conv_dilated2d", _dilated, (image, (1, 1, 2, 2), (1,)), False),
        Call("_slow_conv2d_forward", _slow, (image, (1, 1, 2, 2), (1,)), False),
        Call("slow_conv3d_forward", _slow_3d, ((1, 1, 3, 3, 3), (1, 1, 2, 2, 2), (1,)), False),
        Call("foreach_add.Tensor", lambda x, y: aten._foreach_add.Tensor([x, x], y.sum()), two),
        Call("foreach_mul.Tensor", lambda x, y: aten._foreach_mul.Tensor([x, x * 2], y.sum()), two),
        Call("foreach_div.Tensor", lambda x, y: aten._foreach_div.Tensor([x, x * 2], y.sum()), two),
        Call("foreach_sub.ScalarList", lambda x: aten._foreach_sub.ScalarList([x, x], [1.0, 2.0]), one),
        Call("foreach_pow.ScalarAndTensor", lambda x: aten._foreach_pow.ScalarAndTensor(2.0, [x, x]), one),
        Call("foreach_pow.ScalarList", lambda x: aten._foreach_pow.ScalarList([x, x], [2.0, 3.0]), one),
        Call("foreach_addcdiv.Scalar", lambda x, y: aten._foreach_addcdiv.Scalar([x], [y], [x], 2.0), two),
        Call("foreach_addcdiv.ScalarList", lambda x, y: aten._foreach_addcdiv.ScalarList([x], [y], [x], [2.0]), two),
        Call("foreach_mul_.ScalarList", lambda x: _list(aten._foreach_mul_.ScalarList, x, [2.0, 3.0]), one),
        Call("foreach_maximum_.List", lambda x, y: _list(aten._foreach_maximum_.List, x, [y, y]), two),
        Call("_test_autograd_multiple_dispatch", lambda x: aten._test_autograd_multiple_dispatch(x), one, False),
        Call("to_sparse", lambda x: x.to_sparse_csr().to_dense(), one, False, False),
        Call("sparse_sum", lambda x: torch.sparse.sum(x.to_sparse(), 1).to_dense(), one, False, False),
        Call("sparse_softmax", lambda x: torch.sparse.softmax(x.to_sparse(), 1).to_dense(), one, False, False),
        Call("sparse_log_softmax", lambda x: torch.sparse.log_softmax(x.to_sparse(), 1).to_dense(), one, False, False),
        Call("sparse_mm", lambda x: torch.sparse.mm(x.to_sparse(), x.to_sparse()).to_dense(), (square,), False, False),
        Call("sparse_addmm", lambda x, y: torch.sparse.addmm(y, x.to_sparse(), y), (square, square), False, False),
        Call("pack_padded_sequence", _packed, ((3, 2, 2),), False),
        Call("nested", _nested, two, False, False),
    ]

    def upsampled_as(mode: str, *, antialias: bool = False) -> Function:
        return lambda x: torch.nn.functional.interpolate(x, 5, mode=mode, antialias=antialias)

    found += [
        Call(
            f"{mode} {len(shape) - 2}d backward",
            slope(upsampled_as(mode)),
            (shape,),
            False,
        )
        for mode, shape in (
            ("nearest", (1, 1, 3)), ("nearest", (1, 1, 3, 3)), ("nearest", (1, 1, 3, 3, 3)),
            ("nearest-exact", (1, 1, 3)), ("nearest-exact", (1, 1, 3, 3)), ("nearest-exact", (1, 1, 3, 3, 3)),
            ("linear", (1, 1, 3)), ("bilinear", (1, 1, 3, 3)), ("bicubic", (1, 1, 3, 3)),
            ("trilinear", (1, 1, 3, 3, 3)),
        )
    ]  # fmt: skip
    found += [
        Call("bicubic aa", upsampled_as("bicubic", antialias=True), (image,)),
        Call("bicubic aa backward", slope(upsampled_as("bicubic", antialias=True)), (image,), False),
        Call("bilinear aa backward", slope(upsampled_as("bilinear", antialias=True)), (image,), False),
        Call("embedding backward", slope(lambda x: torch.embedding(x, torch.tensor([0, 1]))), one, False),
        Call("cdist backward", slope(lambda x, y: torch.cdist(x, y, 2.5)), two, False, False),
        Call("pdist backward", slope(torch.pdist), one, False, False),
    ]
    return found


def _list(function: Function, x: Any, other: Any) -> Any:
    made = [x * 1, x * 2]
    function(made, other)
    return made


def _rrelu(x: Any) -> Any:
    import torch

    return torch.ops.aten.rrelu_with_noise_functional(x - 1, torch.ones_like(x), 0.1, 0.3, True)[0]


def _stats(x: Any) -> tuple[Any, Any]:
    return x.detach().mean(0), x.detach().var(0)


def _no_update(x: Any, w: Any, b: Any) -> Any:
    import torch

    return torch.ops.aten._batch_norm_no_update(x, w, b, *_stats(x), 0.1, 1e-5)[0]


def _no_training(x: Any, w: Any, b: Any) -> Any:
    import torch

    mean, var = torch.zeros(3, dtype=x.dtype), torch.ones(3, dtype=x.dtype)
    return torch.ops.aten._native_batch_norm_legit_no_training(x, w, b, mean, var, 0.1, 1e-5)[0]


def _no_stats(x: Any, w: Any, b: Any) -> Any:
    import torch

    return torch.ops.aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5)[0]


def _transposed(x: Any, w: Any, b: Any) -> Any:
    import torch

    return torch.ops.aten.slow_conv_transpose2d(x, w, [2, 2], b)


def _dilated(x: Any, w: Any, b: Any) -> Any:
    import torch

    return torch.ops.aten.slow_conv_dilated2d(x, w, [2, 2], b)


def _slow(x: Any, w: Any, b: Any) -> Any:
    import torch

    return torch.ops.aten._slow_conv2d_forward(x, w, [2, 2], b, [1, 1], [0, 0])


def _slow_3d(x: Any, w: Any, b: Any) -> Any:
    import torch

    return torch.ops.aten.slow_conv3d_forward(x, w, [2, 2, 2], b, [1, 1, 1], [0, 0, 0])


def _packed(x: Any) -> Any:
    import torch

    return torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 2])).data


def _nested(x: Any, y: Any) -> Any:
    """The kernels for nested tensors that are not one by one with those of others."""
    import torch

    nested = torch.nested.as_nested_tensor([x, y])
    return [nested.view(2, -1, 3).select(0, 1), (nested * nested).to_padded_tensor(0.0)]
