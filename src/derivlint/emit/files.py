"""Writes emitted files to disk.

A file is rewritten only if its text changes, so that object files stay up to date, and it is replaced atomically. Only
unmodified files that derivlint wrote are overwritten or removed: all conflicts are found before the first byte is
written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct

from derivlint.emit.manifest import MANIFEST, MAX_BYTES, FolderState, digest_of, pending_text, read_manifest
from derivlint.source import read_input, remove_leftovers, replace_file
from derivlint.source.writing import is_protected

#: The maximum number of conflicting files in a message.
MAX_NAMED = 20
#: Emitted files are smaller, so larger conflicting files need not be read.
_MAX_READ = 256 * 1024 * 1024


class FilesError(Exception):
    """A folder or a file cannot be written or read.

    Attributes:
        messages: the errors.
    """

    def __init__(self, *messages: str) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages


class FileChanges(Struct, frozen=True):
    """The changes that writing makes, as paths in the folder.

    Attributes:
        written: the files whose text changes.
        removed: the files of an earlier emission that are no longer emitted.
        retained: files of an earlier emission that are kept, with the reason.
        refused: the conflicts that prevent writing.
    """

    written: tuple[str, ...]
    removed: tuple[str, ...]
    retained: Mapping[str, str]
    refused: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)

    @property
    def stale(self) -> tuple[str, ...]:
        """The files that differ; the manifest comes last, and is included only if it alone differs."""
        names = (*self.written, *self.removed)
        return tuple(name for name in names if name != MANIFEST) or names


class _ConflictError(Exception):
    """A file at the path was not written by derivlint, or was modified since."""


def changes(folder: Path, files: Mapping[str, str]) -> FileChanges:
    """Compare the files with the folder, and find conflicts.

    Raises:
        FilesError: the folder cannot be read.
    """
    return _Folder(folder, files).changes()


def write_files(folder: Path, files: Mapping[str, str]) -> FileChanges:
    """Write the files to the folder; files that are up to date are not touched.

    Raises:
        FilesError: the folder cannot be read or written, or there are conflicts.
    """
    place = _Folder(folder, files)
    planned = place.changes()
    if planned.refused:
        count = len(planned.refused)
        more = (f"{count - MAX_NAMED:,} more files are in the way",) if count > MAX_NAMED else ()
        way_out = f'nothing is written to "{folder}": choose another folder, or remove what is in the way'
        raise FilesError(*planned.refused[:MAX_NAMED], *more, way_out)
    try:
        place.write(planned)
    except OSError as error:
        raise FilesError(f'cannot write to "{folder}": {error.strerror or error}') from error
    return planned


class _Folder:
    """The current and the intended contents of a folder."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self._folder = folder
        self._files = {name: text.encode() for name, text in files.items()}
        self._manifest = files[MANIFEST]
        self._present: dict[str, bytes] = {}
        self._before = FolderState({}, complete=True)

    def changes(self) -> FileChanges:
        refused: list[str] = []
        written: list[str] = []
        if os.path.exists(self._folder) and not os.path.isdir(self._folder):
            raise FilesError(f'"{self._folder}" is not a folder')
        try:
            current = self._look(MANIFEST, MAX_BYTES)
            before = read_manifest(current) if current is not None else self._before
            if before is None:
                refused.append(f'"{self._folder / MANIFEST}" is not a manifest that this derivlint wrote')
            else:
                self._before = before
        except _ConflictError as error:
            refused.append(str(error))
        for name in sorted(self._files):
            try:
                current = self._look(name)
                if current == self._files[name]:
                    continue
                if current is not None and name != MANIFEST:
                    self._require_ours(name, current)
                written.append(name)
            except _ConflictError as error:
                if str(error) not in refused:
                    refused.append(str(error))
                written.append(name)
        removed, retained = self._no_longer_emitted()
        return FileChanges(tuple(written), tuple(removed), retained, tuple(refused))

    def _no_longer_emitted(self) -> tuple[list[str], dict[str, str]]:
        """The files of an earlier emission to remove, and those to keep, with the reason."""
        removed: list[str] = []
        retained: dict[str, str] = {}
        for name in sorted(self._before.digests.keys() - self._files.keys()):
            try:
                current = self._look(name)
                if current is not None:
                    self._require_ours(name, current)
                    removed.append(name)
            except _ConflictError as error:
                retained[name] = str(error)
        return removed, retained

    def _require_ours(self, name: str, current: bytes) -> None:
        """Raise for a file that derivlint did not write, or that was modified since."""
        path = self._folder / name
        digests = self._before.digests.get(name)
        if digests is None:
            raise _ConflictError(f'"{path}" was not written by derivlint')
        if digest_of(current) not in digests:
            raise _ConflictError(f'"{path}" has changed since derivlint wrote it')
        if is_protected(path, os.lstat(path).st_mode):
            raise _ConflictError(f'"{path}" is read-only')

    def _look(self, name: str, limit: int = _MAX_READ) -> bytes | None:
        """Return the content of a file of the folder, cached, or None if there is none.

        Only regular files are opened: reading a pipe would block, and a link may lead out of the folder.
        """
        if name in self._present:
            return self._present[name]
        path = self._folder / name
        try:
            for parent in reversed(PurePosixPath(name).parents[:-1]):
                mode = os.lstat(self._folder / parent).st_mode
                if not stat.S_ISDIR(mode):
                    raise _ConflictError(f'"{self._folder / parent}" is {_kind(mode)}')
            status = os.lstat(path)
            if not stat.S_ISREG(status.st_mode):
                raise _ConflictError(f'"{path}" is {_kind(status.st_mode)}')
            if status.st_size > limit:
                raise _ConflictError(f'"{path}" was not written by derivlint')
            data = read_input(path, limit)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FilesError(f'cannot read "{path}": {error.strerror or error}') from error
        self._present[name] = data
        return data

    def write(self, planned: FileChanges) -> None:
        """Write the changed files, and the manifest before and after them."""
        self._folder.mkdir(parents=True, exist_ok=True)
        names = {*self._files, *self._before.digests}
        for parent in sorted({PurePosixPath(name).parent for name in names}):
            remove_leftovers(self._folder / parent)
        emitted = [name for name in planned.written if name != MANIFEST]
        if emitted or planned.removed:
            digests = {name: digest_of(data) for name, data in self._present.items()}
            ours = {name: digests[name] for name in digests if digests[name] in self._before.digests.get(name, ())}
            self._replace(MANIFEST, pending_text(self._manifest, ours).encode())
        for name in emitted:
            (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
            self._replace(name, self._files[name])
        for name in planned.removed:
            path = self._folder / name
            with suppress(FileNotFoundError):
                if read_input(path) == self._present[name]:
                    path.unlink()
        if emitted or planned.removed or planned.written:
            self._replace(MANIFEST, self._files[MANIFEST])

    def _replace(self, name: str, data: bytes) -> None:
        """Write a file, unless it was modified since it was read."""
        replace_file(self._folder / name, data, expected=self._present.get(name))
        self._present[name] = data


def _kind(mode: int) -> str:
    """Describe a path that is not a regular file."""
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "not a regular file"
