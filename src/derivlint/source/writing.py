"""Files that are written as a whole or not at all, and that stay written; folders that only one user can write to.

A file is written beside its place, brought to the disk, and moved there. What a run that was killed leaves beside files
is removed by the next run that writes into the folder.
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

#: Begins the names of files that are not in their place yet.
PREFIX = ".new-"
#: Such a name: the machine, the process that writes it, and what tells its files apart.
_NAME = re.compile(
    re.escape(PREFIX) + r"(?P<host>[A-Za-z0-9]+)-(?P<process>[1-9][0-9]{0,9})-(?P<run>[0-9a-f]{8})[0-9a-f]{8}"
)
#: What file systems say that cannot bring a folder or attributes to the disk.
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF})
#: Tells the files of this process from those of an earlier one of the same number, as containers have them.
_RUN = os.urandom(4).hex()


class ChangedError(OSError):
    """A file is no longer what it was when it was read."""

    def __init__(self) -> None:
        super().__init__(errno.EBUSY, "it has changed since it was read")


def write_file(path: Path, data: bytes, *, expected: bytes | None = None) -> None:
    """Write a file that a user named: through links to it, and only if it may be written.

    Moving a file into the place of a read-only one would work, since it is the folder that is written then. It is
    refused, since someone has protected that file.

    Args:
        path: the file, which keeps its permissions; it need not exist.
        data: what is to be in it.
        expected: what has to be in it before, None for anything.

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
        mode: its mode; the superuser may write anything, and should not.
    """
    return not mode & 0o222 or not os.access(path, os.W_OK)


def replace_file(
    path: Path, data: bytes, *, mode: int | None = None, expected: bytes | None = None, durable: bool = True
) -> None:
    """Write a file beside its place, then move it there; whatever fails, the file is the old one or the new one.

    A link at that place is replaced, not followed. Other names of the same file (hard links) keep what they have.

    Args:
        path: the file.
        data: what is to be in it.
        mode: its permissions; by default those that it has, and those of the process for a new file.
        expected: what has to be in it before, None for anything.
        durable: whether the new file has to outlast a crash of the machine; caches need not.

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
    """Remove the files that runs of derivlint on this machine left when they were killed, and nothing else.

    A file is one of those if it is a regular file of this user without another name, is called as such files are, and
    the process that its name speaks of is no longer there. What cannot be removed stays.

    Args:
        folder: the folder; what is below it is left alone.
    """
    if os.name == "nt":
        # asking there whether a process runs ends it
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
    """The machine's name, as far as it can be part of a file's name."""
    name = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    return re.sub(r"[^A-Za-z0-9]", "", name)[:64] or "local"


def _is_running(process: int, run: str) -> bool:
    """Whether a process is still there; a number that was given again counts, but for this very process."""
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
    """Give a new file the owner, attributes and permissions of the one that it replaces, as far as that is allowed."""
    mode = stat.S_IMODE(before.st_mode)
    after = os.lstat(name)
    if hasattr(os, "chown") and (after.st_uid, after.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.chown(name, before.st_uid, before.st_gid)
        except OSError:
            # what is run as its owner must not be run as another one
            mode &= 0o777
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            # lists of access rights are attributes, too
            for attribute in os.listxattr(path):
                with suppress(OSError):
                    os.setxattr(name, attribute, os.getxattr(path, attribute))
    os.chmod(name, mode)


def _sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can do that."""
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        # who may write to a folder need not be allowed to read it
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(handle)


#: Permissions of other users to write.
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def is_made_by_user(path: Path) -> bool:
    """Whether a path is a regular file of this user, and not a link."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and (not hasattr(os, "geteuid") or status.st_uid == os.geteuid())


def is_own(path: Path) -> bool:
    """Whether a file or folder is this user's, and no one else can write to it; a link is not."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if stat.S_ISLNK(status.st_mode):
        return False
    return os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & _OTHERS)


def not_private(folder: Path) -> str | None:
    """The reason why other users can write to a folder, or None; without user numbers always None.

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
        # who can write to a folder without the sticky bit can rename what is in it, and put something else there
        if mode & 0o002 and not mode & stat.S_ISVTX:
            return f'everybody can rename files in "{parent}"'
    return None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes that lock it, while the block runs.

    Raises:
        OSError: the folder cannot be written to.
    """
    # Windows lacks it, where nothing is compiled
    import fcntl

    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def delete_oldest(place: Path, most: int) -> None:
    """Delete the least recently used folders in a folder, down to a number.

    Args:
        place: the folder.
        most: the maximum number of folders that stay.
    """
    try:
        folders = sorted((path for path in place.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    except OSError:
        # another process deletes as well
        return
    for folder in folders[:-most]:
        shutil.rmtree(folder, ignore_errors=True)
