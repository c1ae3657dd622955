"""Calls of operators whose formulas call the helpers: real and complex, at kinks, zeros and equal elements."""

from __future__ import annotations

from typing import Any

from tests.emit_python.samples import Call


def helper_calls() -> list[tuple[str, Call]]:
    """The operators with their calls."""
    import torch

    torch.manual_seed(0)
    double, cdouble = torch.float64, torch.complex128

    def some(*shape: int, dtype: Any = double) -> Any:
        return torch.randn(shape, dtype=dtype)

    def positive(*shape: int) -> Any:
        return torch.rand(*shape, dtype=double) * 0.8 + 0.1

    def well(n: int, dtype: Any = double) -> Any:
        return some(n, n, dtype=dtype) + 3 * torch.eye(n, dtype=dtype)

    symmetric = well(3) @ well(3).mT + 40 * torch.eye(3, dtype=double)
    zeros = torch.tensor([0.0, -1.0, 2.0, 0.0], dtype=double)
    ties = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 0.5]], dtype=double)
    index = torch.tensor([[0, 1, 0], [1, 1, 0]])
    calls: list[tuple[str, Call]] = [
        ("angle", ((some(4, dtype=cdouble),), {})),
        ("angle", ((zeros,), {})),
        ("atan2", ((some(3), some(3)), {})),
        ("clamp.Tensor", ((some(6), some(6) - 0.5, some(6) + 0.3), {})),
        ("clamp.Tensor", ((zeros, None, torch.zeros(4, dtype=double)), {})),
        ("clamp", ((zeros, -1, 0), {})),
        ("copysign.Tensor", ((zeros, some(4)), {})),
        ("div.Tensor", ((some(3, dtype=cdouble), some(3)), {})),
        ("special_i1", ((zeros,), {})),
        ("special_i1e", ((zeros,), {})),
        ("mvlgamma", ((positive(3) + 2, 3), {})),
        ("polar", ((positive(3), some(3)), {})),
        ("pow.Tensor_Scalar", ((zeros, 2), {})),
        ("pow.Tensor_Scalar", ((some(3, dtype=cdouble), 2.5), {})),
        ("pow.Tensor_Tensor", ((positive(3), some(3)), {})),
        ("pow.Tensor_Tensor", ((torch.zeros(2, dtype=double), torch.tensor([0.0, 2.0], dtype=double)), {})),
        ("pow.Scalar", ((0, torch.tensor([0.0, 2.0], dtype=double)), {})),
        ("pow.Scalar", ((3.0, some(3, dtype=cdouble)), {})),
        ("sgn", ((some(3, dtype=cdouble),), {})),
        ("sinc", ((some(4),), {})),
        ("logit", ((positive(4), 0.3), {})),
        ("logit", ((positive(4),), {})),
        ("gelu_backward", ((some(4), some(4)), {"approximate": "tanh"})),
        ("gelu_backward", ((some(4), some(4)), {})),
        ("glu_backward", ((some(2, 3), some(2, 6), 1), {})),
        ("elu_backward", ((some(4), 1.5, 0.7, 1.2, False, some(4)), {})),
        ("silu", ((some(4),), {})),
        ("mish", ((some(4),), {})),
        ("softplus_backward", ((some(4), some(4), 2.0, 3.0), {})),
        ("binary_cross_entropy_backward", ((some(4), positive(4), positive(4), positive(4), 1), {})),
        ("binary_cross_entropy_with_logits", ((some(4), positive(4), positive(4), positive(4), 2), {})),
        ("binary_cross_entropy", ((positive(4), positive(4), None, 0), {})),
        ("mse_loss_backward", ((some(), some(4), some(4), 1), {})),
        ("huber_loss_backward", ((some(), some(4), some(4), 2, 0.7), {})),
        ("smooth_l1_loss_backward", ((some(4), some(4), some(4), 0, 0.5), {})),
        ("soft_margin_loss_backward", ((some(), some(4), some(4), 1), {})),
        ("logsumexp", ((some(2, 3, 4), [0, -1]), {})),
        ("logsumexp", ((some(3, 4, dtype=cdouble), [1], True), {})),
        ("logcumsumexp", ((some(3, 4), 1), {})),
        ("cumprod", ((zeros, 0), {})),
        ("prod", ((zeros,), {})),
        ("prod.dim_int", ((ties, 1, True), {})),
        ("amax", ((ties, [1]), {})),
        ("aminmax", ((ties,), {"dim": 1})),
        ("max", ((ties,), {})),
        ("var.correction", ((some(3, 4), [1]), {"correction": 0.5})),
        ("std.correction", ((some(3, 4),), {})),
        ("var_mean.correction", ((some(3, 4), [0]), {})),
        (
            "std_mean.correction",
            (
                (
                    some(3, 4),
                    [0],
                ),
                {"keepdim": True},
            ),
        ),
        ("renorm", ((some(3, 4), 2.5, 0, 1.0), {})),
        ("_euclidean_dist", ((some(3, 2), some(4, 2)), {})),
        ("_softmax_backward_data", ((some(3, 4), some(3, 4), 1, double), {})),
        ("scatter_reduce.two", ((ties, 1, index, ties.flip(1), "amax"), {})),
        ("scatter_reduce.two", ((zeros.reshape(2, 2), 1, index[:, :2], zeros.reshape(2, 2), "prod"), {})),
        ("scatter_reduce.two", ((some(2, 3), 1, index, some(2, 3), "mean"), {"include_self": False})),
        ("index_reduce", ((some(3, 2), 0, torch.tensor([0, 2, 0]), some(3, 2), "prod"), {})),
        ("repeat", ((some(2, 3), [2, 1, 2]), {})),
        ("as_strided", ((some(4, 3), [3, 2], [1, 2], 1), {})),
        ("as_strided_scatter", ((some(4, 3), some(3, 2), [3, 2], [1, 3], 1), {})),
        ("_fft_r2c", ((some(2, 5), [1], 0, True), {})),
        ("_fft_r2c", ((some(4, 6), [0, 1], 1, True), {})),
        ("_fft_r2c", ((some(4), [0], 0, False), {})),
        ("_fft_c2r", ((some(3, 4, dtype=cdouble), [1], 2, 6), {})),
        ("_fft_c2r", ((some(3, 4, dtype=cdouble), [0, 1], 0, 7), {})),
        ("embedding_dense_backward", ((some(2, 3, 4), index, 5, 1, False), {})),
        ("block_diag", (([some(2, 2), some(3), some()],), {})),
        ("norm.ScalarOpt_dim", ((ties, 3, [1]), {})),
        ("linalg_cholesky_ex", ((symmetric,), {})),
        ("linalg_cholesky_ex", ((symmetric,), {"upper": True})),
        ("linalg_lu", ((some(3, 5),), {})),
        ("linalg_lu", ((some(5, 3, dtype=cdouble),), {})),
        ("linalg_lu_factor_ex", ((well(3),), {})),
        ("linalg_lu_solve", ((well(3), torch.tensor([1, 2, 3], dtype=torch.int32), some(3, 2)), {"adjoint": True})),
        ("linalg_qr", ((some(3, 5),), {})),
        ("linalg_qr", ((some(5, 3, dtype=cdouble), "reduced"), {})),
        ("_linalg_svd", ((some(4, 3), False, True), {})),
        ("linalg_eig", ((well(3, cdouble),), {})),
        ("_linalg_det", ((well(3),), {})),
        ("_linalg_det", ((torch.ones(3, 3, dtype=double),), {})),
        ("_linalg_slogdet", ((well(3, cdouble),), {})),
        ("_linalg_solve_ex", ((well(3), some(3)), {})),
        ("_linalg_solve_ex", ((well(3, cdouble), some(2, 3, dtype=cdouble)), {"left": False})),
        ("linalg_solve_triangular", ((well(3), some(3, 2)), {"upper": True, "unitriangular": True})),
        ("cholesky_solve", ((some(3, 2), well(3).triu(), True), {})),
        ("cholesky_inverse", ((well(3).tril(),), {})),
        ("linalg_pinv.atol_rtol_tensor", ((some(4, 3),), {})),
        ("linalg_lstsq", ((some(4, 3), some(4, 2)), {})),
        ("linalg_matrix_exp", ((some(3, 3),), {})),
        ("linalg_householder_product", ((some(4, 3), some(3)), {})),
        ("ormqr", ((some(4, 3), some(3), some(4, 2), True, True), {})),
        ("native_batch_norm", ((some(4, 3, 2), some(3), some(3), None, None, True, 0.1, 1e-5), {})),
        ("native_layer_norm", ((some(3, 4), [4], some(4), some(4), 1e-5), {})),
        ("native_group_norm", ((some(2, 4, 3), some(4), some(4), 2, 4, 3, 2, 1e-5), {})),
        ("convolution", ((some(1, 2, 5), some(3, 2, 3), some(3), [1], [0], [1], False, [0], 1), {})),
        ("_trilinear", ((some(2, 3), some(2, 3), some(2, 3), [], [], [], [1]), {})),
    ]
    for order in (0, 0.5, 1, 1.5, 2, 3, float("inf"), float("-inf")):
        calls.append(("linalg_vector_norm", ((ties, order, [1]), {})))
        calls.append(("linalg_vector_norm", ((some(3, dtype=cdouble), order), {})))
    return calls
