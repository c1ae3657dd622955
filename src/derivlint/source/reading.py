"""Open input: regular files of bounded size, and special files named on the command line.

Every path that a command, a configuration, an editor or a repository names is opened here. A pipe, device or socket
could block or be endless; it is read only if the command line names it below ``/dev`` or ``/proc``, as shells do for
``<(...)``.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

#: The maximum number of bytes of any input file.
MAX_BYTES = 64 * 1024 * 1024

#: The path prefixes of pipes and devices.
_SPECIAL = ("/dev/", "/proc/")
#: File systems whose regular files may block or be private to this process.
_OF_THE_SYSTEM = ("/proc/", "/sys/")
#: Other names of open file descriptors.
_DESCRIPTORS = ("/dev/fd/", "/dev/std")
#: The special paths that the command line names.
_accepted: set[str] = set()


class SourceError(Exception):
    """A file that cannot be read (missing, a folder, no permission, too large); ``str()`` is the reason."""


def accept_special(path: str | Path) -> None:
    """Allow a path of the command line to be a pipe or a device, if its prefix says so."""
    name = os.fspath(path)
    if name.startswith(_SPECIAL):
        _accepted.add(name)


def forget_accepted() -> None:
    """Forget accepted special paths, for another command line in this process."""
    _accepted.clear()


def open_input(path: str | Path, *, follow: bool = True) -> BinaryIO:
    """Open a file for reading.

    Args:
        path: the file.
        follow: whether it may be a link.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
        ValueError: the path is malformed, such as one with a null character.
    """
    name = os.fspath(path)
    if name in _accepted:
        return open(name, "rb")
    # opening some devices has side effects
    _require_regular(os.stat(name).st_mode)
    if os.name == "posix":
        absolute = os.path.abspath(name)
        if absolute.startswith((*_OF_THE_SYSTEM, *_DESCRIPTORS)) or os.path.realpath(name).startswith(_OF_THE_SYSTEM):
            raise OSError(errno.EINVAL, "it is not a regular file")
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    # a pipe may replace the file meanwhile: opening it would wait for a writer
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    handle = os.open(name, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    try:
        _require_regular(os.fstat(handle).st_mode)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _require_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def read_input(path: str | Path, limit: int = MAX_BYTES, *, follow: bool = True) -> bytes:
    """Read a file.

    Args:
        path: the file.
        limit: the maximum number of bytes.
        follow: whether it may be a link.

    Raises:
        OSError: it cannot be read, is not a regular file, or exceeds the limit.
        ValueError: the path is malformed, such as one with a null character.
    """
    with open_input(path, follow=follow) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        size = f"{limit // 2**20} MiB" if limit >= 2**20 else f"{limit // 2**10} KiB"
        raise OSError(errno.EFBIG, f"it is larger than {size}")
    return data


def read_bytes(path: str | Path, shown: str, limit: int = MAX_BYTES) -> bytes:
    """Read a file that a user names.

    Args:
        path: the file.
        shown: its name in messages.
        limit: the maximum number of bytes.

    Raises:
        SourceError: it cannot be read, is not a regular file, or exceeds the limit.
    """
    try:
        return read_input(path, limit)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceError(f'cannot read "{shown}": {reason}') from error
