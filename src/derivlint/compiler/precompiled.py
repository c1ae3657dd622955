"""Precompiled headers, compiled once for each compiler, PyTorch and set of options, and stored in a user folder.

Headers take most of the compile time of most units. With Clang, templates are instantiated in the header as well
(``-fpch-instantiate-templates``), so that units need not do it.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from derivlint.compiler.gxx import CompilerError, Toolchain, compile_command, run
from derivlint.source import delete_oldest, is_own, locked, read_input, replace_file

#: The maximum number of stored header folders: each takes up to half a gigabyte.
MAX_FOLDERS = 4
HEADER = "precompiled.h"
#: The file with the stamp of the precompiled header (:func:`_stamp`), or with ``_FAILED`` if it cannot be compiled.
_RECORD = "precompiled.txt"
_FAILED = b"none"
_CLANG = ("-fpch-instantiate-templates",)


def precompiled_header(
    place: Path,
    toolchain: Toolchain,
    text: str,
    options: Sequence[str],
    progress: Callable[[str], None] = lambda message: None,
) -> tuple[str, ...]:
    """Return the options that include a precompiled header at the start of a unit; precompile it if it is missing.

    Args:
        place: the private folder of headers; created if missing.
        toolchain: the compiler and PyTorch's headers.
        text: the header.
        options: the options of the units, with which the header is compiled as well.
        progress: called with the current step.

    Returns:
        the options; empty if the header cannot be precompiled, for example for lack of memory.
    """
    library = toolchain.includes[0].parent / "lib" / "libtorch_cpu.so"
    try:
        status = library.stat()
        parts = (
            text,
            *options,
            str(toolchain.compiler.path),
            toolchain.compiler.version,
            *map(str, toolchain.includes),
        )
        stamp = f"{status.st_size} {status.st_mtime_ns}"
        digest = hashlib.sha256("\0".join((*parts, stamp)).encode()).hexdigest()[:32]
        folder = place / digest
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (is_own(place) and is_own(folder)):
            return ()
        with locked(folder):
            os.utime(folder)
            return _options(folder, toolchain) if _is_made(folder, toolchain, text, options, progress) else ()
    except OSError:
        return ()


def _target(folder: Path, toolchain: Toolchain) -> Path:
    return folder / f"{HEADER}.{'pch' if toolchain.compiler.is_clang else 'gch'}"


def _options(folder: Path, toolchain: Toolchain) -> tuple[str, ...]:
    if toolchain.compiler.is_clang:
        return ("-include-pch", str(_target(folder, toolchain)))
    return ("-include", str(folder / HEADER))


def _is_made(
    folder: Path, toolchain: Toolchain, text: str, options: Sequence[str], progress: Callable[[str], None]
) -> bool:
    """Precompile the header unless an earlier run has; return whether it is precompiled."""
    target, record = _target(folder, toolchain), folder / _RECORD
    recorded = read_input(record) if is_own(record) else None
    if recorded == _FAILED:
        return False
    if recorded is not None and is_own(target) and recorded == _stamp(target):
        return True
    delete_oldest(folder.parent, MAX_FOLDERS)
    progress("precompiling PyTorch's headers, once for this PyTorch and compiler")
    replace_file(folder / HEADER, text.encode(), mode=0o600)
    unfinished = target.with_suffix(".new")
    more = _CLANG if toolchain.compiler.is_clang else ()
    command = compile_command(toolchain, *options, *more, "-w", "-x", "c++-header", HEADER, "-o", unfinished.name)
    start = time.monotonic()
    try:
        status = run(command, folder).status
    except CompilerError:
        status = -1
    if status == 0:
        unfinished.chmod(0o600)
        os.replace(unfinished, target)
        replace_file(record, _stamp(target), mode=0o600)
        progress(f"precompiled PyTorch's headers in {time.monotonic() - start:.1f} s")
        return True
    unfinished.unlink(missing_ok=True)
    if status > 0:
        # a run ended by a signal, such as Ctrl-C, may succeed the next time
        replace_file(record, _FAILED, mode=0o600)
    progress("the headers cannot be precompiled; compiling without precompiled headers")
    return False


def _stamp(path: Path) -> bytes:
    """Return the size, modification time and path of a file: a fast check that also detects truncation.

    Clang's headers name their source by its full path, so that they cannot be used elsewhere.
    """
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns} {path}".encode("utf-8", "surrogateescape")
