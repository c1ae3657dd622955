"""The running Python's headers and PyTorch's Python library, for compiling and linking bindings."""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path

from msgspec import Struct

#: The library with PyTorch's Python classes.
PYTHON_LIBRARY = "torch_python"
#: The linker errors of GNU ld, gold and lld for undefined Python symbols.
_OF_PYTHON = re.compile(r"undefined (?:reference to|symbol:) [`']?_?Py\w*'?$")


class PythonHeaders(Struct, frozen=True):
    """The headers of a Python.

    Attributes:
        includes: their directories.
        version: the identity of the Python, a part of cache keys.
        missing: the reason why bindings cannot be compiled, or empty.
    """

    includes: tuple[Path, ...]
    version: str
    missing: str = ""


#: For code without bindings.
NO_PYTHON = PythonHeaders((), "")


def python_headers() -> PythonHeaders:
    """Locate the headers of the running Python."""
    version = f"{sys.implementation.cache_tag} {sys.version}"
    directories = {sysconfig.get_path(name) for name in ("include", "platinclude")} - {None}
    includes = tuple(Path(name) for name in sorted(directories))
    if not any((directory / "Python.h").is_file() for directory in includes):
        where = f' in "{includes[0]}"' if includes else ""
        return PythonHeaders((), version, f'no "Python.h"{where}')
    return PythonHeaders(includes, version)


def library_file(folder: Path) -> Path:
    """Return the path of PyTorch's Python library in a folder of libraries."""
    return folder / f"lib{PYTHON_LIBRARY}.so"


def undefined_in(messages: str) -> list[str]:
    """Return a linker's messages about undefined symbols, except Python's own."""
    undefined = [line.strip() for line in messages.splitlines() if "undefined " in line]
    return [line for line in undefined if _OF_PYTHON.search(line) is None]
