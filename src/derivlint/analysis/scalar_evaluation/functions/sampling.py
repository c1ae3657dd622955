"""Grid sampling of a one-pixel image: the first coordinate varies, the others are in the middle."""

from __future__ import annotations

from derivlint.analysis.scalar_evaluation.functions.table import helper, operator, operators
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value


def _weight(grid: Value, interpolation: Value, padding: Value, aligned: Value) -> tuple[float, float]:
    """The weight of the pixel and its slope: linear interpolation between the pixel and zeros.

    Raises:
        UnknownValueError: another interpolation or padding.
    """
    if interpolation != 0 or padding != 0:
        raise UnknownValueError
    if aligned:
        # with one pixel, both ends of the grid are the pixel
        return 1.0, 0.0
    distance = abs(grid) / 2
    return (1 - distance, -0.5 if grid > 0 else 0.5) if distance < 1 else (0.0, 0.0)


@operator("grid_sampler_2d", "grid_sampler_3d", "_grid_sampler_2d_cpu_fallback")
def grid_sampler(
    input: Value, grid: Value, interpolation_mode: Value = 0, padding_mode: Value = 0, align_corners: Value = False
) -> Value:
    """The pixel times its weight."""
    return input * _weight(grid, interpolation_mode, padding_mode, align_corners)[0]


@operator("grid_sampler_2d_backward", "grid_sampler_3d_backward", "_grid_sampler_2d_cpu_fallback_backward")
def grid_sampler_backward(
    grad_output: Value, input: Value, grid: Value, interpolation_mode: Value, padding_mode: Value, align_corners: Value
) -> Value:
    """The gradients of the pixel and of the coordinate."""
    weight, slope = _weight(grid, interpolation_mode, padding_mode, align_corners)
    return grad_output * weight, grad_output * input * slope


@helper("grid_sampler_2d_double_backward", "grid_sampler_3d_double_backward")
def grid_sampler_double_backward(
    of_input: Value,
    of_grid: Value,
    grad: Value,
    input: Value,
    grid: Value,
    interpolation: Value,
    padding: Value,
    aligned: Value,
) -> Value:
    """The gradients of the gradient, of the pixel and of the coordinate."""
    weight, slope = _weight(grid, interpolation, padding, aligned)
    return of_input * weight + of_grid * input * slope, of_grid * grad * slope, of_input * grad * slope


@helper("grid_sampler_2d_jvp", "grid_sampler_3d_jvp")
def grid_sampler_jvp(
    input: Value,
    input_tangent: Value,
    grid: Value,
    grid_tangent: Value,
    _result: Value,
    interpolation: Value,
    padding: Value,
    aligned: Value,
) -> Value:
    """The tangent of the product."""
    weight, slope = _weight(grid, interpolation, padding, aligned)
    return input_tangent * weight + input * slope * grid_tangent


@operator()
def cudnn_grid_sampler_backward(self: Value, grid: Value, grad_output: Value) -> Value:
    """The gradients of the pixel and of the coordinate."""
    return grid_sampler_backward(grad_output, self, grid, 0, 0, True)


operators(
    {
        # the pixel, since corners are aligned
        "cudnn_grid_sampler": lambda self, grid: grid_sampler(self, grid, 0, 0, True),
    }
)
