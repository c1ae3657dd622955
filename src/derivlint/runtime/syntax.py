"""Syntax checks of emitted sources by the compiler, without object files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from derivlint.compiler.children import processors
from derivlint.compiler.gxx import CompilerError, ProcessResult, Toolchain, compile_command, find_toolchain, run
from derivlint.emit.in_tree import GENERATED, NODES
from derivlint.emit.python_bindings import is_binding
from derivlint.emit.release import release_of
from derivlint.runtime.build import FLAGS, BuildError, located, search_paths
from derivlint.runtime.manifest import mismatch_of_headers, torch_of
from derivlint.runtime.python import PythonHeaders, python_headers


class SourceMessages(Struct, frozen=True):
    """The compiler's output for a rejected source."""

    source: str
    output: str


def syntax_errors(
    folder: Path, *, compiler: str | None = None, progress: Callable[[str], None] = lambda message: None
) -> list[SourceMessages]:
    """Check the syntax of every source of an emitted folder with the compiler.

    Args:
        folder: a folder with sources, not necessarily an extension.
        compiler: the name of the compiler.
        progress: called with the current step.

    Raises:
        BuildError: there is no compiler, or no headers of PyTorch.
    """
    try:
        toolchain = find_toolchain(compiler)
        problem = mismatch_of_headers(folder, torch_of(folder), toolchain.includes)
        if problem is not None:
            raise BuildError(problem)
        headers = python_headers()
        sources = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.cpp"))
        # a name must not look like a compiler option
        sources = [f"./{name}" if name.startswith("-") else name for name in sources]
        names = [name for name in sources if not (headers.missing and is_binding(name))]
        with _generated_folder(folder) as place, ThreadPoolExecutor(max_workers=processors()) as pool:
            results = list(pool.map(partial(_read_only, toolchain, headers, folder, place, progress), names))
    except CompilerError as error:
        raise BuildError(str(error)) from error
    refused = ((name, done) for name, done in zip(names, results, strict=True) if done.status)
    return [SourceMessages(name, located(folder, done.stderr)) for name, done in refused]


@contextmanager
def _generated_folder(folder: Path) -> Iterator[tuple[str, ...]]:
    """Provide the options for the first include folders: files of a PyTorch build precede the installed ones."""
    if not (folder / f"{NODES}.h").is_file():
        yield ()
        return
    with TemporaryDirectory() as place:
        generated = Path(place, GENERATED)
        generated.parent.mkdir(parents=True)
        generated.symlink_to(folder.resolve(), target_is_directory=True)
        yield (f"-I{place}",)


def _read_only(
    toolchain: Toolchain,
    headers: PythonHeaders,
    folder: Path,
    place: tuple[str, ...],
    progress: Callable[[str], None],
    name: str,
) -> ProcessResult:
    progress(f"compiling {name}")
    standard = f"-std={release_of(torch_of(folder)).standard}"
    command = compile_command(toolchain, *FLAGS, standard, "-O0", *toolchain.compiler.reading, f"-I{folder}", name)
    command[1:1] = [*place, *search_paths(folder, [name], headers)]
    return run(command, folder)
