"""Reading old versions of files from git.

The repository is not trusted: its configuration may name programs, which git starts for many commands. Only commands
that read objects and the index are used, programs that a configuration could start are disabled, and nothing is
fetched.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from threading import Timer

from derivlint.project.errors import InputError
from derivlint.source.lazy import cached_property
from derivlint.source.reading import MAX_BYTES

#: The suffix of a revision that means its merge base with HEAD.
MERGE_BASE = "..."
#: The time limit of each git command, in seconds; on network file systems, reading an old version may take most of it.
TIMEOUT = 60.0
#: The option of ``prctl`` for the signal sent when the parent ends.
_PR_SET_PDEATHSIG = 1
#: Settings that override the repository's configuration: programs that git starts, and remotes.
_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.sshCommand=false",
    "core.pager=cat",
    "protocol.allow=never",
)
#: The retained environment variables: the user's configuration of git, and limits of the search for a repository.
_RETAINED = frozenset(
    {
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    }
)


class Revision:
    """A revision of the repository that holds a folder.

    Attributes:
        name: the user's name of the revision; ``main...`` is the merge base of HEAD and ``main``.
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
            if (
                around := next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)
            ) is None:
                raise InputError(f'"{folder}" is not in a git repository: there is no revision to compare with')
            raise InputError(f'git cannot read the repository "{around}"; run "git status" there')
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
        """Return the content of a file in the revision, also under its former name; None if it did not exist.

        Raises:
            InputError: the file is too large, or git fails.
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
        """Return the old names of tracked files renamed since, by their new names.

        The index is compared: reading the files would run filters that the repository configures.
        """
        options = ("--cached", "--name-status", "-z", "-M", "--diff-filter=R", "--no-ext-diff", "--no-textconv")
        listed = self._git("-C", str(self.root), "diff-index", *options, self.commit)
        fields = [os.fsdecode(field) for field in (listed or b"").split(b"\0")]
        return {new: old for old, new in zip(fields[1::3], fields[2::3], strict=False)}

    def _git(self, *arguments: str) -> bytes | None:
        """Return the output of a command, or None if it fails.

        Raises:
            InputError: git is missing or times out, or its output is larger than a file may be.
        """
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        command = [git_program(), "--no-pager", *settings, "-C", str(self._folder), *arguments]
        try:
            with subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
                # a git that blocks on a pipe would outlive this process if it is killed
                preexec_fn=partial(_end_with_parent, os.getpid()) if os.name == "posix" else None,
                start_new_session=True,
            ) as process:
                assert process.stdout is not None
                limit = Timer(TIMEOUT, process.kill)
                limit.start()
                try:
                    printed = process.stdout.read(MAX_BYTES + 1)
                    status = process.wait() if len(printed) <= MAX_BYTES else None
                finally:
                    in_time = not limit.finished.is_set()
                    limit.cancel()
                    # kill does nothing if the process has ended
                    process.kill()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"cannot run git, which --diff-base needs: {reason}") from error
        if not in_time:
            raise InputError(f"git timed out after {TIMEOUT:g} seconds")
        if status is not None:
            return printed if status == 0 else None
        raise InputError(f'git prints more than {MAX_BYTES // 2**20} MiB for "{" ".join(arguments)}"')


def git_program() -> str:
    """Return the git on the search path, never one in the current folder.

    Raises:
        InputError: git is not on the search path.
    """
    # Windows, and an empty part of the path, would search the current folder
    names = ("git.exe",) if sys.platform == "win32" else ("git",)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for name in names:
            program = os.path.join(folder, name)
            if os.path.isabs(folder) and os.path.isfile(program) and os.access(program, os.X_OK):
                return program
    raise InputError("cannot run git, which --diff-base needs: there is no git on the search path")


def environment() -> dict[str, str]:
    """Return the environment for git, without the variables that hooks and users set for other commands."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _RETAINED}
    return {
        **inherited,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_TERMINAL_PROMPT": "0",
    }


def _end_with_parent(parent: int) -> None:
    """Make this process end with its parent, if the system supports that.

    Args:
        parent: the process ID of the parent.
    """
    if sys.platform == "linux":
        # works even while a library holds the GIL
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
