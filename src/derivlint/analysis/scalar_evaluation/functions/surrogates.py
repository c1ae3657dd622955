"""Random and rounding operators, represented by the functions that their derivatives assume.

Dropout keeps the element. Rounding is the identity within the quantized range, as in PyTorch's derivatives.
"""

from __future__ import annotations

from derivlint.analysis.scalar_evaluation.functions.table import helper, operator, operators
from derivlint.analysis.scalar_evaluation.values import Value


@operator()
def native_dropout(input: Value, p: Value, train: Value) -> Value:
    """The kept element, and the mask."""
    return (input / (1 - p) if train is None or train else input), True


@operator("_cudnn_ctc_loss", "miopen_ctc_loss")
def ctc_loss(
    log_probs: Value,
    _targets: Value,
    _input_lengths: Value,
    _target_lengths: Value,
    _blank: Value,
    _deterministic: Value,
    _zero_infinity: Value,
) -> Value:
    """The loss of one step without labels, and its gradient."""
    return -log_probs, -1.0


@operator(
    "fake_quantize_per_tensor_affine_cachemask",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    "fake_quantize_per_channel_affine_cachemask",
)
def fake_quantized(
    self: Value,
    scale: Value,
    zero_point: Value,
    quant_min: Value,
    quant_max: Value,
    _axis: Value = None,
    _fake_quant_enabled: Value = None,
) -> Value:
    """The element clamped to the quantized range, and whether it is in the range."""
    place = round(self / scale) + zero_point
    if quant_min <= place <= quant_max:
        return self, True
    return (min(max(place, quant_min), quant_max) - zero_point) * scale, False


@operator()
def _fused_moving_avg_obs_fq_helper(
    self: Value,
    _observer_on: Value,
    _fake_quant_on: Value,
    _running_min: Value,
    _running_max: Value,
    _scale: Value,
    _zero_point: Value,
    _averaging_const: Value,
    _quant_min: Value,
    _quant_max: Value,
    _ch_axis: Value,
    _per_row_fake_quant: Value = False,
    _symmetric_quant: Value = False,
) -> Value:
    """The element, which is within the observed range."""
    return self, True


@helper("fake_quantize_per_tensor_affine_cachemask_backward", "fake_quantize_per_channel_affine_cachemask_backward")
def fake_quantized_backward(grad: Value, mask: Value) -> Value:
    """The gradient, which is zero outside the range."""
    return grad * mask


operators(
    {
        # the element divided by the probability ``p`` that it is kept, and the mask
        "_fused_dropout": lambda self, p: (self / p, True),
    }
)
