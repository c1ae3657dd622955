"""The names of an operator in C++: its own, with ``_symint`` for symbolic sizes, with ``_`` in place."""

from __future__ import annotations

SYMINT = "_symint"


def is_symint(name: str) -> bool:
    """Whether a function takes symbolic sizes, by its name."""
    return name.endswith(SYMINT)


def without_symint(name: str) -> str:
    """The name of the form without symbolic sizes: ``sum`` of ``sum_symint``."""
    return name.removesuffix(SYMINT)


def with_symint(name: str) -> str:
    """The name of the form with symbolic sizes."""
    return name + SYMINT


def other_form(name: str) -> str:
    """The name of the form with symbolic sizes, or of the one without."""
    return without_symint(name) if is_symint(name) else with_symint(name)


def functional(name: str) -> str:
    """A name without the underscore of in-place functions, ``__and__`` as it is."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def base_name(name: str) -> str:
    """The name of an operator without ``_symint`` and without the underscore of in-place functions."""
    return functional(without_symint(name))
