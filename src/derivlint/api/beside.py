"""Headers and modules next to a derivatives file with functions that its formulas call: they need no option."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from derivlint.emit.manifest import MANIFEST
from derivlint.project.headers import declarations_in
from derivlint.project.loading import Loaded
from derivlint.source import SourceError, SourceFile

#: Of more files none is read: such a folder is not that of one small project.
MOST = 50
#: The maximum size of a file.
MAX_BYTES = 1_000_000


def headers_beside(loaded: Loaded) -> tuple[Path, ...]:
    """The headers in the folder of a file, and in those directly below it, that declare what formulas call.

    Functions that operators and PyTorch's own headers declare are not looked for.
    """

    def declared(source: SourceFile) -> Iterable[str]:
        return _functions(declarations_in(source))

    folder = loaded.folder
    if folder is None:
        return ()
    declared_names = set(_functions(loaded.operators.natives.declarations))
    # emitted headers declare nothing of the author's
    headers = (path for path in (*folder.glob("*.h"), *folder.glob("*/*.h")) if not (path.parent / MANIFEST).exists())
    return _with_functions(headers, declared, _called(loaded, declared_names))


def modules_beside(loaded: Loaded, library: Collection[str]) -> tuple[Path, ...]:
    """The Python files in the folder of a file that define what formulas call.

    Args:
        loaded: the file.
        library: the functions that there are in Python already.
    """
    from derivlint.emit.python.calls import functions_in

    if loaded.folder is None:
        return ()
    named = (path for path in loaded.folder.glob("*.py") if path.stem.isidentifier())
    return _with_functions(named, lambda source: functions_in(source.text), _called(loaded, library))


def _called(loaded: Loaded, declared_names: Collection[str]) -> set[str]:
    """The functions that formulas call and that are neither operators nor declared."""
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
    """Select the files that have one of the functions; links and unreadable files have none."""
    if not names:
        return ()
    files = sorted(path for path in paths if path.is_file() and not path.is_symlink())
    matching = []
    for path in files if len(files) <= MOST else ():
        try:
            if path.stat().st_size <= MAX_BYTES and not names.isdisjoint(functions(SourceFile.read(path))):
                matching.append(path)
        except (OSError, SourceError, SyntaxError, ValueError, RecursionError):
            continue
    return tuple(matching)
