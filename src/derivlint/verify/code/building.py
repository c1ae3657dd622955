"""Builds a library of formulas, reusing earlier builds unless they are damaged."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from derivlint.project.caching.cache import sealed, unsealed
from derivlint.runtime import BuildError, Built, build
from derivlint.runtime.build import BUILD_FOLDER, compile_sources
from derivlint.source import is_own, locked, read_input, replace_file
from derivlint.verify.code.headers import COMMON
from derivlint.verify.processes.workdir import digest_of

#: The file with the name and the digest of the library, written after a successful build.
_RECORD = "library.txt"
#: Compiler and linker messages about a lack of disk space or memory, which are not about the code.
_EXHAUSTED = re.compile(
    r"No space left on device|Disk quota exceeded|error writing to|out of memory|Cannot allocate memory"
    r"|[Kk]illed(?: signal terminated program| \(program)|virtual memory exhausted"
)


def is_exhausted(output: str) -> bool:
    """Whether a compiler or linker ran out of memory or disk space, or was killed."""
    return _EXHAUSTED.search(output) is not None


class Headers(Struct, frozen=True):
    """The headers shared by all formulas.

    Attributes:
        folder: the include folder.
        precompiles: whether to precompile them.
    """

    folder: Path
    precompiles: bool


def built_library(
    folder: Path, common: Path, compiler: str | None, headers: Headers | None, progress: Callable[[str], None]
) -> Built:
    """Build the library in a folder unless it is up to date; damaged parts are rebuilt.

    Args:
        folder: the sources.
        common: the sources shared by all libraries.
        compiler: the name of the C++ compiler.
        headers: the shared headers, or None if sources include all of PyTorch's.
        progress: called with the current step.

    Raises:
        BuildError: the code does not compile or link.
        ManifestError: the folder has no manifest.
    """
    with locked(common), locked(folder):
        return _built(folder, common, compiler, headers, progress)


def _built(
    folder: Path, common: Path, compiler: str | None, headers: Headers | None, progress: Callable[[str], None]
) -> Built:
    folders = (folder / BUILD_FOLDER, common / BUILD_FOLDER)
    if not is_whole(folder):
        # if the library is unfinished or foreign, its object files cannot be trusted either
        _remove(folders[0])
    was_there = any(map(Path.is_dir, folders))
    _make(folders)

    def once() -> Built:
        objects = compile_sources(common, compiler=compiler, progress=progress)
        return build(
            folder,
            compiler=compiler,
            header=f'#include "{COMMON}"\n' if headers is not None and headers.precompiles else None,
            objects=objects,
            includes=() if headers is None else (headers.folder,),
            progress=progress,
        )

    try:
        made = once()
    except BuildError as error:
        if not was_there or "does not link" not in str(error):
            raise
        # object files of an earlier run may be damaged
        for build_folder in folders:
            _remove(build_folder)
        _make(folders)
        made = once()
    made.library.chmod(0o600)
    with suppress(OSError):
        # without it, the next run rebuilds once
        record = sealed(f"{made.library.name} {digest_of(made.library)}".encode())
        path = folder / _RECORD
        if not path.is_file() or read_input(path) != record:
            replace_file(path, record, mode=0o600)
    return made


def is_whole(folder: Path) -> bool:
    """Whether the library in a folder is intact."""
    try:
        text = unsealed(read_input(folder / _RECORD)) or b""
        name, _, digest = text.decode().partition(" ")
        library = folder / BUILD_FOLDER / name
        return bool(digest) and is_own(library.parent) and is_own(library) and digest_of(library) == digest
    except OSError:
        return False


def _make(folders: Iterable[Path]) -> None:
    """Create folders that only this user can write to, regardless of the umask."""
    for folder in folders:
        if folder.exists() and not is_own(folder):
            _remove(folder)
        folder.mkdir(mode=0o700, exist_ok=True)


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)
