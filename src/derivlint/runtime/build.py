"""Building an extension: one run of the compiler for each source, two at a time, and the linker.

Object files are named by a digest of all that they are made from, so that only what changed is compiled again. What
the objects need and PyTorch's libraries hide is called through stubs (:mod:`derivlint.emit.helpers`).
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from derivlint.compiler.gxx import (
    CompilerError,
    ProcessResult,
    Toolchain,
    compile_command,
    find_toolchain,
    first_error,
    run,
)
from derivlint.emit.helpers import ElfError, machine_of, stubs_source, unresolved
from derivlint.emit.helpers.stubs import base_name
from derivlint.emit.in_tree import GENERATED, NODES
from derivlint.emit.python_bindings import is_binding
from derivlint.emit.release import release_of
from derivlint.runtime.manifest import Manifest, mismatch_of_headers, read_manifest, torch_of
from derivlint.runtime.python import PYTHON_LIBRARY, PythonHeaders, library_file, python_headers, undefined_in
from derivlint.source import is_made_by_user, not_private, read_input, replace_file

LIBRARY = "libtorch_cpu.so"
#: The libraries that an extension is linked with.
LINKED = ("torch_cpu", "c10")
BUILD_FOLDER = "build"
#: The folder beside the sources whose headers come before PyTorch's; the user's own helpers lie there.
FIRST_INCLUDED = "helpers"
JOBS = 2
#: As PyTorch itself is built: what a header does not mark as exported belongs to the library that compiles it.
FLAGS = ("-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-fdiagnostics-color=never")
#: g++ looks for garbage only when it has taken so many kilobytes; headers leave little, and the search takes a tenth.
HASTE = ("--param=ggc-min-heapsize=1048576",)
#: The user's own FunctionsManual is what formulas call, also where PyTorch's library exports functions of that name.
_LINK_FLAGS = ("-shared", "-Wl,-Bsymbolic-functions", "-Wl,-z,defs", "-Wl,-z,noexecstack")
#: With bindings the linker only warns: what Python offers is in the program that loads the library.
_WARNS_OF_UNDEFINED = "-Wl,--warn-unresolved-symbols"

#: The name of a file that a build makes: what is called otherwise is never removed.
_BUILT = re.compile(r"(?P<stem>.+)-[0-9a-f]{20}\.(?:o|so|S|d)")
#: What separates the names in a list of dependencies, in which blanks of names are escaped and lines continued.
_BETWEEN_NAMES = re.compile(r"(?<!\\)\s+|\\\n\s*")


class BuildError(Exception):
    """An extension cannot be built.

    Attributes:
        output: the messages of the compiler or the linker; empty if they did not run.
    """

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class Built(Struct, frozen=True):
    """A built extension.

    Attributes:
        library: the file to load.
        compiled: the sources that had to be compiled.
        stubs: the number of hidden helpers that are called through stubs.
        without_bindings: why Python does not know the classes of nodes although they were emitted; empty where it does.
    """

    library: Path
    compiled: tuple[str, ...]
    stubs: int
    without_bindings: str = ""


def build(
    folder: Path,
    *,
    build_folder: Path | None = None,
    compiler: str | None = None,
    optimize: str = "-O0",
    in_haste: bool = False,
    objects: Sequence[Path] = (),
    includes: Sequence[Path] = (),
    progress: Callable[[str], None] = lambda message: None,
) -> Built:
    """Build the extension in a folder, as far as it is not built yet.

    Args:
        folder: where the extension was emitted.
        build_folder: where object files and the library go; ``build`` in the folder by default.
        compiler: the name of the C++ compiler.
        optimize: the compiler's option for optimization.
        in_haste: whether the compiler may take more memory, up to a gigabyte, for less time.
        objects: object files that are linked with those of the folder (:func:`compile_sources`).
        includes: where the compiler looks for headers first, precompiled ones too (:func:`precompile`).
        progress: called with what is being done.

    Without the headers of Python, the classes of nodes are left out that Python would know: what they save cannot be
    read there, and all else is the same.

    Raises:
        ManifestError: there is no extension.
        BuildError: it does not compile or link, or there is no compiler or no PyTorch to build it for.
    """
    with _builder(folder, build_folder, compiler, optimize, in_haste, progress, includes) as builder:
        return builder.build(objects)


def precompile(
    folder: Path, name: str, *, compiler: str | None = None, progress: Callable[[str], None] = lambda message: None
) -> Path | None:
    """Compile a header, for sources that include it first and are built in haste.

    Args:
        folder: where the header and a manifest are, and where the file is made.
        name: the header.
        compiler: the name of the C++ compiler.
        progress: called with what is being done.

    Returns:
        The file, which takes some hundred megabytes; None where the compiler takes none beside a header, as Clang.

    Raises:
        ManifestError: there is no manifest.
        BuildError: it does not compile, or there is no compiler or no PyTorch to build it for.
    """
    with _builder(folder, None, compiler, "-O0", True, progress) as builder:
        return builder.precompile(name)


def compile_sources(
    folder: Path, *, compiler: str | None = None, progress: Callable[[str], None] = lambda message: None
) -> tuple[Path, ...]:
    """Compile the sources in a folder, as far as that is not done yet; the object files.

    Args:
        folder: where the sources and the manifest are.
        compiler: the name of the C++ compiler.
        progress: called with what is being done.

    Raises:
        ManifestError: there is no extension.
        BuildError: it does not compile, or there is no compiler or no PyTorch to build it for.
    """
    with _builder(folder, None, compiler, "-O0", False, progress) as builder:
        return tuple(builder.compile().values())


def objects(
    folder: Path | str,
    *,
    compiler: str | None = None,
    optimize: str = "-O2",
    progress: Callable[[str], None] = lambda message: None,
) -> list[str]:
    """Compile what is needed of an emitted folder in a library that others link: the paths of the object files.

    ``CppExtension("my_ops", sources, extra_objects=objects("generated"))`` links it with an extension of
    ``torch.utils.cpp_extension``.

    Args:
        folder: where the extension was emitted.
        compiler: the name of the C++ compiler.
        optimize: the compiler's option for optimization.
        progress: called with what is being done.

    Raises:
        ManifestError: there is no extension.
        BuildError: it does not compile, or there is no compiler or no PyTorch to build it for.
    """
    with _builder(Path(folder), None, compiler, optimize, False, progress) as builder:
        return [str(path.resolve()) for path in builder.objects()]


@contextmanager
def _builder(
    folder: Path,
    build_folder: Path | None,
    compiler: str | None,
    optimize: str,
    in_haste: bool,
    progress: Callable[[str], None],
    includes: Sequence[Path] = (),
) -> Iterator[_Builder]:
    """Set up the build of a folder, and turn errors into build errors."""
    if sys.platform != "linux":
        raise BuildError("extensions are built on Linux only; CMakeLists.txt builds them elsewhere")
    manifest = read_manifest(folder)
    try:
        toolchain = find_toolchain(compiler)
    except CompilerError as error:
        raise BuildError(str(error)) from error
    problem = mismatch_of_headers(folder, manifest.torch, toolchain.includes)
    if problem is not None:
        raise BuildError(problem)
    place = build_folder if build_folder is not None else folder / BUILD_FOLDER
    try:
        _make_private(place)
        yield _Builder(folder, place, manifest, toolchain, optimize, in_haste, progress, includes)
    except OSError as error:
        raise BuildError(f'cannot build in "{place}": {error.strerror or error}') from error
    except (CompilerError, ElfError) as error:
        raise BuildError(str(error)) from error


def _make_private(place: Path) -> None:
    """Make the folder that is built in; what is built is loaded from there, so that no one else may write to it.

    Raises:
        BuildError: others can.
        OSError: it cannot be made.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    reason = not_private(place)
    if reason is not None:
        raise BuildError(f"nothing is built or loaded here: {reason}; choose another build_folder")


class _Builder:
    def __init__(
        self,
        folder: Path,
        place: Path,
        manifest: Manifest,
        toolchain: Toolchain,
        optimize: str,
        in_haste: bool,
        progress: Callable[[str], None],
        includes: Sequence[Path],
    ) -> None:
        self._folder, self._place, self._manifest = folder, place, manifest
        self._toolchain, self._optimize, self._progress = toolchain, optimize, progress
        # what it makes is the same, and no part of what an object file is named by
        self._haste = HASTE if in_haste and not toolchain.compiler.is_clang else ()
        self._libraries = toolchain.includes[0].parent / "lib"
        self._python = python_headers()
        self._first = tuple(f"-I{include}" for include in includes)
        self._without_bindings = ""
        if manifest.bindings:
            library = library_file(self._libraries)
            missing = "" if library.is_file() else f'no "{library.name}" in "{self._libraries}"'
            self._without_bindings = self._python.missing or missing
        has_bindings = bool(manifest.bindings) and not self._without_bindings
        self._sources = tuple(name for name in manifest.sources if has_bindings or not is_binding(name))
        self._linked = (*LINKED, PYTHON_LIBRARY) if has_bindings else LINKED

    def build(self, further_objects: Sequence[Path]) -> Built:
        """Compile and link, with object files of other folders."""
        if self._without_bindings:
            self._progress(f"leaving out the classes of nodes in Python: {self._without_bindings}")
        own = self._objects()
        objects = [*own.values(), *further_objects]
        library = self._library(objects)
        stubs = library.with_suffix(".S")
        todo = self._missing(own)
        if not todo and is_made_by_user(library) and is_made_by_user(stubs):
            return Built(library, (), _count(stubs), self._without_bindings)
        self.compile()
        self._write_stubs(objects, stubs)
        self._link(objects, stubs, library)
        self._remove_old({*own.values(), *(path.with_suffix(".d") for path in own.values()), library, stubs}, library)
        return Built(library, todo, _count(stubs), self._without_bindings)

    def objects(self) -> list[Path]:
        """Compile what is not compiled yet; all object files, with that of the stubs."""
        own = list(self.compile().values())
        stubs = self._library(own).with_suffix(".S")
        self._write_stubs(own, stubs)
        target = stubs.with_suffix(".o")
        command = [str(self._toolchain.compiler.path), "-c", str(stubs.resolve()), "-o", str(target.resolve())]
        done = run(command, self._place)
        if done.status:
            raise BuildError(f"the stubs do not compile: {first_error(done.stderr)}", done.stderr)
        return [*own, target]

    def _library(self, objects: Sequence[Path]) -> Path:
        """The library that is linked of objects."""
        return self._place / f"{self._manifest.target}-{_digest([str(path.name) for path in objects])}.so"

    def _missing(self, objects: Mapping[str, Path]) -> tuple[str, ...]:
        """The sources whose object files are not there, or are older than a header of the author's."""
        return tuple(name for name, path in objects.items() if not is_made_by_user(path) or self._is_outdated(path))

    def _is_outdated(self, target: Path) -> bool:
        """Whether a file that an object was compiled from has changed since; of emitted ones its name says that."""
        if self._manifest.authors is None:
            return False
        try:
            text = read_input(target.with_suffix(".d")).decode()
            made = target.stat().st_mtime_ns
            folder = self._folder.resolve()
            names = (name.replace("\\ ", " ") for name in _BETWEEN_NAMES.split(text)[1:] if name)
            read = {os.path.normpath(folder / name) for name in names}
            emitted = {str(folder / name) for name in self._manifest.files}
            return any(os.stat(path).st_mtime_ns > made for path in read - emitted)
        except OSError:
            return True

    def compile(self) -> dict[str, Path]:
        """Compile what is not compiled yet; the object file of each source."""
        objects = self._objects()
        todo = self._missing(objects)
        with ThreadPoolExecutor(max_workers=JOBS) as pool:
            results = list(pool.map(lambda name: self._compile(name, objects[name]), todo))
        for name, result in zip(todo, results, strict=True):
            if result.status:
                raise BuildError(f'"{name}" does not compile: {first_error(result.stderr)}', result.stderr)
        return objects

    def precompile(self, name: str) -> Path | None:
        """Compile a header beside itself, where the compiler looks for what it precompiled."""
        if self._toolchain.compiler.is_clang:
            return None
        target = self._folder / f"{name}.gch"
        done = self._compile(name, target)
        if done.status:
            raise BuildError(f'"{name}" does not compile: {first_error(done.stderr)}', done.stderr)
        return target

    def _objects(self) -> dict[str, Path]:
        return {name: self._place / f"{Path(name).stem}-{digest}.o" for name, digest in self._digests().items()}

    def _digests(self) -> dict[str, str]:
        """Return a digest for each source: of its text, the folder's headers, PyTorch, the compiler and options."""
        headers = [_read(self._folder / name) for name in self._manifest.files if name.endswith(".h")]
        common = [*headers, self._toolchain.compiler.version.encode(), " ".join((*FLAGS, self._optimize)).encode()]
        common += [str(path).encode() for path in self._toolchain.includes]
        torch_cpu = self._libraries / LIBRARY
        if not torch_cpu.is_file():
            raise BuildError(f'no "{LIBRARY}" in "{self._libraries}": torch has no library to link with')
        status = torch_cpu.stat()
        # a file of hundreds of megabytes is distinguished from another by its size and the time it was installed
        common.append(f"{status.st_size} {status.st_mtime_ns}".encode())
        of_python = [self._python.version, *map(str, self._python.includes)]
        return {
            name: _digest([*common, *(of_python if is_binding(name) else ()), _read(self._folder / name)])
            for name in self._sources
        }

    def _compile(self, name: str, target: Path) -> ProcessResult:
        self._progress(f"compiling {name}")
        # a compilation that was broken off must not leave an object that seems to be whole
        unfinished = target.with_suffix(f".{os.getpid()}.new")
        standard = f"-std={release_of(self._manifest.torch).standard}"
        options = [*FLAGS, standard, self._optimize, *self._haste, f"-I{self._folder.resolve()}"]
        command = compile_command(self._toolchain, *options, "-c", name, "-o", str(unfinished.resolve()))
        command[1:1] = [*_includes(self._folder, name, self._python), *self._first]
        if self._manifest.authors is not None:
            command[1:1] = ["-MMD", "-MF", str(target.with_suffix(".d").resolve())]
        done = run(command, self._folder)
        if done.status == 0:
            os.replace(unfinished, target)
        else:
            unfinished.unlink(missing_ok=True)
        return done

    def _write_stubs(self, objects: list[Path], target: Path) -> None:
        self._progress("looking for hidden helpers")
        torch_cpu = self._libraries / LIBRARY
        symbols = unresolved(objects, [self._libraries / f"lib{name}.so" for name in self._linked], torch_cpu)
        if symbols.missing:
            names = ", ".join(sorted({base_name(name) or name for name in symbols.missing}))
            raise BuildError(
                f"{LIBRARY} offers no {names}; emit with --helpers and the FunctionsManual.cpp of its release"
            )
        text = stubs_source(symbols.symbols, machine_of(torch_cpu), LIBRARY)
        replace_file(target, text.encode(), durable=False)

    def _link(self, objects: list[Path], stubs: Path, library: Path) -> None:
        self._progress(f"linking {library.name}")
        unfinished = library.with_suffix(f".{os.getpid()}.new")
        command = [
            str(self._toolchain.compiler.path),
            *_LINK_FLAGS,
            *([] if self._linked == LINKED else [_WARNS_OF_UNDEFINED]),
            *(str(path.resolve()) for path in objects),
            str(stubs.resolve()),
            f"-L{self._libraries}",
            *(f"-l{name}" for name in self._linked),
            f"-Wl,-rpath,{self._libraries}",
            "-o",
            str(unfinished.resolve()),
        ]
        done = run(command, self._place)
        missing = undefined_in(done.stderr)
        if done.status or missing:
            unfinished.unlink(missing_ok=True)
            reason = missing[0] if missing else first_error(done.stderr)
            raise BuildError(f"the extension does not link: {reason}", done.stderr)
        os.replace(unfinished, library)

    def _remove_old(self, current: set[Path], library: Path) -> None:
        """Delete the files of earlier builds of the same sources.

        A process that has loaded a library keeps it, whatever becomes of its name.
        """
        stems = {Path(name).stem for name in self._sources}
        stems |= {path.stem.rpartition("-")[0] for path in (*current, library)}
        for path in self._place.iterdir():
            match = _BUILT.fullmatch(path.name)
            if match is not None and match["stem"] in stems and path not in current and is_made_by_user(path):
                path.unlink(missing_ok=True)


class SourceMessages(Struct, frozen=True):
    """The compiler's messages about one source that it refuses."""

    source: str
    output: str


def syntax_errors(
    folder: Path, *, compiler: str | None = None, progress: Callable[[str], None] = lambda message: None
) -> list[SourceMessages]:
    """Have the compiler read every source of an emitted folder without making code.

    Args:
        folder: a folder with sources; it need not be an extension.
        compiler: the name of the compiler.
        progress: called with what is being done.

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
        # a name must not be taken for an option of the compiler
        sources = [f"./{name}" if name.startswith("-") else name for name in sources]
        names = [name for name in sources if not (headers.missing and is_binding(name))]
        with _generated_folder(folder) as place, ThreadPoolExecutor(max_workers=JOBS) as pool:
            results = list(pool.map(partial(_read_only, toolchain, headers, folder, place, progress), names))
    except CompilerError as error:
        raise BuildError(str(error)) from error
    return [SourceMessages(name, done.stderr) for name, done in zip(names, results, strict=True) if done.status]


@contextmanager
def _generated_folder(folder: Path) -> Iterator[tuple[str, ...]]:
    """Where the compiler looks first, so that files of a build of PyTorch take the place of those that it ships."""
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
    command[1:1] = [*place, *_includes(folder, name, headers)]
    return run(command, folder)


def _includes(folder: Path, name: str, headers: PythonHeaders) -> list[str]:
    """Where the compiler looks first: at the user's own helpers; for bindings also at the headers of Python."""
    own = [f"-I{(folder / FIRST_INCLUDED).resolve()}"]
    return own + [f"-I{directory}" for directory in headers.includes] if is_binding(name) else own


def _read(path: Path) -> bytes:
    try:
        return read_input(path)
    except OSError as error:
        raise BuildError(f'cannot read "{path}": {error.strerror or error}') from error


def _digest(parts: Sequence[bytes | str]) -> str:
    made = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        made.update(len(data).to_bytes(8, "little") + data)
    return made.hexdigest()[:20]


def _count(stubs: Path) -> int:
    """The number of stubs an assembler file has."""
    return read_input(stubs).count(b"%function\n")
