"""Building an extension: parallel compilation of its translation units, then linking.

Object files are named by a digest of the compiler's input, so that only changed units are compiled again; all
extensions share the object file of the loader. Without optimization, units begin with a precompiled header. Functions
that PyTorch's libraries do not export are called through stubs (:mod:`derivlint.emit.helpers`).
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from derivlint.compiler.children import ProcessGroup, processors
from derivlint.compiler.gxx import (
    CompilerError,
    ProcessResult,
    Toolchain,
    compile_command,
    find_toolchain,
    first_error,
    run,
)
from derivlint.compiler.messages import relocated
from derivlint.compiler.precompiled import precompiled_header
from derivlint.emit.helpers import ElfError, machine_of, stubs_source, unresolved
from derivlint.emit.helpers.stubs import base_name
from derivlint.emit.places import read_map
from derivlint.emit.python_bindings import is_binding
from derivlint.emit.release import release_of
from derivlint.project.caching.cache import cache_folder
from derivlint.runtime.manifest import Manifest, mismatch_of_headers, read_manifest
from derivlint.runtime.python import (
    NO_PYTHON,
    PYTHON_LIBRARY,
    PythonHeaders,
    library_file,
    python_headers,
    undefined_in,
)
from derivlint.source import is_made_by_user, not_private, read_input, replace_file

LIBRARY = "libtorch_cpu.so"
#: The libraries linked with an extension.
LINKED = ("torch_cpu", "c10")
BUILD_FOLDER = "build"
#: The include folder that precedes PyTorch's headers, with the user's own helpers.
FIRST_INCLUDED = "helpers"
#: The source that all extensions share.
LOADER = "loader.cpp"
#: The cache folders of precompiled headers, and of object files shared by extensions.
HEADERS, SHARED_OBJECTS = "headers", "objects"
#: As in PyTorch's build: unexported symbols of headers belong to the library that compiles them.
FLAGS = ("-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-fdiagnostics-color=never")
#: The heap size in kilobytes from which g++ collects garbage: below it, collection takes a tenth of the time and frees
#: little.
GCC_HEAP = ("--param=ggc-min-heapsize=1048576",)
#: Calls of the user's own FunctionsManual bind to it even if PyTorch's library exports functions of these names.
_LINK_FLAGS = ("-shared", "-Wl,-Bsymbolic-functions", "-Wl,-z,defs", "-Wl,-z,noexecstack")
#: With bindings, undefined symbols are warnings, since the loading program defines Python's.
_WARN_UNDEFINED = "-Wl,--warn-unresolved-symbols"

#: The names of build results; other files are never removed.
_BUILT = re.compile(r"(?P<stem>.+)-[0-9a-f]{20}\.(?:o|so|S|d|cpp)")
#: The emitted sources of a shard.
_EMITTED = re.compile(r"(?:nodes|python_nodes|kernels)_(\d+)\.cpp")
#: The declaration of a class in the header of nodes.
_CLASS = re.compile(rb"^struct NODE_CLASS (\w+) .*?^};\n+", re.MULTILINE | re.DOTALL)
_WORD = re.compile(rb"\w+")
#: The precompiled beginning of emitted sources.
EMITTED = "".join(
    f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n"
    for name in (
        # first, as Python requires; unused without Python's headers
        "Python.h",
        *("ATen/ATen.h", "ATen/Functions.h", "ATen/Operators.h", "ATen/SparseCsrTensorUtils.h", "torch/library.h"),
        *("torch/csrc/autograd/FunctionsManual.h", "torch/csrc/autograd/VariableTypeUtils.h"),
        "torch/csrc/autograd/autograd_not_implemented_fallback.h",
        "torch/csrc/dynamo/compiled_autograd.h",
    )
) + "".join(
    f"#if __has_include(<Python.h>) && __has_include(<{name}>)\n#include <{name}>\n#endif\n"
    for name in (
        *("torch/csrc/Exceptions.h", "torch/csrc/autograd/python_cpp_function.h", "torch/csrc/utils/pybind.h"),
        *("torch/csrc/autograd/python_variable.h", "torch/csrc/utils/object_ptr.h"),
    )
)
#: The separator of names in a dependency list, with escaped blanks and continued lines.
_BETWEEN_NAMES = re.compile(r"(?<!\\)\s+|\\\n\s*")


class BuildError(Exception):
    """An extension that cannot be built.

    Attributes:
        output: the output of the compiler or linker; empty if neither ran.
        missing: the functions that the code calls and PyTorch's library lacks.
    """

    def __init__(self, message: str, output: str = "", missing: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.output, self.missing = output, tuple(missing)


class Unit(Struct, frozen=True):
    """A translation unit, the input of one compiler run.

    Attributes:
        name: the prefix of its object file's name.
        sources: its sources, in order.
        digest: the digest of all files that the compiler reads.
    """

    name: str
    sources: tuple[str, ...]
    digest: str


class Built(Struct, frozen=True):
    """A built extension.

    Attributes:
        library: the file to load.
        compiled: the compiled sources.
        stubs: the number of hidden helpers that are called through stubs.
        without_bindings: the reason why the emitted Python bindings were not built, or empty.
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
    objects: Sequence[Path] = (),
    includes: Sequence[Path] = (),
    header: str | None = EMITTED,
    processes: ProcessGroup | None = None,
    progress: Callable[[str], None] = lambda message: None,
) -> Built:
    """Build the extension in a folder, reusing up-to-date results.

    Args:
        folder: the folder of the emitted extension.
        build_folder: the folder of object files and the library; ``build`` in the folder by default.
        compiler: the name of the C++ compiler.
        optimize: the compiler's option for optimization.
        objects: further object files to link (:func:`compile_sources`).
        includes: the first include folders.
        header: the header to precompile, with which all sources begin, or None.
        processes: the group of compiler processes of several builds, which are ended together.
        progress: called with the current step.

    Without Python's headers, the bindings are omitted: saved variables of nodes cannot be read in Python, and nothing
    else changes.

    Raises:
        ManifestError: the folder holds no extension.
        BuildError: the code does not compile or link, or the compiler or PyTorch is missing.
    """
    with _builder(folder, build_folder, compiler, optimize, progress, includes, header) as builder:
        return builder.build(objects, processes or ProcessGroup())


def compile_sources(
    folder: Path, *, compiler: str | None = None, progress: Callable[[str], None] = lambda message: None
) -> tuple[Path, ...]:
    """Compile the sources in a folder, reusing up-to-date results, and return the object files.

    Args:
        folder: the folder of the sources and the manifest.
        compiler: the name of the C++ compiler.
        progress: called with the current step.

    Raises:
        ManifestError: the folder holds no extension.
        BuildError: the code does not compile, or the compiler or PyTorch is missing.
    """
    with _builder(folder, None, compiler, "-O0", progress, header=None) as builder:
        return tuple(builder.compile(ProcessGroup()))


def objects(
    folder: Path | str,
    *,
    compiler: str | None = None,
    optimize: str = "-O2",
    progress: Callable[[str], None] = lambda message: None,
) -> list[str]:
    """Compile an emitted folder for linking into another library, and return the paths of the object files.

    ``CppExtension("my_ops", sources, extra_objects=objects("generated"))`` links it with an extension of
    ``torch.utils.cpp_extension``.

    Args:
        folder: the folder of the emitted extension.
        compiler: the name of the C++ compiler.
        optimize: the compiler's option for optimization.
        progress: called with the current step.

    Raises:
        ManifestError: the folder holds no extension.
        BuildError: the code does not compile, or the compiler or PyTorch is missing.
    """
    with _builder(Path(folder), None, compiler, optimize, progress) as builder:
        return [str(path.resolve()) for path in builder.objects()]


@contextmanager
def _builder(
    folder: Path,
    build_folder: Path | None,
    compiler: str | None,
    optimize: str,
    progress: Callable[[str], None],
    includes: Sequence[Path] = (),
    header: str | None = EMITTED,
) -> Iterator[_Builder]:
    """Set up the build of a folder, and convert errors to build errors."""
    if sys.platform != "linux":
        raise BuildError("extensions are built on Linux only; CMakeLists.txt builds them elsewhere")
    manifest = read_manifest(folder)
    try:
        toolchain = find_toolchain(compiler, fastest=True)
    except CompilerError as error:
        raise BuildError(str(error)) from error
    problem = mismatch_of_headers(folder, manifest.torch, toolchain.includes)
    if problem is not None:
        raise BuildError(problem)
    place = build_folder if build_folder is not None else folder / BUILD_FOLDER
    try:
        _make_private(place)
        yield _Builder(folder, place, manifest, toolchain, optimize, progress, includes, header)
    except OSError as error:
        raise BuildError(f'cannot build in "{place}": {error.strerror or error}') from error
    except (CompilerError, ElfError) as error:
        raise BuildError(str(error)) from error


def _make_private(place: Path) -> None:
    """Create the build folder, private to this user, since its libraries are loaded.

    Raises:
        BuildError: other users can write to the folder.
        OSError: the folder cannot be created.
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
        progress: Callable[[str], None],
        includes: Sequence[Path],
        header: str | None,
    ) -> None:
        self._folder, self._place, self._manifest = folder, place, manifest
        self._toolchain, self._optimize, self._progress = toolchain, optimize, progress
        # they do not affect code generation
        self._heap_options = () if toolchain.compiler.is_clang else GCC_HEAP
        self._libraries = toolchain.includes[0].parent / "lib"
        self._first = tuple(f"-I{include}" for include in includes)
        # the user's own FunctionsManual.h replaces PyTorch's; a header is compiled for one set of options
        has_header = header is not None and optimize == "-O0" and not (folder / FIRST_INCLUDED).is_dir()
        self._header = header if has_header else None
        headers, library = python_headers(), library_file(self._libraries)
        missing = "" if library.is_file() else f'no "{library.name}" in "{self._libraries}"'
        self._without_bindings = (headers.missing or missing) if manifest.bindings else ""
        has_bindings = bool(manifest.bindings) and not self._without_bindings
        # with Python's headers precompiled, the code of kernels would call Python, too
        self._python = headers if has_bindings else NO_PYTHON
        self._sources = tuple(name for name in manifest.sources if has_bindings or not is_binding(name))
        self._linked = (*LINKED, PYTHON_LIBRARY) if has_bindings else LINKED
        self._shared = _shared_objects()

    def build(self, further_objects: Sequence[Path], processes: ProcessGroup) -> Built:
        """Compile and link, with object files of other folders."""
        if self._without_bindings:
            self._progress(f"leaving out the classes of nodes in Python: {self._without_bindings}")
        own = self._objects()
        objects = [*(self._target(unit) for unit in own), *further_objects]
        library = self._library(objects)
        stubs = library.with_suffix(".S")
        todo = tuple(name for unit in self._missing(own) for name in unit.sources)
        if not todo and is_made_by_user(library) and is_made_by_user(stubs):
            return Built(library, (), _count(stubs), self._without_bindings)
        self.compile(processes)
        self._link(objects, stubs, library)
        current = [self._target(unit) for unit in own]
        self._remove_old({*current, *(path.with_suffix(".d") for path in current), library, stubs}, library)
        return Built(library, todo, _count(stubs), self._without_bindings)

    def objects(self) -> list[Path]:
        """Compile outdated units and return all object files, including that of the stubs."""
        own = self.compile(ProcessGroup())
        stubs = self._library(own).with_suffix(".S")
        self._write_stubs(own, stubs)
        target = stubs.with_suffix(".o")
        command = [str(self._toolchain.compiler.path), "-c", str(stubs.resolve()), "-o", str(target.resolve())]
        done = run(command, self._place)
        if done.status:
            raise BuildError(f"the stubs do not compile: {first_error(done.stderr)}", done.stderr)
        return [*own, target]

    def _library(self, objects: Sequence[Path]) -> Path:
        """Return the path of the library, named by its object files."""
        return self._place / f"{self._manifest.target}-{_digest([str(path.name) for path in objects])}.so"

    def _target(self, unit: Unit) -> Path:
        """Return the object file of a unit; all extensions share that of the loader."""
        place = self._shared if unit.sources == (LOADER,) and self._shared is not None else self._place
        return place / f"{unit.name}-{unit.digest}.o"

    def _missing(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units whose object files are missing or outdated."""
        targets = ((unit, self._target(unit)) for unit in units)
        return [unit for unit, path in targets if not is_made_by_user(path) or self._is_outdated(path)]

    def _is_outdated(self, target: Path) -> bool:
        """Whether a header of the author has changed since an object file was compiled; its name covers other input."""
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

    def compile(self, processes: ProcessGroup) -> list[Path]:
        """Compile outdated units until the first error, and return the object file of each unit."""
        units = self._objects()
        todo = self._missing(units)
        beginning = self._beginning() if todo else ()
        # headers need less memory than code: with many units, memory limits the parallel compilations
        with ThreadPoolExecutor(max_workers=processors()) as pool:
            futures = {pool.submit(self._compile, unit, beginning, processes): unit for unit in todo}
            self._show_pending(futures)
            for future in as_completed(futures):
                result = future.result()
                if result.status:
                    pool.shutdown(wait=False, cancel_futures=True)
                    processes.end()
                    name = "the code" if len(futures[future].sources) > 1 else f'"{futures[future].sources[0]}"'
                    raise BuildError(f"{name} does not compile: {first_error(result.stderr)}", result.stderr)
                self._show_pending(futures)
        return [self._target(unit) for unit in units]

    def _show_pending(self, futures: Mapping[Future[ProcessResult], Unit]) -> None:
        if names := [name for future, unit in futures.items() if not future.done() for name in unit.sources]:
            self._progress(f"compiling {', '.join(names)}")

    def _beginning(self) -> tuple[str, ...]:
        """Return the options for units that begin with the precompiled header."""
        folder = cache_folder()
        if self._header is None or folder is None:
            return ()
        options = [*self._options(), *self._first, *(f"-I{path}" for path in self._python.includes)]
        return precompiled_header(folder / HEADERS, self._toolchain, self._header, options, self._progress)

    def _options(self) -> list[str]:
        """Return the options for all units."""
        return [*FLAGS, f"-std={release_of(self._manifest.torch).standard}", self._optimize, *self._heap_options]

    def _objects(self) -> list[Unit]:
        """Return the units; the sources of a shard are one."""
        groups: dict[str, list[str]] = {}
        # Python's headers come first, and the names that kernels import last
        for name in sorted(self._sources, reverse=True):
            match = _EMITTED.fullmatch(name)
            groups.setdefault(name if match is None else match[1], []).append(name)
        common = self._common()
        headers = {name: _read(self._folder / name) for name in self._manifest.files if name.endswith(".h")}
        units = []
        for names in groups.values():
            text = b"\n".join(_read(self._folder / name) for name in names)
            has_python = any(map(is_binding, names)) or self._is_preceded(names)
            of_python = [self._python.version, *map(str, self._python.includes)] if has_python else []
            digest = _digest([*common, *of_python, *_read_headers(headers, names, text), text])
            units.append(Unit("unit" if len(names) > 1 else Path(names[0]).stem, tuple(names), digest))
        return units

    def _is_preceded(self, sources: Sequence[str]) -> bool:
        """Whether a unit begins with the precompiled header."""
        if self._header == EMITTED:
            return _EMITTED.fullmatch(sources[0]) is not None
        return self._header is not None

    def _common(self) -> list[bytes | str]:
        """Return the input that all object files share: PyTorch, compiler, options, precompiled header."""
        torch_cpu = self._libraries / LIBRARY
        if not torch_cpu.is_file():
            raise BuildError(f'no "{LIBRARY}" in "{self._libraries}": torch has no library to link with')
        status = torch_cpu.stat()
        # a large file is identified by its size and modification time
        library = f"{status.st_size} {status.st_mtime_ns}"
        options = " ".join((*FLAGS, self._optimize))
        includes = map(str, self._toolchain.includes)
        return [self._toolchain.compiler.version, options, *includes, library, self._header or ""]

    def _compile(self, unit: Unit, beginning: Sequence[str], processes: ProcessGroup) -> ProcessResult:
        shown = ", ".join(unit.sources)
        start = time.monotonic()
        target = self._target(unit)
        source = unit.sources[0]
        if len(unit.sources) > 1:
            path = target.with_suffix(".cpp").resolve()
            replace_file(path, "".join(f'#include "{name}"\n' for name in unit.sources).encode(), durable=False)
            source = str(path)
        # an interrupted compilation must not leave a seemingly complete object file
        unfinished = target.with_suffix(f".{os.getpid()}.new")
        options = [*self._options(), f"-I{self._folder.resolve()}"]
        command = compile_command(self._toolchain, *options, "-c", source, "-o", str(unfinished.resolve()))
        command[1:1] = [*search_paths(self._folder, unit.sources, self._python), *self._first]
        if self._is_preceded(unit.sources):
            command[1:1] = beginning
        if self._manifest.authors is not None:
            command[1:1] = ["-MMD", "-MF", str(target.with_suffix(".d").resolve())]
        done = run(command, self._folder, processes=processes)
        if done.status == 0:
            os.replace(unfinished, target)
            self._progress(f"compiled {shown} in {time.monotonic() - start:.1f} s")
            return done
        unfinished.unlink(missing_ok=True)
        return replace(done, stderr=located(self._folder, done.stderr))

    def _write_stubs(self, objects: Sequence[Path], target: Path) -> None:
        self._progress("looking for hidden helpers")
        torch_cpu = self._libraries / LIBRARY
        symbols = unresolved(objects, [self._libraries / f"lib{name}.so" for name in self._linked], torch_cpu)
        if symbols.missing:
            names = sorted({base_name(name) or name for name in symbols.missing})
            advice = "emit with --helpers and the FunctionsManual.cpp of its release"
            raise BuildError(f"{LIBRARY} has no {', '.join(names)}; {advice}", missing=names)
        text = stubs_source(symbols.symbols, machine_of(torch_cpu), LIBRARY)
        replace_file(target, text.encode(), durable=False)

    def _link(self, objects: Sequence[Path], stubs: Path, library: Path) -> None:
        """Link the library, with stubs for hidden helpers."""
        start = time.monotonic()
        self._write_stubs(objects, stubs)
        self._progress(f"linking {library.name}")
        unfinished = library.with_suffix(f".{os.getpid()}.new")
        command = [
            str(self._toolchain.compiler.path),
            *_LINK_FLAGS,
            *([] if self._linked == LINKED else [_WARN_UNDEFINED]),
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
        self._progress(f"linked in {time.monotonic() - start:.1f} s")

    def _remove_old(self, current: set[Path], library: Path) -> None:
        """Delete the files of earlier builds of the same sources.

        A process that has loaded a library keeps it after deletion.
        """
        stems = {"unit", *(Path(name).stem for name in self._sources)}
        stems |= {path.stem.rpartition("-")[0] for path in (*current, library)}
        for path in self._place.iterdir():
            match = _BUILT.fullmatch(path.name)
            if match is not None and match["stem"] in stems and path not in current and is_made_by_user(path):
                path.unlink(missing_ok=True)


def _shared_objects() -> Path | None:
    """Return the cache folder of shared object files, or None without a cache."""
    cache = cache_folder()
    if cache is None:
        return None
    place = cache / SHARED_OBJECTS
    place.mkdir(mode=0o700, exist_ok=True)
    return place if not_private(place) is None else None


def _read_headers(headers: Mapping[str, bytes], names: Sequence[str], text: bytes) -> list[bytes]:
    """Return the headers of a folder as input of a unit, without node classes that its sources do not mention.

    Args:
        headers: the headers.
        names: the names of the unit's sources.
        text: the text of the sources.
    """
    if names == [LOADER]:
        return []
    if not all(map(_EMITTED.fullmatch, names)):
        return list(headers.values())
    words = frozenset(_WORD.findall(text))
    return [_CLASS.sub(lambda match: match[0] if match[1] in words else b"", header) for header in headers.values()]


def search_paths(folder: Path, names: Iterable[str], headers: PythonHeaders) -> list[str]:
    """Return the options for the first include folders: the user's own helpers, and for bindings Python's headers."""
    own = [f"-I{(folder / FIRST_INCLUDED).resolve()}"]
    return own + [f"-I{directory}" for directory in headers.includes] if any(map(is_binding, names)) else own


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
    """Count the stubs in an assembler file."""
    return read_input(stubs).count(b"%function\n")


def located(folder: Path, output: str) -> str:
    """Rewrite the compiler output for an emitted folder: messages about formulas get their positions in the YAML."""
    places = read_map(folder)
    return output if places is None else relocated(output, places.position)
