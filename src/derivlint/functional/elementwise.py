"""Derivatives of operators that work element by element."""

# ruff: noqa: N803 - names of matrices as in formulas

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import torch
from torch import Tensor

from derivlint.functional.tensors import Number, handle_r_to_c

Pair = tuple[Tensor | None, Tensor | None]


def angle_backward(grad: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``angle``: ``i z / |z|^2``, zero at zero; the angle is constant over the reals."""
    if not self.is_complex():
        return torch.zeros_like(grad)
    return torch.where(self == 0, 0.0, grad * 1j * self / self.abs().square())


def atan2_backward(grad: Tensor | None, self: Tensor, other: Tensor, output_mask: Sequence[bool]) -> Pair:
    """The gradients of ``atan2``."""
    if grad is None:
        return None, None
    scaled = grad * (self * self + other * other).reciprocal()
    return scaled * other if output_mask[0] else None, scaled * -self if output_mask[1] else None


@overload
def clamp_backward(grad: Tensor, self: Tensor, min: Any, max: Any) -> Tensor: ...


@overload
def clamp_backward(grad: None, self: Tensor, min: Any, max: Any) -> None: ...


def clamp_backward(grad: Tensor | None, self: Tensor, min: Any, max: Any) -> Tensor | None:
    """The gradient of ``clamp`` with numbers or tensors as bounds: it passes between them."""
    if grad is None:
        return None
    inside = torch.ones_like(self, dtype=torch.bool)
    if min is not None:
        inside = inside & (self >= min)
    if max is not None:
        inside = inside & (self <= max)
    return torch.where(inside, grad, 0.0)


def clamp_backward_min_max(
    grad: Tensor | None, self: Tensor, min: Tensor | None, max: Tensor | None, mask: Sequence[bool]
) -> Pair:
    """The gradients of ``clamp(x) = minimum(maximum(x, min), max)`` for its bounds, where they are in effect."""
    if grad is None:
        return None, None
    into_min = into_max = None
    if mask[0] and min is not None:
        below = self < min
        into_min = torch.where(below if max is None else below & (min < max), grad, 0.0)
    if mask[1] and max is not None:
        raised = self if min is None else torch.maximum(self, min)
        into_max = torch.where(raised > max, grad, 0.0)
    return into_min, into_max


def clamp_jvp(
    self_p: Tensor,
    self_t: Tensor,
    min_p: Tensor | None,
    min_t: Tensor | None,
    max_p: Tensor | None,
    max_t: Tensor | None,
) -> Tensor:
    """The tangent of ``clamp``, of one bound after the other."""
    value, moved = self_p, self_t
    if min_p is not None and min_t is not None:
        moved = torch.where(value < min_p, min_t, moved)
        value = torch.maximum(value, min_p)
    if max_p is not None and max_t is not None:
        moved = torch.where(value > max_p, max_t, moved)
    return moved


def copysign_tensor_self_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient of ``copysign`` for the magnitude: whether its sign was kept, zero at zero."""
    kept = torch.where(self.signbit() == result.signbit(), grad, -grad)
    return torch.where(self == 0, 0.0, kept)


def deg2rad_backward(grad: Tensor) -> Tensor:
    """The gradient of ``deg2rad``."""
    return grad * (math.pi / 180)


def rad2deg_backward(grad: Tensor) -> Tensor:
    """The gradient of ``rad2deg``."""
    return grad * (180 / math.pi)


def div_tensor_self_backward(grad: Tensor, other: Any, dtype: torch.dtype, rounding_mode: str | None = None) -> Tensor:
    """The gradient of a quotient for the dividend."""
    if rounding_mode is not None:
        return torch.zeros_like(grad, dtype=grad.dtype)
    conj = other.conj() if isinstance(other, Tensor) else other.conjugate()
    return handle_r_to_c(dtype, grad / conj)


def div_tensor_other_backward(grad: Tensor, self: Tensor, other: Tensor, rounding_mode: str | None = None) -> Tensor:
    """The gradient of a quotient for the divisor."""
    if rounding_mode is not None:
        return torch.zeros_like(grad, dtype=other.dtype)
    return handle_r_to_c(other.dtype, -grad * ((self / other) / other).conj())


def mul_tensor_backward(grad: Tensor, other: Any, dtype: torch.dtype) -> Tensor:
    """The gradient of a product for one factor."""
    conj = other.conj() if isinstance(other, Tensor) else other.conjugate()
    return handle_r_to_c(dtype, grad * conj)


def _over(value: Tensor, x: Tensor) -> Tensor:
    """``value / x``, where value is ``x / 2`` near zero."""
    return torch.where(x == 0, 0.5, value / torch.where(x == 0, 1.0, x))


def i1_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient of the Bessel function ``I1``: ``I0 - I1 / x``."""
    return grad * (self.i0() - _over(result, self))


def i1e_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient of ``I1 exp(-|x|)``: that of ``I1``, scaled as well, less ``sgn(x)`` times the function."""
    slope: Tensor = torch.special.i0e(self) - _over(result, self)
    return grad * (slope - self.sgn() * result)


def log1p_backward(grad: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``log1p``."""
    return grad / (self + 1).conj()


def mvlgamma_backward(grad: Tensor, self: Tensor, p: int) -> Tensor:
    """The gradient of the multivariate log-gamma function: the digammas at ``x``, ``x - 1/2``, ... summed."""
    shifts = 0.5 * torch.arange(p, dtype=self.dtype, device=self.device)
    return grad * (self.unsqueeze(-1) - shifts).digamma().sum(-1)


def polar_backward(grad: Tensor | None, result: Tensor) -> Pair:
    """The gradients of ``r exp(i t)``: what comes in along ``exp(i t)``, and along ``i r exp(i t)``."""
    if grad is None:
        return None, None
    radial, tangential = result.sgn(), 1j * result
    return torch.real(grad.conj() * radial), torch.real(grad.conj() * tangential)


def pow_backward(grad: Tensor, self: Tensor, exponent: Number) -> Tensor:
    """The gradient of a power with a number as exponent: ``e x^(e - 1)``, zero for the exponent zero."""
    if not exponent:
        return torch.zeros_like(self)
    slope = exponent * self.pow(exponent - 1)
    return handle_r_to_c(self.dtype, grad * slope.conj())


def pow_backward_self(grad: Tensor, self: Tensor, exponent: Tensor) -> Tensor:
    """The gradient of a power for the base: ``e x^(e - 1)``, zero for the exponent zero, even of zero."""
    slope = (exponent * self.pow(exponent - 1)).masked_fill(exponent == 0, 0)
    return handle_r_to_c(self.dtype, grad * slope.conj())


def pow_backward_exponent(grad: Tensor, self: Any, exponent: Tensor, result: Tensor) -> Tensor:
    """The gradient of a power for the exponent: ``x^e log(x)``.

    It is zero for the base zero where the exponent is a real number that is not negative: such powers stay zero.
    """
    base = self.to(result.dtype) if isinstance(self, Tensor) else torch.as_tensor(self, dtype=result.dtype)
    power_stays = (torch.real(exponent) >= 0) & (exponent == torch.real(exponent)) & (base == 0)
    slope = torch.where(power_stays, 0.0, result * base.to(result.device).log())
    return handle_r_to_c(exponent.dtype, grad * slope.conj())


def sgn_backward(x: Tensor, gx: Tensor, sgn: Tensor) -> Tensor:
    """The gradient of ``z / |z|``: what is across the direction of ``z``, over its length; zero at zero.

    It is its own adjoint, and zero over the reals.
    """
    if not x.is_complex():
        return torch.zeros_like(sgn)
    across = gx - torch.real(sgn.conj() * gx) * sgn
    return torch.where(x == 0, 0.0, across / x.abs())


def sinc_backward(grad: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``sinc(x) = sin(pi x) / (pi x)``: ``(cos(pi x) - sinc(x)) / x``, zero at zero."""
    slope = ((math.pi * self).cos() - self.sinc()) / self
    return torch.where(self == 0, 0.0, grad * slope.conj())


def infinitely_differentiable_logit_backward(grad: Tensor, self: Tensor, eps: float | None) -> Tensor:
    """The gradient of ``logit``: ``1 / (x (1 - x))``; outside of its range NaN, or zero where it is clamped."""
    margin, outside = (0.0, math.nan) if eps is None else (eps, 0.0)
    inside = (self >= margin) & (self <= 1.0 - margin)
    return torch.where(inside, grad / (self * (1.0 - self)), outside)


def infinitely_differentiable_silu_backward(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of ``silu``."""
    sigmoid = input.sigmoid()
    return grad_output * sigmoid * (1.0 + input * (1.0 - sigmoid))


def infinitely_differentiable_mish_backward(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of ``mish``."""
    sigmoid = input.sigmoid()
    tanh = torch.nn.functional.softplus(input).tanh()
    return grad_output * (tanh + input * sigmoid * (1.0 - tanh * tanh))


def gelu_double_backward(ggI: Tensor, gO: Tensor, input: Tensor, approximate: str) -> Tensor:
    """The gradient of ``gelu_backward`` for the input: the second derivative of ``gelu``.

    That of ``x Phi(x)`` is ``phi(x) (2 - x^2)``, that of ``x (1 + tanh u) / 2`` is
    ``sech^2(u) (u' + x (u'' / 2 - tanh(u) u'^2))``.
    """
    if approximate != "tanh":
        density = (-0.5 * input.square()).exp() / math.sqrt(2 * math.pi)
        return ggI * gO * density * (2 - input.square())
    cubic, scale = 0.044715, math.sqrt(2 / math.pi)
    tanh = (scale * (input + cubic * input.pow(3))).tanh()
    first, second = scale * (1 + 3 * cubic * input.square()), scale * 6 * cubic * input
    return ggI * gO * (1 - tanh.square()) * (first + input * (second / 2 - tanh * first.square()))


def elu_double_backward(
    grad: Tensor,
    grad_output: Tensor,
    alpha: Number,
    scale: Number,
    input_scale: Number,
    is_result: bool,
    self_or_result: Tensor,
) -> Tensor:
    """The gradient of ``elu_backward`` for the input, or for the result that it was given instead."""
    x = self_or_result
    if is_result:
        return torch.where(x <= 0, grad * grad_output * input_scale, 0.0)
    slope = input_scale * input_scale * alpha * scale
    return torch.where(x <= 0, grad * grad_output * slope * torch.exp(x * input_scale), 0.0)


def log_sigmoid_double_backward(grad: Tensor, input: Tensor) -> Tensor:
    """The gradient of ``log_sigmoid_backward`` for the input, without the incoming gradient."""
    z = input.sigmoid()
    return grad * (z - 1) * z


def softplus_double_backward(grad: Tensor, input: Tensor, beta: Number, threshold: Number) -> Tensor:
    """The gradient of ``softplus_backward`` for the input, without the incoming gradient."""
    x = input * beta
    value = torch.sigmoid(x)
    return torch.where(x > threshold, 0.0, grad * value * (1 - value) * beta)


def _glu_parts(input: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """The first half of the input of ``a s(b)``, with the sigmoid ``s(b)`` and its derivative."""
    first, second = input.chunk(2, dim)
    gate = second.sigmoid()
    return first, gate, gate * (1 - gate)


def glu_double_backward(grad: Tensor, grad_output: Tensor, input: Tensor, dim: int) -> Tensor:
    """The gradient of ``glu_backward``, which is ``g s(b)`` and ``g a s'(b)``, for ``a`` and ``b``."""
    first, gate, slope = _glu_parts(input, dim)
    into_first, into_second = grad.chunk(2, dim)
    curve = slope * (1 - 2 * gate)
    mixed = into_second * slope
    return torch.cat((mixed, into_first * slope + into_second * first * curve), dim) * torch.cat(
        (grad_output, grad_output), dim
    )


def glu_double_backward_grad_output(grad: Tensor, input: Tensor, dim: int) -> Tensor:
    """The gradient of ``glu_backward`` for the incoming gradient."""
    first, gate, slope = _glu_parts(input, dim)
    into_first, into_second = grad.chunk(2, dim)
    return into_first * gate + into_second * first * slope


def _fused_dropout_backward(grad: Tensor, mask: Tensor, p1m: float) -> Tensor:
    """The gradient of a dropout that scales by ``1 / p1m``."""
    return grad * mask.to(grad.dtype) * (1.0 / p1m) if p1m else grad * mask.to(grad.dtype)


def infinitely_differentiable_native_dropout_backward(grad: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient of ``native_dropout``."""
    return grad * (mask.to(grad.dtype) * scale)


def native_dropout_double_backward(ggI: Tensor, grad: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient of ``native_dropout_backward``."""
    return ggI.to(grad.dtype) * (mask.to(grad.dtype) * scale)


def masked_fill_backward(grad: Tensor, mask: Tensor) -> Tensor:
    """The gradient of ``masked_fill`` for the value."""
    return torch.where(mask, grad, 0).sum()


def warn_backwards(grad_output: Tensor) -> Tensor:
    """The gradient of PyTorch's test of warnings."""
    import warnings

    warnings.warn("Warn from backward", stacklevel=2)
    return grad_output
