"""Dropout: what is left of it with one element."""

from __future__ import annotations

from derivlint.meaning.one_element.table import helper, operator
from derivlint.meaning.one_element.values import Value


@operator()
def native_dropout(input: Value, p: Value, train: Value) -> Value:
    """An element that is kept, and that it is kept."""
    return (input / (1 - p) if train is None or train else input), True


@helper("native_dropout_backward", "infinitely_differentiable_native_dropout_backward")
def native_dropout_backward(grad: Value, mask: Value, scale: Value) -> Value:
    """What was kept is scaled."""
    return grad * mask * scale


@helper()
def native_dropout_double_backward(gradient: Value, _grad: Value, mask: Value, scale: Value) -> Value:
    """What was kept is scaled."""
    return gradient * mask * scale
