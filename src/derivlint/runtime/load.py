"""Loads extensions, whose kernels replace PyTorch's own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from derivlint.runtime.build import BuildError, build
from derivlint.runtime.manifest import ManifestError, mismatch, read_manifest
from derivlint.source import visible_line


class LoadError(Exception):
    """An extension cannot be built or loaded."""


class Extension(Struct, frozen=True):
    """A loaded extension.

    Attributes:
        library: the loaded file.
        namespace: the namespace of its node classes.
        operators: the overridden operators, such as ``mul.Tensor``, each with the class of its node, or None if it
            creates none.
        left_out: the operators that are not overridden, with the reason.
        without_bindings: the reason why its node classes have no Python bindings, or empty.
    """

    library: Path
    namespace: str
    operators: Mapping[str, str | None]
    left_out: Mapping[str, str]
    without_bindings: str = ""

    def overrides(self, operator: str) -> bool:
        """Whether the extension overrides an operator, such as ``mul.Tensor``."""
        return operator in self.operators


def _show(message: str) -> None:
    print(visible_line(f"derivlint: {message}"), file=sys.stderr, flush=True)


def load(
    folder: str | Path,
    *,
    build_folder: str | Path | None = None,
    compiler: str | None = None,
    optimize: str = "-O0",
    progress: Callable[[str], None] = _show,
) -> Extension:
    """Build an extension if necessary, and load it into this process.

    PyTorch's warning about overridden kernels is not suppressed. An extension cannot be unloaded.

    Args:
        folder: the output folder of ``derivlint emit cpp``.
        build_folder: the build folder; ``build`` in the folder by default.
        compiler: the name of the C++ compiler.
        optimize: the compiler's option for optimization.
        progress: called with the current step; by default prints it to standard error.

    Raises:
        LoadError: torch is not installed, or the extension cannot be built or loaded.
    """
    try:
        import torch
    except ImportError as error:
        raise LoadError(f"cannot import torch: {error}") from error
    try:
        manifest = read_manifest(Path(folder))
        problem = mismatch(Path(folder), manifest.torch, str(torch.__version__))
        if problem is not None:
            raise LoadError(problem)
        place = Path(build_folder) if build_folder is not None else None
        built = build(Path(folder), build_folder=place, compiler=compiler, optimize=optimize, progress=progress)
    except (ManifestError, BuildError) as error:
        raise LoadError(str(error)) from error
    library = built.library.resolve()
    try:
        problem = load_library(library)
    except (OSError, RuntimeError) as error:
        raise LoadError(f'cannot load "{library}": {error}') from error
    if problem:
        raise LoadError(problem)
    without = built.without_bindings if manifest.bindings else "emitted without bindings"
    return Extension(library, manifest.namespace, manifest.operators, manifest.left_out, without)


def load_library(library: Path) -> str:
    """Load a library; return the reason why it cannot call hidden helpers, or an empty text."""
    # ctypes loads a library, needlessly for code generation
    import ctypes

    import torch

    load: Any = torch.ops.load_library
    load(str(library))
    helpers_problem = ctypes.CDLL(str(library)).derivlint_helpers_problem
    helpers_problem.restype = ctypes.c_char_p
    problem = helpers_problem()
    return problem.decode(errors="replace") if problem else ""
