"""Atomic and durable writing of files; folders that only one user can write to.

A file is written under a temporary name in its folder, synced, and renamed. Temporary files of killed runs are removed
by the next run that writes into the folder.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from derivlint.source.reading import open_input

#: The prefix of temporary files.
PREFIX = ".new-"
#: The name of a temporary file: machine, process, run and a suffix that is unique in the process.
_NAME = re.compile(
    re.escape(PREFIX) + r"(?P<host>[A-Za-z0-9]+)-(?P<process>[1-9][0-9]{0,9})-(?P<run>[0-9a-f]{8})[0-9a-f]{8}"
)
#: Errors of file systems that cannot sync folders or copy attributes.
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF})
#: Distinguishes this process from earlier ones with the same number, which is common in containers.
_RUN = os.urandom(4).hex()


class ChangedError(OSError):
    """A file differs from what was read."""

    def __init__(self) -> None:
        super().__init__(errno.EBUSY, "it has changed since it was read")


def write_file(path: Path, data: bytes, *, expected: bytes | None = None) -> None:
    """Write a file that a user named: follow links to it, and refuse if it is read-only.

    A rename over a read-only file would succeed, since it only writes to the folder; the file is protected on purpose.

    Args:
        path: the file, which keeps its permissions; it need not exist.
        data: its new content.
        expected: its required present content, None for any.

    Raises:
        OSError: it cannot be written, or is not a regular file; :class:`ChangedError` where it is not as expected.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None:
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if is_protected(path, mode):
            raise PermissionError(errno.EACCES, "it is read-only")
    replace_file(Path(os.path.realpath(path)), data, expected=expected)


def is_protected(path: Path, mode: int) -> bool:
    """Whether a file is read-only.

    Args:
        path: the file.
        mode: its mode, which counts for the superuser too.
    """
    return not mode & 0o222 or not os.access(path, os.W_OK)


def replace_file(
    path: Path, data: bytes, *, mode: int | None = None, expected: bytes | None = None, durable: bool = True
) -> None:
    """Replace a file atomically: after any failure it has either the old or the new content.

    A symbolic link is replaced, not followed. Hard links to the file keep the old content.

    Args:
        path: the file.
        data: its new content.
        mode: its permissions; by default unchanged, or those of the process for a new file.
        expected: its required present content, None for any.
        durable: whether to sync, so that the new file survives a crash of the machine; caches need not.

    Raises:
        OSError: it cannot be written; :class:`ChangedError` where it is not as expected.
    """
    before = _status(path)
    remove_leftovers(path.parent)
    name = path.parent / f"{PREFIX}{_host()}-{os.getpid()}-{_RUN}{os.urandom(4).hex()}"
    is_new = before is None or not stat.S_ISREG(before.st_mode)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(name, flags, 0o666 if is_new and mode is None else 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            if before is not None and not is_new:
                _adopt(name, path, before)
            if mode is not None:
                os.chmod(name, mode)
            if durable:
                os.fsync(stream.fileno())
        if expected is not None and _content(path) != expected:
            raise ChangedError
        os.replace(name, path)
        if durable:
            _sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of killed runs on this machine, and nothing else.

    A leftover is a regular file of this user without other hard links, whose name matches and whose process no longer
    runs. Failures to remove are ignored.

    Args:
        folder: the folder, without its subfolders.
    """
    if os.name == "nt":
        # on Windows, os.kill(pid, 0) would end the process
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name) if entry.name.startswith(PREFIX) else None
            if match is None or match["host"] != _host() or _is_running(int(match["process"]), match["run"]):
                continue
            with suppress(OSError):
                status = os.lstat(entry.path)
                if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1:
                    os.unlink(entry.path)


def _host() -> str:
    """The machine's name, restricted to characters of file names."""
    name = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    return re.sub(r"[^A-Za-z0-9]", "", name)[:64] or "local"


def _is_running(process: int, run: str) -> bool:
    """Whether a process exists; a reused number counts, except that of this process."""
    if process == os.getpid():
        return run == _RUN
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _content(path: Path) -> bytes | None:
    try:
        with open_input(path) as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def _adopt(name: Path, path: Path, before: os.stat_result) -> None:
    """Give a new file the owner, attributes and permissions of the old one, as far as permitted."""
    mode = stat.S_IMODE(before.st_mode)
    after = os.lstat(name)
    if hasattr(os, "chown") and (after.st_uid, after.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.chown(name, before.st_uid, before.st_gid)
        except OSError:
            # drop setuid and setgid if the owner cannot be preserved
            mode &= 0o777
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            # access control lists are extended attributes too
            for attribute in os.listxattr(path):
                with suppress(OSError):
                    os.setxattr(name, attribute, os.getxattr(path, attribute))
    os.chmod(name, mode)


def _sync_folder(folder: Path) -> None:
    """Sync the entries of a folder, if the system supports that."""
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        # a writable folder may be unreadable
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(handle)


#: The write permissions of other users.
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def is_made_by_user(path: Path) -> bool:
    """Whether a path is a regular file of this user, not a link."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and (not hasattr(os, "geteuid") or status.st_uid == os.geteuid())


def is_own(path: Path) -> bool:
    """Whether a file or folder belongs to this user and no one else can write to it; False for links."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if stat.S_ISLNK(status.st_mode):
        return False
    return os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & _OTHERS)


def not_private(folder: Path) -> str | None:
    """The reason why other users can write to a folder, or None; always None without POSIX user ids.

    Args:
        folder: a folder that exists.

    Raises:
        OSError: its status cannot be read.
    """
    if not hasattr(os, "geteuid"):
        return None
    user = os.geteuid()
    if os.lstat(folder).st_uid != user:
        return f'"{folder}" belongs to another user'
    status = os.stat(folder)
    if not stat.S_ISDIR(status.st_mode):
        return f'"{folder}" is not a folder'
    if status.st_uid != user:
        return f'"{folder}" is a link to a folder of another user'
    if status.st_mode & _OTHERS:
        return f'others can write to "{folder}"'
    for parent in Path(os.path.realpath(folder)).parents:
        mode = os.stat(parent).st_mode
        # without the sticky bit, anyone who can write to a folder can replace its files
        if mode & 0o002 and not mode & stat.S_ISVTX:
            return f'everybody can rename files in "{parent}"'
    return None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder during the block.

    Raises:
        OSError: the folder cannot be written to.
    """
    # Windows lacks fcntl, but nothing is compiled there
    import fcntl

    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def delete_oldest(place: Path, most: int) -> None:
    """Delete all but the most recently used subfolders of a folder.

    Args:
        place: the folder.
        most: the maximum number of folders that stay.
    """
    try:
        folders = sorted((path for path in place.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    except OSError:
        # another process deletes too
        return
    for folder in folders[:-most]:
        shutil.rmtree(folder, ignore_errors=True)
