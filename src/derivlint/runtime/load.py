"""Loads an extension, whose kernels replace PyTorch's own."""

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
    """An extension that is loaded.

    Attributes:
        library: the loaded file.
        namespace: the namespace of its node classes.
        operators: the operators that it overrides, such as ``mul.Tensor``, with the classes of their nodes; None if
            a kernel makes no node.
        left_out: operators that it does not override, with the reason.
        without_bindings: why Python does not know the classes of its nodes; empty if it does.
    """

    library: Path
    namespace: str
    operators: Mapping[str, str | None]
    left_out: Mapping[str, str]
    without_bindings: str = ""

    def overrides(self, operator: str) -> bool:
        """Whether the kernel of an operator (``mul.Tensor``) is one of this extension."""
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
    """Load a library; returns why it cannot call the hidden helpers that it needs, or empty if it can."""
    # importing it loads a library, which code generation does not need
    import ctypes

    import torch

    load: Any = torch.ops.load_library
    load(str(library))
    question = ctypes.CDLL(str(library)).derivlint_helpers_problem
    question.restype = ctypes.c_char_p
    answer = question()
    return answer.decode(errors="replace") if answer else ""
