"""Whether what was emitted for one release of PyTorch meets another one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from derivlint.compiler.gxx import headers_version
from derivlint.emit.release import known_number


def mismatch(folder: Path, emitted_for: str | None, installed: str | None) -> str | None:
    """Why an emitted folder cannot be built with or loaded into a PyTorch; None where nothing speaks against it.

    The C++ API changes from release to release, and where it does not, what kernels have to do may.

    Args:
        folder: the folder.
        emitted_for: the version that it was emitted for, None where no one knows.
        installed: the version that is there, None where no one knows.
    """
    emitted_number, installed_number = known_number(emitted_for), known_number(installed)
    if emitted_number is None or installed_number is None or emitted_number == installed_number:
        return None
    return (
        f'"{folder}" was emitted for PyTorch {emitted_for}, and PyTorch {installed} is installed; '
        f"emit it again for PyTorch {installed_number[0]}.{installed_number[1]}"
    )


def mismatch_of_headers(folder: Path, emitted_for: str | None, includes: Sequence[Path]) -> str | None:
    """The same for the headers of an installed PyTorch, which need not be imported."""
    return mismatch(folder, emitted_for, headers_version(includes))
