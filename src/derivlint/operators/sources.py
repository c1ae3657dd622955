"""Sources of a PyTorch: an installation, a packed or unpacked wheel, or a checkout.

Files are only read, never imported or run.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from derivlint.operators.topics import CHECKOUT_FILES, INSTALLED_FILES
from derivlint.source import SourceFile

#: The maximum number of bytes of a file in a wheel; PyTorch's derivatives.yaml has 190,000.
LARGEST = 8_000_000

#: The errors of zipfile for damaged, encrypted or unsupported archives.
_UNREADABLE = (OSError, zipfile.BadZipFile, ValueError, RuntimeError, EOFError, struct.error, zlib.error)
_CHECKOUT = "aten/src/ATen/"
_PACKAGED = "torchgen/packaged/ATen/"
_VERSION = re.compile(r"""^__version__\s*(?::[^=\n]*)?=\s*['"]([^'"]+)['"]""", re.MULTILINE)
_NUMBER = re.compile(r"\d+(?:\.\d+)+")


class SourceProblem(Exception):  # noqa: N818 - not a mistake in the code, a fact about what was given
    """The source is not a PyTorch or cannot be read."""


class TorchSource:
    """The files of a PyTorch.

    Attributes:
        path: the checkout, the wheel, or the folder with ``torch`` and ``torchgen``.
        is_checkout: whether it is a checkout of PyTorch's repository.
    """

    def __init__(self, path: Path) -> None:
        """Identify the kind of a source.

        Args:
            path: a file or a folder.

        Raises:
            SourceProblem: it is not a PyTorch.
        """
        self.path = path
        self._archive: zipfile.ZipFile | None = None
        if path.is_file():
            try:
                self._archive = zipfile.ZipFile(path)
            except _UNREADABLE as error:
                raise SourceProblem(f'"{path}" is not a wheel: {error}') from error
        self.is_checkout = self._has(_CHECKOUT + "native/native_functions.yaml")
        self._native = (_CHECKOUT if self.is_checkout else _PACKAGED) + "native/"
        self._generators = "tools/autograd/" if self.is_checkout else "torchgen/packaged/autograd/"
        if not self._has(self._native + "native_functions.yaml"):
            raise SourceProblem(
                f'"{path}" is not a PyTorch: expected a checkout, or torch and torchgen, installed or in a wheel'
            )

    @property
    def is_archive(self) -> bool:
        """Whether it is a packed wheel."""
        return self._archive is not None

    def unpack(self, folder: Path, parts: tuple[str, ...]) -> None:
        """Unpack a wheel.

        Args:
            folder: the destination.
            parts: the prefixes of the files to unpack.

        Raises:
            SourceProblem: a file cannot be unpacked.
        """
        assert self._archive is not None, "it is a wheel"
        try:
            # extractall removes ".." from names, so files stay inside the folder
            self._archive.extractall(folder, [name for name in self._archive.namelist() if name.startswith(parts)])
        except _UNREADABLE as error:
            raise SourceProblem(f'cannot unpack "{self.path}": {error}') from error

    def _has(self, name: str) -> bool:
        if self._archive is not None:
            return name in self._archive.NameToInfo
        return (self.path / PurePosixPath(name)).is_file()

    def _read(self, name: str) -> SourceFile | None:
        """Read a file, or return None if it is missing.

        Raises:
            SourceProblem: it cannot be read, or is too large.
            SourceError: it is not text.
        """
        if not self._has(name):
            return None
        if self._archive is None:
            return SourceFile.read(self.path / PurePosixPath(name))
        try:
            with self._archive.open(name) as file:
                data = file.read(LARGEST + 1)
        except _UNREADABLE as error:
            raise SourceProblem(f'cannot read "{name}" in "{self.path}": {error}') from error
        if len(data) > LARGEST:
            raise SourceProblem(f'"{name}" in "{self.path}" has more than {LARGEST} bytes')
        return SourceFile.from_bytes(f"{self.path}/{name}", data)

    @property
    def native_functions(self) -> SourceFile:
        """The native_functions.yaml file."""
        source = self._read(self._native + "native_functions.yaml")
        assert source is not None
        return source

    @property
    def tags(self) -> SourceFile | None:
        """The tags.yaml file."""
        return self._read(self._native + "tags.yaml")

    @property
    def derivatives(self) -> SourceFile | None:
        """The derivatives.yaml file."""
        return self._read(self._generators + "derivatives.yaml")

    @property
    def functions_manual(self) -> SourceFile | None:
        """The FunctionsManual.h file."""
        folder = "" if self.is_checkout else "torch/include/"
        return self._read(folder + "torch/csrc/autograd/FunctionsManual.h")

    @property
    def generators(self) -> dict[str, str]:
        """The source of the generator modules with lists of operators, by unqualified name."""
        names = CHECKOUT_FILES if self.is_checkout else INSTALLED_FILES
        sources = ((PurePosixPath(name).stem, self._read(name)) for name in names)
        return {stem: source.text for stem, source in sources if source is not None}

    @property
    def version(self) -> str | None:
        """The version without local part, of a checkout the next release; None if unknown."""
        source = self._read("version.txt" if self.is_checkout else "torch/version.py")
        if source is None:
            return None
        text = source.text
        if not self.is_checkout:
            match = _VERSION.search(text)
            text = match[1] if match else ""
        number = _NUMBER.match(text.strip())
        return number[0] if number else None


def installed_source() -> TorchSource:
    """The PyTorch that ``import torch`` would import.

    Raises:
        SourceProblem: PyTorch is not installed.
    """
    from derivlint.schema import installed_torch

    torch = installed_torch()
    if torch is None:
        raise SourceProblem("no torch is installed in this Python")
    return TorchSource(torch.native_functions.parents[4])
