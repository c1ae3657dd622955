"""Folders that only one user can write to, for files that are run, loaded or trusted."""

from __future__ import annotations

import os
import stat
from pathlib import Path

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
            return f'everybody can rename what is in "{parent}"'
    return None
