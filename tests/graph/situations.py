"""Operators for random graphs: expressions over one or two tensors of shape (2, 3) with values in (0.2, 0.8)."""

from __future__ import annotations

import re

from hypothesis import strategies as st

#: Expressions whose result has the shape of ``x`` and stays near the values that all of these are smooth at.
UNARY = (
    "sigmoid(x)", "tanh(x)", "sin(x)", "cos(x)", "exp(neg(x))", "log(add(x, 1.5))", "sqrt(add(abs(x), 1))",
    "rsqrt(add(square(x), 1))", "reciprocal(add(square(x), 1))", "pow(x, 2)", "pow(x, 3)", "mul(x, 0.7)",
    "div(x, 1.3)", "add(x, 0.1)", "sub(x, 0.2)", "rsub(x, 1)", "erf(x)", "erfc(x)", "expm1(mul(x, 0.3))",
    "exp2(neg(x))", "log1p(square(x))", "log2(add(square(x), 1))", "log10(add(square(x), 2))", "atan(x)", "asinh(x)",
    "sinh(mul(x, 0.3))", "cosh(mul(x, 0.3))", "acosh(add(square(x), 1.5))", "atanh(mul(tanh(x), 0.5))",
    "asin(mul(tanh(x), 0.5))", "acos(mul(tanh(x), 0.5))", "tan(mul(tanh(x), 0.5))", "silu(x)", "mish(x)", "gelu(x)",
    'gelu(x, approximate="tanh")', "softplus(x)", "elu(x)", "selu(x)", "celu(x)", "leaky_relu(x)", "log_sigmoid(x)",
    "hardtanh(x, -5, 5)", "relu(add(square(x), 0.1))", "threshold(x, -9, 0)", "clamp(x, -7, 7)", "softmax(x, -1)",
    "log_softmax(x, -1)", "softmax(x, 0)", "cumsum(x, 1)", "lgamma(add(square(x), 1))", "digamma(add(square(x), 1))",
    "sinc(add(square(x), 0.3))", "logit(mul(sigmoid(x), 0.9))", "i0(mul(x, 0.5))", "special_i1(mul(x, 0.5))",
    "special_i1e(mul(x, 0.5))", "expand(sum(x, [0], True), size(x))", "expand(mean(x, [1], True), size(x))",
    "sub(x, mean(x))", "mul(x, sum(x))", "div(x, add(std(x, [1], correction=1, keepdim=True), 1))",
    "mul(x, var(x, [0], correction=1, keepdim=True))", "sub(x, logsumexp(x, [1], True))",
    "mul(x, norm(x, 2, [1], True))", "mul(x, linalg_vector_norm(x, 3, [0], True))", "mul(x, prod(x, 1, True))",
    "mul(x, nansum(x))", "div(x, add(std(x), 1))", "mm(matmul(x, t(x)), x)", "transpose(transpose(x, 0, 1), 0, 1)",
    "squeeze(unsqueeze(x, 0), 0)", "flip(x, [0])", "tril(x)", "triu(x)", "view(reshape(x, [6]), [2, 3])",
    "mm(mm(x, t(x)), x)", "cat([slice(x, 0, 1, 2), slice(x, 0, 0, 1)], 0)",
    "stack([select(x, 0, 1), select(x, 0, 0)], 0)", "clone(x)", "masked_fill(x, gt(x, 100), 0.0)",
    "where(gt(x, 50), x, sin(x))", "sub(x, amax(x, [1], True))", "deg2rad(x)", "permute(permute(x, [1, 0]), [1, 0])",
    "positive(x)",
)  # fmt: skip
BINARY = (
    "add(x, y)", "sub(x, y)", "mul(x, y)", "div(x, add(square(y), 1))", "add(x, y, alpha=2)",
    "atan2(x, add(square(y), 1))", "maximum(x, sub(y, 40))", "minimum(x, add(y, 40))",
    "pow(add(square(x), 0.5), tanh(y))", "addcmul(x, y, y, value=0.5)", "addcdiv(x, y, add(square(y), 1))",
    "lerp(x, y, 0.3)", "xlogy(x, add(square(y), 1))", "logaddexp(x, y)", "hypot(add(square(x), 1), y)",
    "mul(x, sum(y, [0], True))", "mul(mse_loss(x, y), x)", "mul(smooth_l1_loss(x, add(y, 9)), x)",
    "addmm(x, mm(y, t(y)), x)", "where(lt(y, 100), x, y)", "copysign(add(square(x), 1), y)", "mm(mm(x, t(y)), x)",
    "mm(linear(x, y), x)", "huber_loss(x, y, 0)", "clamp(x, sub(y, 40), add(y, 40))",
    "binary_cross_entropy(sigmoid(x), sigmoid(y), None, 0)", "binary_cross_entropy_with_logits(x, y, None, None, 0)",
    "abs(polar(add(square(x), 1), y))", "angle(complex(add(square(x), 1), y))",
    "real(mul(sgn(complex(x, y)), pow(complex(y, add(square(x), 1)), complex(x, y))))", "glu(cat([x, y], 1), 1)",
)  # fmt: skip


@st.composite
def programs(draw: st.DrawFn, max_steps: int = 6) -> str:
    """An expression over ``a`` and ``b`` with up to ``max_steps`` definitions; every step is damped to stay bounded."""
    steps = draw(st.integers(1, max_steps))
    known = ["a", "b"]
    lines = ["a0 = mul(a, 1.0)"]
    for number in range(steps):
        template = draw(st.sampled_from(UNARY + BINARY))
        x, y = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        text = re.sub(r"\by\b", y, re.sub(r"\bx\b", x, template))
        lines.append(f"h{number} = mul(sigmoid({text}), 0.6)")
        known.append(f"h{number}")
    results = draw(st.lists(st.sampled_from(known[2:]), min_size=1, max_size=2))
    return "; ".join([*lines, ", ".join([*results, "add(a0, b)"][: len(results) + draw(st.integers(0, 1))])])
