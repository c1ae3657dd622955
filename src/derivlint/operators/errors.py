"""What can be wrong with what facts are made from."""

from __future__ import annotations


class SourceProblem(Exception):  # noqa: N818 - not a mistake in the code, a fact about what was given
    """What was given is not a PyTorch, or cannot be read."""


class BundleError(Exception):
    """Indexes that cannot be bundled."""
