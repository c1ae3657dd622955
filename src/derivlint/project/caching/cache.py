"""The cache folder, and its entries for slow inputs that seldom change, such as headers.

An entry is named by a digest of its inputs, so that it never gets stale. A cache that cannot be read or written is
treated as missing; contents of an unexpected form are ignored.

The folder is private to the user. Without a private folder nothing is cached: a folder that others can write to is not
used, and neither is a shared temporary folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Struct

from derivlint.source import not_private, read_input, replace_file
from derivlint.source.writing import PREFIX, is_made_by_user, is_own
from derivlint.version import __version__

if TYPE_CHECKING:
    from hashlib import _Hash


#: The environment variable that overrides the system's cache folder.
VARIABLE = "DERIVLINT_CACHE_DIR"
#: The maximum size of a file; larger ones were not written by the cache.
MAX_BYTES = 64 * 1024 * 1024

Value = TypeVar("Value")


def cache_folder() -> Path | None:
    """Return the cache folder, private to this user, and create it if it is missing.

    None if the system has no cache folder, or if it is not private.
    """
    place = _place()
    if place is None:
        return None
    folder, base = place
    try:
        if base is not None and not os.path.isdir(base):
            return None
        _make(folder)
        return folder if not_private(folder) is None else None
    except (OSError, ValueError):
        return None


def _place() -> tuple[Path, Path | None] | None:
    """Return the folder of the cache and the parent that must exist, or None if the system has no cache folder."""
    configured = os.environ.get(VARIABLE)
    if configured:
        return Path(os.path.abspath(configured)), None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) / "derivlint" / "cache", None) if base else None
    base = os.environ.get("XDG_CACHE_HOME")
    # the specification: "If an implementation encounters a relative path [...] it should [...] ignore it"
    if base and os.path.isabs(base):
        return Path(base) / "derivlint", None
    home = os.path.expanduser("~")
    # system users may lack a home folder, which is not created
    return (Path(home) / ".cache" / "derivlint", Path(home)) if os.path.isabs(home) and home != "/" else None


def _make(folder: Path) -> None:
    """Create a folder and its parents, private to this user."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for parent in reversed(missing):
        try:
            os.mkdir(parent, 0o700)
        except FileExistsError:
            # another run has created it
            if not parent.is_dir():
                raise


def sha256(data: bytes) -> _Hash:
    """Start a SHA-256 digest with ``data``."""
    # importing hashlib loads OpenSSL, needlessly in a run without a cache
    import hashlib

    return hashlib.sha256(data)


def read_entry(path: Path, limit: int = MAX_BYTES) -> bytes | None:
    """Return the content of a file of the cache, or None if there is no regular file.

    Args:
        path: the file.
        limit: the maximum number of bytes.
    """
    try:
        return read_input(path, limit, follow=False)
    except OSError:
        return None


def sealed(body: bytes) -> bytes:
    """Prefix data with their digest; single-line data stay on one line."""
    return sha256(body).hexdigest().encode() + b" " + body


def unsealed(data: bytes) -> bytes | None:
    """Return the data of :func:`sealed`, or None if they were truncated or changed."""
    digest, _, body = data.partition(b" ")
    return body if sha256(body).hexdigest().encode() == digest else None


def fits(value: object, shape: Shape) -> bool:
    """Whether a value read from JSON has a form.

    Args:
        value: the value.
        shape: a type, ``object`` for any; a list with the form of its items; a mapping with the forms of possible keys,
            ``"*"`` for all others; a tuple of alternatives; or a :class:`Row`.
    """
    if shape is None:
        return value is None
    if isinstance(shape, type):
        # a boolean is not a number
        return shape is object or type(value) is shape
    if isinstance(shape, list):
        return type(value) is list and all(fits(item, shape[0]) for item in value)
    if isinstance(shape, tuple):
        return any(fits(value, alternative) for alternative in shape)
    if isinstance(shape, Row):
        return type(value) is list and len(value) == len(shape.items) and all(map(fits, value, shape.items))
    if type(value) is not dict:
        return False
    return all(
        (expected := shape.get(key, shape.get("*"))) is not None and fits(item, expected) for key, item in value.items()
    )


class Row:
    """The form of a list with a form for each item."""

    def __init__(self, *items: Shape) -> None:
        self.items = items


#: The forms for :func:`fits`.
Shape: TypeAlias = "type | list[Any] | dict[str, Any] | tuple[Any, ...] | Row | None"


def cached(
    kind: str,
    material: bytes,
    make: Callable[[], Value],
    *,
    shape: Shape = object,
    use_cache: bool = True,
) -> Value:
    """Return a JSON value from the cache, or compute it.

    Args:
        kind: its kind, a part of the file's name.
        material: its inputs.
        make: computes it.
        shape: its form; a cached value with another form is recomputed.
        use_cache: whether to read and write the cache.
    """
    folder = cache_folder() if use_cache else None
    if folder is None:
        return make()
    digest = sha256(b"\0".join((__version__.encode(), kind.encode(), material))).hexdigest()
    path = folder / f"{kind}-{digest[:32]}.json"
    data = read_entry(path)
    body = unsealed(data) if data is not None else None
    if body is not None:
        try:
            stored: Value = json.loads(body)
            if fits(stored, shape):
                return stored
        except (ValueError, RecursionError):
            pass
    value = make()
    write_entry(path, json.dumps(value, separators=(",", ":")).encode())
    return value


def write_entry(path: Path, body: bytes) -> bool:
    """Write an entry to the cache if possible, and return whether it exists."""
    try:
        # a crash of the machine may lose the entry
        replace_file(path, sealed(body), mode=0o600, durable=False)
    except OSError:
        return False
    return True


#: The names of entries: the kind, and the digest of the inputs.
_ENTRY = re.compile(r"[a-z]+-[0-9a-f]{32,64}(?:\.json)?")
#: Folders of build results: numerical checks, precompiled headers, object files, replaced derivatives.
_BUILT = ("verify", "headers", "objects", "run")
#: Their contents: folders named by a digest, recorded inputs, object files.
_WORK = re.compile(r"[0-9a-f]{32}|samples-[\w.+-]+\.(?:bin|part)|\.lock|\w+-[0-9a-f]{20}\.o")


class Cleaned(Struct, frozen=True):
    """The removed files.

    Attributes:
        folder: the folder of the cache, or None.
        files: the number of files.
        size: the number of bytes.
    """

    folder: Path | None
    files: int = 0
    size: int = 0


def clean() -> Cleaned:
    """Remove everything that derivlint has created in the cache, as far as possible.

    The folder itself is kept, since it may hold other files of the user.
    """
    folder = cache_folder()
    if folder is None:
        return Cleaned(None)
    files = size = 0
    for path in _own_files(folder):
        # links count as files
        below = [Path(parent, name) for parent, _, names in os.walk(path) for name in names]
        for file in below if path.is_dir() else [path]:
            try:
                bytes_of = os.lstat(file).st_size
                os.unlink(file)
            except OSError:
                continue
            files, size = files + 1, size + bytes_of
        if path.is_dir():
            # only empty folders remain
            shutil.rmtree(path, ignore_errors=True)
    return Cleaned(folder, files, size)


def _own_files(folder: Path) -> Iterator[Path]:
    """Yield the files and folders in the cache that derivlint created."""
    for path in sorted(folder.iterdir()):
        if is_made_by_user(path) and (_ENTRY.fullmatch(path.name) or path.name.startswith(PREFIX)):
            yield path
    for work in (folder / name for name in _BUILT):
        if is_own(work) and work.is_dir():
            yield from (path for path in sorted(work.iterdir()) if _WORK.fullmatch(path.name) and is_own(path))
