"""An installed PyTorch as a source of operators; its files are read, it is never imported."""

from __future__ import annotations

import re
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from derivlint.source import read_input

_VERSION = re.compile(r"""^__version__\s*(?::[^=\n]*)?=\s*['"]([^'"]+)['"]""", re.MULTILINE)


class InstalledTorch(Struct, frozen=True):
    """The source files that an installed PyTorch ships.

    Attributes:
        version: its version, such as ``2.13.0+cpu``, or None if unknown.
        native_functions: the path of native_functions.yaml.
        tags: the path of tags.yaml, None when it is not there.
        derivatives: the path of derivatives.yaml, None when it is not there.
        functions_manual: the path of FunctionsManual.h, None when it is not there.
    """

    version: str | None
    native_functions: Path
    tags: Path | None
    derivatives: Path | None
    functions_manual: Path | None

    @property
    def release(self) -> str | None:
        """The version without its local part, ``2.13.0`` for ``2.13.0+cpu``."""
        return None if self.version is None else self.version.partition("+")[0]


def installed_torch() -> InstalledTorch | None:
    """The PyTorch that ``import torch`` would find, None when there is none or it ships no operator files."""
    torchgen = _folder("torchgen")
    if torchgen is None:
        return None
    native = torchgen / "packaged" / "ATen" / "native"
    functions = native / "native_functions.yaml"
    if not functions.is_file():
        return None
    torch = _folder("torch")
    return InstalledTorch(
        version=None if torch is None else _version(torch / "version.py"),
        native_functions=functions,
        tags=_existing(native / "tags.yaml"),
        derivatives=_existing(torchgen / "packaged" / "autograd" / "derivatives.yaml"),
        functions_manual=None
        if torch is None
        else _existing(torch / "include" / "torch" / "csrc" / "autograd" / "FunctionsManual.h"),
    )


def _folder(package: str) -> Path | None:
    try:
        spec: ModuleSpec | None = find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None


def _version(path: Path) -> str | None:
    try:
        match = _VERSION.search(read_input(path).decode(errors="replace"))
    except OSError:
        return None
    return match.group(1) if match else None
