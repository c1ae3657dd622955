"""Headers and modules next to a derivatives file with functions that its formulas call; read without an option."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from derivlint.emit.manifest import MANIFEST
from derivlint.project.headers import declarations_in
from derivlint.project.loading import Loaded
from derivlint.source import SourceError, SourceFile

#: The maximum number of files: a folder with more does not belong to one small project, and none is read.
MAX_FILES = 50
#: The maximum size of a file in bytes.
MAX_BYTES = 1_000_000


def adjacent_headers(loaded: Loaded) -> tuple[Path, ...]:
    """Return the headers that declare functions called by formulas, from the file's folder and its subfolders.

    Operators and functions that PyTorch's own headers declare need none.
    """

    def declared(source: SourceFile) -> Iterable[str]:
        return _functions(declarations_in(source))

    folder = loaded.folder
    if folder is None:
        return ()
    declared_names = set(_functions(loaded.operators.natives.declarations))
    # emitted headers do not declare functions of the author
    headers = (path for path in (*folder.glob("*.h"), *folder.glob("*/*.h")) if not (path.parent / MANIFEST).exists())
    return _with_functions(headers, declared, _called(loaded, declared_names))


def adjacent_modules(loaded: Loaded, library: Collection[str]) -> tuple[Path, ...]:
    """Return the Python files that define functions called by formulas, from the file's folder.

    Args:
        loaded: the file.
        library: the functions that derivlint has in Python, which need no file.
    """
    from derivlint.emit.python.calls import functions_in

    if loaded.folder is None:
        return ()
    named = (path for path in loaded.folder.glob("*.py") if path.stem.isidentifier())
    return _with_functions(named, lambda source: functions_in(source.text), _called(loaded, library))


def _called(loaded: Loaded, declared_names: Collection[str]) -> set[str]:
    """Return the called functions that are neither operators nor declared."""
    from derivlint.model import called_functions

    natives = loaded.operators.natives
    names = {name for name, _ in called_functions(loaded.source)}
    return {name for name in names if name not in declared_names and not natives.named(name.removesuffix("_symint"))}


def _functions(declarations: Mapping[str, Any] | None) -> Iterable[str]:
    functions = {} if declarations is None else declarations["functions"]
    return (name for names in functions.values() for name in names)


def _with_functions(
    paths: Iterable[Path], functions: Callable[[SourceFile], Iterable[str]], names: set[str]
) -> tuple[Path, ...]:
    """Select the files that have one of the functions; links and unreadable files are skipped."""
    if not names:
        return ()
    files = sorted(path for path in paths if path.is_file() and not path.is_symlink())
    matching = []
    for path in files if len(files) <= MAX_FILES else ():
        try:
            if path.stat().st_size <= MAX_BYTES and not names.isdisjoint(functions(SourceFile.read(path))):
                matching.append(path)
        except (OSError, SourceError, SyntaxError, ValueError, RecursionError):
            continue
    return tuple(matching)
