"""Errors in the sources of facts."""

from __future__ import annotations


class SourceProblem(Exception):  # noqa: N818 - not a mistake in the code, a fact about what was given
    """The source is not a PyTorch, or cannot be read."""


class BundleError(Exception):
    """Indexes that cannot be bundled."""
