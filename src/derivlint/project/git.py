"""Asking git for old versions of files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from derivlint.project.errors import InputError
from derivlint.source.lazy import cached_property

#: What a revision may end with, to mean where the current branch left another.
MERGE_BASE = "..."


class Revision:
    """A revision of the repository that holds a folder.

    Attributes:
        name: the revision as the user names it; ``main...`` is where HEAD left ``main``.
        root: the working tree of the repository.
        commit: the commit.
    """

    def __init__(self, name: str, folder: Path) -> None:
        """Find the repository and the commit.

        Raises:
            InputError: there is no git, no repository around the folder, or no such revision.
        """
        self.name = name
        self._folder = folder
        top = self._git("rev-parse", "--show-toplevel")
        if top is None:
            raise InputError(f'"{folder}" is in no git repository, which --diff-base needs')
        self.root = Path(os.path.realpath(os.fsdecode(top.removesuffix(b"\n"))))
        base = name.removesuffix(MERGE_BASE)
        commit = None
        if base and not base.startswith("-"):
            commit = self._git("rev-parse", "--verify", "--quiet", f"{base}^{{commit}}")
            if commit is not None and base != name:
                commit = self._git("merge-base", os.fsdecode(commit.strip()), "HEAD")
        if commit is None:
            raise InputError(f'the git repository "{self.root}" has no revision "{name}"')
        self.commit = os.fsdecode(commit.strip())

    def text_of(self, path: Path) -> bytes | None:
        """What a file of the working tree was in the revision, under another name if it was renamed since.

        None where it was not there.
        """
        real = os.path.realpath(path)
        name = os.path.relpath(real, self.root).replace(os.sep, "/")
        if name.startswith("../"):
            return None
        old = self._git("cat-file", "blob", f"{self.commit}:{name}")
        if old is None and name in self._renamed:
            old = self._git("cat-file", "blob", f"{self.commit}:{self._renamed[name]}")
        return old

    @cached_property
    def _renamed(self) -> dict[str, str]:
        """The old names of the files that were renamed since, by their new ones; only files that git knows."""
        listed = self._git(
            "-C", str(self.root), "diff", "--name-status", "-z", "-M", "--diff-filter=R", "--no-ext-diff", self.commit
        )
        fields = [os.fsdecode(field) for field in (listed or b"").split(b"\0")]
        return {new: old for old, new in zip(fields[1::3], fields[2::3], strict=False)}

    def _git(self, *arguments: str) -> bytes | None:
        """What a command prints, None where it fails."""
        # what hooks set would make git look at the repository of the hook instead of that of the file
        environment = {name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
        environment["GIT_OPTIONAL_LOCKS"] = "0"
        try:
            result = subprocess.run(
                ["git", "-C", str(self._folder), *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=environment,
                check=False,
            )
        except OSError as error:
            raise InputError(f"cannot run git, which --diff-base needs: {error.strerror or error}") from error
        return result.stdout if result.returncode == 0 else None
