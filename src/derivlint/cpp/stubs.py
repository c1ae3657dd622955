"""The declarations of PyTorch's C++ classes, of the standard library and of constants.

They are read from PyTorch's headers and from stub files of ours in C++ (``cpp/stubs/*.h``), which declare what headers
express too intricately, as typeshed declares Python. ``derivlint index library`` reads both and writes what is loaded
here.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from derivlint.cpp.declarations.declaration import Declarations, declarations_from_json

_DATA = Path(__file__).parent / "data"


def render_library(declarations: Declarations) -> bytes:
    """The declarations as they are shipped, one kind a line."""
    content: dict[str, Any] = declarations.to_json()
    lines = [f"{json.dumps(kind)}:{json.dumps(value, separators=(',', ':'))}" for kind, value in content.items()]
    return ("{" + ",\n".join(lines) + "}\n").encode("ascii")


@cache
def load_stubs() -> Declarations:
    """The declarations of the newest release."""
    path = max(_DATA.glob("library-*.json"), key=lambda path: tuple(map(int, path.stem.partition("-")[2].split("."))))
    return declarations_from_json(json.loads(path.read_bytes()))
