"""Operators that a check of gradients finds something at, and why that is expected.

Kinds:
    convention: the operator has a kink or is declared constant, and the value that PyTorch chooses is the right one.
    gauge: vectors are unique only up to phases, and a difference of phases is none.
    manifold: an argument is a function of another one, which the check does not move along.
    defect: PyTorch's own derivative is wrong, here or inside of what the formula calls.
    limit: ``torch.autograd.Function`` cannot say what PyTorch's own nodes can.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deviation:
    """Why a check of an operator finds something.

    Attributes:
        kind: one of the kinds above.
        reason: what is after it.
        checks: the checks that find it.
    """

    kind: str
    reason: str
    checks: frozenset[str]


def _deviation(kind: str, reason: str, *checks: str) -> Deviation:
    return Deviation(kind, reason, frozenset(checks))


_ALL = ("gradcheck", "forward", "gradgradcheck")
_NORMAL = _deviation(
    "convention", "random numbers are declared to not be a function of the parameters", "gradcheck", "forward"
)
_RETURNS_ITSELF = _deviation(
    "limit",
    "it returns its argument, or views that its schema does not declare, and a Function wants views of tangents",
    "forward",
    "tangent",
)
_REPEATED = _deviation(
    "defect",
    "of elements with the same index one is kept, and the gradient of all of them is that of the kept",
    "gradcheck",
)
_OTHER_TRIANGLE = _deviation(
    "defect",
    "PyTorch's derivatives read the triangle that the operator does not read",
    "gradient",
    "second gradient",
    "tangent",
)
_NO_WEIGHT = "the derivative of layer_norm's gradient of the bias is dropped where there is no weight"

#: What gradcheck, gradgradcheck and gradcheck in forward mode find.
NUMERIC: dict[str, Deviation] = {
    "normal.Tensor_Tensor": _NORMAL,
    "normal.Tensor_float": _NORMAL,
    "normal.float_Tensor": _NORMAL,
    "clamp": _deviation("convention", "samples have elements that are equal to a bound", *_ALL),
    "threshold_backward": _deviation("convention", "samples have elements that are equal to the threshold", *_ALL),
    "linalg_eig": _deviation("gauge", "the phases of eigenvectors are free", *_ALL),
    "native_batch_norm_backward": _deviation("manifold", "the saved mean is a function of the input", "gradcheck"),
    "native_layer_norm_backward": _deviation("manifold", "mean and rstd are functions of the input", "gradcheck"),
    "log_sigmoid_backward": _deviation("manifold", "the buffer is a function of the input", *_ALL),
    "native_layer_norm": _deviation("defect", _NO_WEIGHT, "gradgradcheck"),
    "max_unpool2d": _REPEATED,
    "max_unpool3d": _REPEATED,
    "_sparse_mm_reduce_impl": _deviation(
        "convention", "the mean is over the elements that are specified, and gradcheck makes more", "gradcheck"
    ),
    "unsafe_split.Tensor": _RETURNS_ITSELF,
    "lift_fresh": _RETURNS_ITSELF,
    "convolution_backward": _deviation(
        "defect",
        "the second derivative convolves with output_padding where nothing is transposed, which is refused",
        "gradgradcheck",
    ),
}

#: What is not equal to PyTorch's own autograd.
AGAINST_PYTORCH: dict[str, Deviation] = {
    "unsafe_split.Tensor": _RETURNS_ITSELF,
    "_linalg_svd": _deviation("gauge", "complex singular vectors are turned by halves on both sides", "tangent"),
    "triangular_solve": _OTHER_TRIANGLE,
    "cholesky_solve": _OTHER_TRIANGLE,
    "cholesky_inverse": _OTHER_TRIANGLE,
    "as_strided_scatter": _deviation(
        "defect",
        "PyTorch's gradient of self is zero at other places than those that are overwritten",
        "gradient",
        "second gradient",
    ),
    "scatter_reduce.two": _deviation("defect", "PyTorch's tangent of a product is silently zero", "tangent"),
    "clamp.Tensor": _deviation(
        "convention", "at a bound PyTorch's tangent is the bound's, its gradient the argument's", "tangent"
    ),
    "native_group_norm": _deviation(
        "defect",
        "PyTorch drops the gradients of mean and rstd where that of the output is absent",
        "gradient of output 1",
        "gradient of output 2",
    ),
    "native_layer_norm_backward": _deviation("defect", _NO_WEIGHT, "gradient of output 1"),
}


def unexpected(
    found: dict[str, list[dict[str, str]]], expected: dict[str, Deviation]
) -> tuple[dict[str, str], list[str]]:
    """The failures that no deviation explains, and the deviations that found nothing though their operator was checked.

    Args:
        found: the answers of the checks of every call of an operator.
        expected: the deviations.
    """
    failed: dict[str, dict[str, str]] = {}
    for name, calls in found.items():
        for call in calls:
            for check, answer in call.items():
                if not answer.startswith(("ok", "no ", "both refuse", "only PyTorch refuses")):
                    failed.setdefault(name, {}).setdefault(check, answer)
    explained = {name: deviation.checks for name, deviation in expected.items()}
    rest = {
        f"{name} ({check})": answer
        for name, checks in failed.items()
        for check, answer in checks.items()
        if check not in explained.get(name, ())
    }
    return rest, [name for name in expected if name in found and name not in failed]
