"""A cache on disk for what takes long to read and seldom changes: the declarations of headers.

An entry is named by a digest of what it was made from, so that it never gets stale. A cache that cannot be read or
written is no cache, and nothing more.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from derivlint import __version__
from derivlint.source import replace_file

if TYPE_CHECKING:
    from hashlib import _Hash

#: Names the folder, instead of the one that the system has for caches.
VARIABLE = "DERIVLINT_CACHE_DIR"


def cache_folder() -> Path | None:
    """Where the cache is, None where the system has no place for one."""
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "derivlint" / "cache" if base else None
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "derivlint"
    try:
        return Path.home() / ".cache" / "derivlint"
    except RuntimeError:
        return None


def sha256(data: bytes) -> _Hash:
    """A digest, which is begun with ``data``."""
    # hashlib loads OpenSSL, for nothing in a run without a cache
    import hashlib

    return hashlib.sha256(data)


def cached(kind: str, material: bytes, make: Callable[[], Any], *, use_cache: bool = True) -> Any:
    """A value that can be written as JSON, from the cache or made anew.

    Args:
        kind: what it is, a part of the file's name.
        material: what it is made from.
        make: makes it.
        use_cache: whether to look into the cache and to write to it.
    """
    folder = cache_folder() if use_cache else None
    if folder is None:
        return make()
    digest = sha256(b"\0".join((__version__.encode(), kind.encode(), material))).hexdigest()
    path = folder / f"{kind}-{digest[:32]}.json"
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        pass
    value = make()
    _write(path, json.dumps(value, separators=(",", ":")).encode())
    return value


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data, mode=0o600)
    except OSError:
        return
