"""Helper functions of derivative formulas on tensors, called by generated Python.

They correspond to FunctionsManual.cpp, with the same names and parameter order; an undefined tensor is ``None``.
Helpers that are single expressions are reference definitions of :mod:`derivlint.operators`, evaluated by
``definitions``; the others are functions in this package.
"""

import math
import sys
from collections.abc import Callable
from typing import Any

import torch

from derivlint.functional.checking import CheckError, check
from derivlint.functional.library import Entry, applied, broadcast, define, fake, not_differentiable, register
from derivlint.functional.linalg import (
    householder_product_backward,
    householder_product_jvp,
    linalg_det_backward,
    linalg_det_jvp,
    linalg_matrix_exp_differential,
    ormqr_backward,
)
from derivlint.functional.reductions import (
    cumprod_jvp,
    error_for_max_pool2d_double_backward,
    logcumsumexp_backward,
    logcumsumexp_jvp,
    mvlgamma_backward,
    unsqueeze_multiple,
    warn_backwards,
)
from derivlint.functional.shapes import (
    as_strided_backward,
    as_strided_scatter_backward,
    block_diag_backward,
    block_diag_jvp,
    cat_jvp,
    cat_tensors_backward,
    constant_pad_nd_backward,
    fft_c2r_backward,
    fft_r2c_backward,
    permute_backwards,
    repeat_backward,
    reverse_list,
    split_backward,
    split_with_sizes_backward,
    stack_jvp,
    stack_tensors_backward,
    unbind_backward,
)
from derivlint.functional.tensors import (
    Duals,
    TensorGeometry,
    TensorInfo,
    below_autograd,
    blocksize,
    computes,
    geometry,
    handle_r_to_c,
    memory_format,
    needed,
    not_implemented,
    not_implemented_list,
    options,
    strides,
    sum_to,
    tangent,
    to_sparse_backward,
    wrap_opt_if,
)

__all__ = [
    "CheckError",
    "Duals",
    "Entry",
    "TensorGeometry",
    "TensorInfo",
    "applied",
    "as_strided_backward",
    "as_strided_scatter_backward",
    "below_autograd",
    "block_diag_backward",
    "block_diag_jvp",
    "blocksize",
    "broadcast",
    "cat_jvp",
    "cat_tensors_backward",
    "check",
    "computes",
    "constant_pad_nd_backward",
    "cumprod_jvp",
    "define",
    "error_for_max_pool2d_double_backward",
    "fake",
    "fft_c2r_backward",
    "fft_r2c_backward",
    "geometry",
    "handle_r_to_c",
    "householder_product_backward",
    "householder_product_jvp",
    "linalg_det_backward",
    "linalg_det_jvp",
    "linalg_matrix_exp_differential",
    "logcumsumexp_backward",
    "logcumsumexp_jvp",
    "memory_format",
    "mvlgamma_backward",
    "namespace",
    "needed",
    "not_differentiable",
    "not_implemented",
    "not_implemented_list",
    "options",
    "ormqr_backward",
    "permute_backwards",
    "register",
    "repeat_backward",
    "reverse_list",
    "split_backward",
    "split_with_sizes_backward",
    "stack_jvp",
    "stack_tensors_backward",
    "strides",
    "sum_to",
    "tangent",
    "to_sparse_backward",
    "unbind_backward",
    "unsqueeze_multiple",
    "warn_backwards",
    "wrap_opt_if",
]


def namespace() -> dict[str, Any]:
    """The globals for evaluating a translated formula: ``torch``, ``math``, ``aten``, and this package as ``F``."""
    return {"torch": torch, "math": math, "aten": torch.ops.aten, "F": sys.modules[__name__]}


def __getattr__(name: str) -> Callable[..., Any]:
    """Return a helper that has a reference definition."""
    from derivlint.functional.definitions import defined_helper

    return defined_helper(name)
