"""Runs a C++ compiler, g++ or Clang, with the headers of an installed PyTorch.

No shell is involved, only derivlint's own programs are linked, and every run has a time limit.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from derivlint.compiler.children import ProcessGroup, running_command
from derivlint.source import read_input

DEFAULT_COMPILER = "g++"
#: Compilers for code that is run at once, the fastest first.
FASTEST = ("clang++", DEFAULT_COMPILER)
#: The C++ standard and warnings of PyTorch's build; follows its CMakeLists.txt and cmake/public/utils.cmake.
PYTORCH_FLAGS = (
    "-std=c++20",
    "-DNDEBUG",
    "-D_GLIBCXX_USE_CXX11_ABI=1",
    "-Wnarrowing",
    "-Werror=return-type",
    "-Werror=bool-operation",
    "-Werror=range-loop-construct",
)
#: The time limit in seconds; a unit with all of PyTorch's headers takes about ten.
TIMEOUT = 600.0


_VERSION_PART = {
    part: re.compile(rf"^#define TORCH_VERSION_{part} (\d+)\s*$", re.MULTILINE) for part in ("MAJOR", "MINOR", "PATCH")
}


class CompilerError(Exception):
    """The compiler cannot be run or fails; errors in the source are not reported by this exception."""


class Compiler(Struct, frozen=True):
    """A compiler that runs.

    Attributes:
        path: the executable.
        version: the first line of ``--version``.
    """

    path: Path
    version: str

    @property
    def is_clang(self) -> bool:
        """Whether the compiler is Clang; it accepts most options of g++."""
        return "clang" in self.version

    @property
    def reading(self) -> tuple[str, ...]:
        """The options for syntax checks: one-line errors, without source excerpts."""
        if self.is_clang:
            return ("-fsyntax-only", "-ferror-limit=0", "-fno-caret-diagnostics")
        return ("-fsyntax-only", "-fmax-errors=0", "-fno-diagnostics-show-caret")


class Toolchain(Struct, frozen=True):
    """A compiler with PyTorch's headers.

    Attributes:
        compiler: the compiler.
        includes: the directories of PyTorch's headers.
    """

    compiler: Compiler
    includes: tuple[Path, ...]


class ProcessResult(Struct, frozen=True):
    """The result of a process.

    Attributes:
        status: the exit status, 0 for success.
        stdout: its output.
        stderr: its messages.
    """

    status: int
    stdout: str
    stderr: str


def find_compiler(name: str | None = None) -> Compiler | None:
    """Return the compiler with a name or path, by default ``$CXX``, else ``g++``; None if it does not run."""
    path = shutil.which(name or os.environ.get("CXX") or DEFAULT_COMPILER)
    if path is None:
        return None
    # compilers run in other working folders
    path = os.path.abspath(path)
    try:
        done = run([path, "--version"], timeout=30.0)
    except CompilerError:
        return None
    lines = done.stdout.splitlines()
    return Compiler(Path(path), lines[0].strip()) if done.status == 0 and lines else None


def torch_includes() -> list[Path] | None:
    """Return the directories of the installed torch's headers without importing it, or None without headers."""
    try:
        spec = find_spec("torch")
    except (ImportError, ValueError):
        return None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        include = Path(place) / "include"
        if (include / "ATen" / "ATen.h").is_file():
            return [include, include / "torch" / "csrc" / "api" / "include"]
    return None


def headers_version(includes: Sequence[Path]) -> str | None:
    """Return the version of PyTorch that headers declare, or None."""
    for directory in includes:
        for name in ("torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h", "torch/version.h"):
            try:
                text = read_input(directory / name).decode()
            except (OSError, UnicodeDecodeError):
                continue
            parts = [_VERSION_PART[part].search(text) for part in ("MAJOR", "MINOR", "PATCH")]
            if all(parts):
                return ".".join(match[1] for match in parts if match is not None)
    return None


def find_toolchain(
    name: str | None = None, includes: Sequence[Path] | None = None, *, fastest: bool = False
) -> Toolchain:
    """Return a compiler with PyTorch's headers.

    Args:
        name: the name or path; by default ``$CXX``, else ``g++``.
        includes: the directories of headers; by default those of the installed torch.
        fastest: whether Clang, if installed, is the default.

    Raises:
        CompilerError: there is no such compiler, or there are no headers.
    """
    requested = name or os.environ.get("CXX")
    names = (requested,) if requested else FASTEST if fastest else (DEFAULT_COMPILER,)
    compiler = next(filter(None, map(find_compiler, names)), None)
    if compiler is None and len(names) > 1:
        raise CompilerError(f"no C++ compiler: neither {' nor '.join(names)} can be run; install one of them")
    if compiler is None:
        raise CompilerError(f'cannot run the compiler "{names[0]}"')
    directories = torch_includes() if includes is None else includes
    if not directories:
        raise CompilerError("no headers of PyTorch: torch is not installed")
    return Toolchain(compiler, tuple(directories))


def compile_command(toolchain: Toolchain, *arguments: str) -> list[str]:
    """Return the command that compiles with PyTorch's options."""
    includes = [f"-I{directory}" for directory in toolchain.includes]
    return [str(toolchain.compiler.path), *PYTORCH_FLAGS, *includes, *arguments]


def first_error(messages: str) -> str:
    """Return the first error in a compiler's output, or the first line."""
    lines = messages.splitlines()
    return next((line for line in lines if "error:" in line), lines[0] if lines else "no reason given")


def run(
    command: Sequence[str],
    folder: Path | None = None,
    *,
    timeout: float = TIMEOUT,
    processes: ProcessGroup | None = None,
) -> ProcessResult:
    """Run a command, with messages in English.

    The command and its children end on a timeout, and with this process.

    Args:
        command: the command, with an absolute path.
        folder: its working folder; by default a neutral one.
        timeout: the time limit in seconds.
        processes: the group of commands that it is ended with.

    Raises:
        CompilerError: the command cannot be started or does not end in time.
    """
    try:
        os.stat(command[0])
        if not os.access(command[0], os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        # the intermediate process (child.py) could not report this error
        raise CompilerError(f'cannot run "{command[0]}": {error.strerror}') from error
    try:
        with running_command(command, folder) as process, (processes or ProcessGroup()).running(process):
            stdout, stderr = process.communicate(timeout=timeout)
    except OSError as error:
        raise CompilerError(f'cannot run "{command[0]}": {error.strerror}') from error
    except subprocess.TimeoutExpired as error:
        raise CompilerError(f'"{command[0]}" timed out after {timeout:g} seconds') from error
    return ProcessResult(process.returncode, stdout.decode(errors="replace"), stderr.decode(errors="replace"))
