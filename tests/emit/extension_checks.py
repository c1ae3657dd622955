"""Checks of a loaded extension, for a child process: ``python extension_checks.py FOLDER BUILD_FOLDER``.

Kernels cannot be taken back, so that no process that tests other things may load an extension. Prints one JSON object:
what each check said, empty where all was well.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from tests.emit.loading import load_with_classes

Check = Callable[[], None]

#: The namespace of the nodes.
NAMESPACE = "derivlint_tests"

#: What :mod:`saved_checks` and many snippets of :mod:`behaviour_checks` call, and what has a wrong derivative.
ALWAYS = (
    *("cosh", "sin", "exp", "mul", "pow", "sum", "mm"),
    *("select", "var_mean", "index", "tril", "_foreach_pow", "clone"),
)

#: Operators of every kind, as ``derivlint emit cpp --ops`` takes them.
OPERATORS = (
    *("cosh", "sin", "exp", "sigmoid", "tanh", "log", "abs", "reciprocal", "clamp", "neg"),
    *("add", "sub", "mul", "div", "pow", "atan2", "where", "lerp"),
    *("sum", "mean", "prod", "amax", "logsumexp", "cumprod", "var", "linalg_vector_norm"),
    *("mm", "bmm", "addmm", "addcmul", "linalg_inv_ex"),
    *("view", "t", "transpose", "expand", "select", "slice", "unsqueeze", "split", "as_strided", "_reshape_alias"),
    *("cat", "stack", "sort", "topk", "max", "unbind", "var_mean", "linalg_eigh"),
    *("native_layer_norm", "convolution", "index", "embedding", "gather", "masked_fill"),
    *("gelu", "logit", "aminmax", "flip", "huber_loss", "tril"),
    *("_foreach_mul", "_foreach_exp", "_foreach_pow", "copy", "fill", "zero", "clone", "view_as_real"),
)


def main(folder: str, build_folder: str) -> None:
    """Load the extension and print what the checks say."""
    extension, classes = load_with_classes(folder, build_folder)
    results = {}
    for name, check in checks(dict(extension.operators), classes).items():
        try:
            check()
            results[name] = ""
        except Exception:
            results[name] = traceback.format_exc()
    print(json.dumps(results))


def checks(operators: dict[str, str | None], classes: frozenset[type[Any]]) -> dict[str, Check]:
    """The checks by name, those whose operators the extension has."""
    import torch

    torch.manual_seed(1)
    return {name: check for name, (needed, check) in _gradients(torch, classes).items() if needed in operators}


def _gradients(torch: Any, classes: frozenset[type[Any]]) -> dict[str, tuple[str, Check]]:
    """For each operator: our node runs, and first, second and forward-mode derivatives are right."""

    def real(*shape: int) -> Any:
        return (torch.rand(*shape, dtype=torch.double) + 0.5).requires_grad_()

    def cplx(*shape: int) -> Any:
        return torch.randn(*shape, dtype=torch.cdouble).requires_grad_()

    index = torch.tensor([[0, 2, 1], [1, 0, 2]])
    mask = torch.tensor([[True, False, True], [False, False, True]])
    foreach = torch._foreach_mul, torch._foreach_exp
    cases: dict[str, tuple[str, str, Callable[..., Any], tuple[Any, ...]]] = {
        "sin": ("sin", "SinBackward0", torch.sin, (real(2, 3),)),
        "exp": ("exp", "ExpBackward0", torch.exp, (real(2, 3),)),
        "sigmoid": ("sigmoid", "SigmoidBackward0", torch.sigmoid, (real(2, 3),)),
        "tanh": ("tanh", "TanhBackward0", torch.tanh, (real(2, 3),)),
        "log": ("log", "LogBackward0", torch.log, (real(2, 3),)),
        "abs": ("abs", "AbsBackward0", torch.abs, (real(2, 3),)),
        "reciprocal": ("reciprocal", "ReciprocalBackward0", torch.reciprocal, (real(2, 3),)),
        "clamp": ("clamp", "ClampBackward1", lambda x: torch.clamp(x, 0.7, 1.2), (real(2, 3),)),
        "neg": ("neg", "NegBackward0", torch.neg, (real(2, 3),)),
        "add": ("add.Tensor", "AddBackward0", lambda x, y: torch.add(x, y, alpha=2), (real(2, 3), real(3))),
        "sub": ("sub.Tensor", "SubBackward0", torch.sub, (real(2, 3), real(2, 1))),
        "mul": ("mul.Tensor", "MulBackward0", torch.mul, (real(2, 3), real(3))),
        "div": ("div.Tensor", "DivBackward0", torch.div, (real(2, 3), real(2, 3))),
        "pow": ("pow.Tensor_Tensor", "PowBackward1", torch.pow, (real(2, 3), real(2, 3))),
        "atan2": ("atan2", "Atan2Backward0", torch.atan2, (real(2, 3), real(2, 3))),
        "where": ("where.self", "WhereBackward0", lambda x, y: torch.where(mask, x, y), (real(2, 3), real(2, 3))),
        "lerp": ("lerp.Tensor", "LerpBackward1", torch.lerp, (real(2, 3), real(2, 3), real(2, 3))),
        "sum": ("sum.dim_IntList", "SumBackward1", lambda x: x.sum(1), (real(2, 3),)),
        "mean": ("mean.dim", "MeanBackward1", lambda x: x.mean(0), (real(2, 3),)),
        "prod": ("prod.dim_int", "ProdBackward1", lambda x: x.prod(1), (real(2, 3),)),
        "amax": ("amax", "AmaxBackward0", lambda x: x.amax(1), (real(2, 3),)),
        "logsumexp": ("logsumexp", "LogsumexpBackward0", lambda x: x.logsumexp(1), (real(2, 3),)),
        "cumprod": ("cumprod", "CumprodBackward0", lambda x: x.cumprod(1), (real(2, 3),)),
        "var": ("var.correction", "VarBackward0", lambda x: x.var(1), (real(2, 3),)),
        "norm": (
            "linalg_vector_norm",
            "LinalgVectorNormBackward0",
            lambda x: torch.linalg.vector_norm(x, 3, 1),
            (real(2, 3),),
        ),
        "mm": ("mm", "MmBackward0", torch.mm, (real(2, 3), real(3, 2))),
        "bmm": ("bmm", "BmmBackward0", torch.bmm, (real(2, 2, 3), real(2, 3, 2))),
        "addmm": ("addmm", "AddmmBackward0", torch.addmm, (real(2, 2), real(2, 3), real(3, 2))),
        "addcmul": (
            "addcmul",
            "AddcmulBackward0",
            lambda x, y, z: torch.addcmul(x, y, z, value=3),
            (real(2, 3), real(2, 3), real(3)),
        ),
        "inverse": (
            "linalg_inv_ex",
            "LinalgInvExBackward0",
            lambda x: torch.linalg.inv_ex(x + 3 * torch.eye(3)).inverse,
            (real(3, 3),),
        ),
        "view": ("view", "ViewBackward0", lambda x: x.view(3, 2), (real(2, 3),)),
        "t": ("t", "TBackward0", torch.t, (real(2, 3),)),
        "transpose": ("transpose.int", "TransposeBackward0", lambda x: x.transpose(0, 1), (real(2, 3),)),
        "expand": ("expand", "ExpandBackward0", lambda x: x.expand(2, 3), (real(1, 3),)),
        "select": ("select.int", "SelectBackward0", lambda x: x.select(1, 1), (real(2, 3),)),
        "slice": ("slice.Tensor", "SliceBackward0", lambda x: x[:, 1:], (real(2, 3),)),
        "unsqueeze": ("unsqueeze", "UnsqueezeBackward0", lambda x: x.unsqueeze(1), (real(2, 3),)),
        "split": ("split.Tensor", "SplitBackward0", lambda x: x.split(1, 0), (real(2, 3),)),
        "cat": ("cat", "CatBackward0", lambda x, y: torch.cat([x, y], 1), (real(2, 3), real(2, 2))),
        "stack": ("stack", "StackBackward0", lambda x, y: torch.stack([x, y], 1), (real(2, 3), real(2, 3))),
        "sort": ("sort", "SortBackward0", lambda x: x.sort(1).values, (real(2, 3),)),
        "topk": ("topk", "TopkBackward0", lambda x: x.topk(2, 1).values, (real(2, 3),)),
        "max": ("max.dim", "MaxBackward0", lambda x: x.max(1).values, (real(2, 3),)),
        "unbind": ("unbind.int", "UnbindBackward0", lambda x: x.unbind(1), (real(2, 3),)),
        "var_mean": ("var_mean.correction", "VarMeanBackward0", lambda x: torch.var_mean(x, 1), (real(2, 3),)),
        "layer_norm": (
            "native_layer_norm",
            "NativeLayerNormBackward0",
            lambda x, w, b: torch.native_layer_norm(x, [3], w, b, 1e-5)[0],
            (real(2, 3), real(3), real(3)),
        ),
        "layer_norm_without_weight": (
            "native_layer_norm",
            "NativeLayerNormBackward0",
            lambda x: torch.native_layer_norm(x, [3], None, None, 1e-5)[0],
            (real(2, 3),),
        ),
        "convolution": (
            "convolution",
            "ConvolutionBackward0",
            lambda x, w, b: torch.convolution(x, w, b, [1], [0], [1], False, [0], 1),
            (real(1, 2, 4), real(2, 2, 2), real(2)),
        ),
        "index": ("index.Tensor", "IndexBackward0", lambda x: x[:, index[0]], (real(2, 3),)),
        "gather": ("gather", "GatherBackward0", lambda x: x.gather(1, index), (real(2, 3),)),
        "masked_fill": (
            "masked_fill.Scalar",
            "MaskedFillBackward0",
            lambda x: x.masked_fill(mask, 2.0),
            (real(2, 3),),
        ),
        "foreach_mul": (
            "_foreach_mul.List",
            "ForeachMulBackward0List",
            lambda x, y: tuple(foreach[0]([x, y], [y, x])),
            (real(2, 3), real(2, 3)),
        ),
        "foreach_exp": (
            "_foreach_exp",
            "ForeachExpBackward0",
            lambda x, y: tuple(foreach[1]([x, y])),
            (real(2, 3), real(2)),
        ),
        "clone": ("clone", "CloneBackward0", torch.clone, (real(2, 3),)),
        "complex_mul": ("mul.Tensor", "MulBackward0", torch.mul, (cplx(2, 3), cplx(3))),
        "complex_exp": ("exp", "ExpBackward0", torch.exp, (cplx(2, 3),)),
        "complex_abs": ("abs", "AbsBackward0", torch.abs, (cplx(2, 3),)),
        "complex_mm": ("mm", "MmBackward0", torch.mm, (cplx(2, 3), cplx(3, 2))),
        "view_as_real": ("view_as_real", "ViewAsRealBackward0", torch.view_as_real, (cplx(2, 3),)),
        "mul_": ("mul_.Tensor", "MulBackward0", lambda x, y: x.clone().mul_(y), (real(2, 3), real(2, 3))),
        "sin_": ("sin_", "SinBackward0", lambda x: x.clone().sin_(), (real(2, 3),)),
        "cosh": ("cosh", "CoshBackward0", torch.cosh, (real(2, 3),)),
        "cosh_": ("cosh_", "CoshBackward0", lambda x: x.clone().cosh_(), (real(2, 3),)),
    }

    def check(node: str, function: Callable[..., Any], inputs: tuple[Any, ...]) -> Check:
        def run() -> None:
            result = function(*inputs)
            for output in result if isinstance(result, (tuple, list)) else (result,):
                assert (type(output.grad_fn) in classes, output.grad_fn.name()) == (True, node), output.grad_fn
            assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True, check_undefined_grad=True)
            assert torch.autograd.gradgradcheck(function, inputs)

        return run

    return {
        name: (operator, check(node, function, inputs)) for name, (operator, node, function, inputs) in cases.items()
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
