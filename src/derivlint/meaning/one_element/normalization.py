"""Dropout: what is left of it with one element."""

from __future__ import annotations

from derivlint.meaning.one_element.table import operator
from derivlint.meaning.one_element.values import Value


@operator()
def native_dropout(input: Value, p: Value, train: Value) -> Value:
    """An element that is kept, and that it is kept."""
    return (input / (1 - p) if train is None or train else input), True
