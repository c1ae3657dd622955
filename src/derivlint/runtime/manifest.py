"""The manifest of an emitted folder, as builds and loading read it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, TypeGuard

from msgspec import Struct

from derivlint.compiler.gxx import headers_version
from derivlint.emit.emission import EmissionMode
from derivlint.emit.extension import target_name
from derivlint.emit.manifest import AUTHORS, FORMAT, MANIFEST, MAX_BYTES, PENDING
from derivlint.emit.python_bindings import is_binding
from derivlint.emit.release import known_number
from derivlint.source import read_input


class ManifestError(Exception):
    """A folder without a valid manifest: not emitted by this version of derivlint, or modified."""


class Manifest(Struct, frozen=True):
    """The manifest of an extension.

    Attributes:
        namespace: the namespace of the node classes.
        files: the paths of the files.
        operators: the overridden operators, each with the class of its node, or None if it creates none.
        left_out: the operators that are not overridden, with the reason.
        torch: the version of PyTorch that it was emitted for, or None if unknown.
        authors: the author's own sources, by their paths from the folder; None without sources and headers of the
            author.
    """

    namespace: str
    files: tuple[str, ...]
    operators: Mapping[str, str | None]
    left_out: Mapping[str, str]
    torch: str | None = None
    authors: tuple[str, ...] | None = None

    @property
    def target(self) -> str:
        """The name of the library."""
        return target_name(self.namespace)

    @property
    def sources(self) -> tuple[str, ...]:
        """The compiled sources, including Python bindings and the author's own."""
        return (*(name for name in self.files if name.endswith(".cpp")), *(self.authors or ()))

    @property
    def bindings(self) -> tuple[str, ...]:
        """The sources with Python bindings of nodes."""
        return tuple(name for name in self.sources if is_binding(name))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder.

    Raises:
        ManifestError: the manifest is missing or malformed.
    """
    path = folder / MANIFEST
    try:
        content = _content(path)
    except OSError as error:
        reason = error.strerror or error
        raise ManifestError(f'no extension in "{folder}": cannot read "{MANIFEST}": {reason}') from error
    except (ValueError, RecursionError) as error:
        raise ManifestError(f'"{path}" is not JSON: {error}') from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ManifestError(f'"{path}" is not of format {FORMAT}; emit the extension again')
    if content.get("mode") != EmissionMode.EXTENSION.value:
        raise ManifestError(f'"{folder}" was emitted for a build of PyTorch, not as an extension')
    if PENDING in content:
        raise ManifestError(f'"{folder}" was not written to the end; emit the extension again')
    files, namespace = content.get("files"), content.get("namespace")
    operators, left_out = content.get("operators"), content.get("left_out", {})
    authors = content.get(AUTHORS)
    if not (
        _are_names(files)
        and (authors is None or _are_names(authors))
        and isinstance(namespace, str)
        and isinstance(operators, dict)
        and _is_mapping(operators, optional=True)
        and _is_mapping(left_out)
    ):
        raise ManifestError(f'"{path}" is damaged; emit the extension again')
    if any(PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts for name in files):
        raise ManifestError(f'"{path}" names files outside of the folder')
    own = None if authors is None else tuple(authors)
    return Manifest(namespace, tuple(files), operators, left_out, _version(content), own)


def _content(path: Path) -> Any:
    """Read a manifest as JSON.

    Raises:
        OSError: the file cannot be read.
        ValueError, RecursionError: the file is not JSON.
    """
    return json.loads(read_input(path, MAX_BYTES))


def _are_names(value: object) -> TypeGuard[list[str]]:
    """Whether a value is a list of file names."""
    return isinstance(value, list) and all(
        # a name must not look like a compiler option
        isinstance(name, str) and name.isprintable() and not name.startswith("-")
        for name in value
    )


def _is_mapping(value: object, *, optional: bool = False) -> bool:
    """Whether a value is a mapping of strings to strings.

    Args:
        value: the value.
        optional: whether values may be None.
    """
    return isinstance(value, dict) and all(
        isinstance(item, str) or (optional and item is None) for item in value.values()
    )


def torch_of(folder: Path) -> str | None:
    """Return the version of PyTorch that a folder was emitted for, in any mode, or None if unknown."""
    try:
        content = _content(folder / MANIFEST)
    except (OSError, ValueError, RecursionError):
        return None
    return _version(content) if isinstance(content, dict) else None


def _version(content: Mapping[str, object]) -> str | None:
    version = content.get("torch")
    return version if isinstance(version, str) else None


def mismatch(folder: Path, emitted_for: str | None, installed: str | None) -> str | None:
    """Return the error if a folder was emitted for another release than the installed one, else None.

    The C++ API and the tasks of kernels change from release to release.

    Args:
        folder: the folder.
        emitted_for: the version that it was emitted for, or None if unknown.
        installed: the installed version, or None if unknown.
    """
    emitted_number, installed_number = known_number(emitted_for), known_number(installed)
    if emitted_number is None or installed_number is None or emitted_number == installed_number:
        return None
    return (
        f'"{folder}" was emitted for PyTorch {emitted_for}, and PyTorch {installed} is installed; '
        f"emit it again with --torch {installed_number[0]}.{installed_number[1]}"
    )


def mismatch_of_headers(folder: Path, emitted_for: str | None, includes: Sequence[Path]) -> str | None:
    """Return the :func:`mismatch` with PyTorch's headers; torch need not be importable."""
    return mismatch(folder, emitted_for, headers_version(includes))
