"""The templates of kernels."""

from __future__ import annotations

from derivlint.emit.release import Release
from derivlint.emit.template import fill


def filled(release: Release, name: str, /, **parts: str) -> str:
    """The template ``<name>.cpp`` in the words of a release, with its placeholders filled."""
    return fill(release.template(f"{name}.cpp"), **parts)
