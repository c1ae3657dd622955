"""Compiles the functions of formulas into a library, cached for each set of functions."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath

from msgspec import Struct

from derivlint.compiler.gxx import CompilerError, Toolchain, find_toolchain, first_error
from derivlint.compiler.messages import CompilerMessage, parse_message
from derivlint.emit.emission import MANUAL, EmissionMode, Helpers
from derivlint.emit.manifest import FORMAT, MANIFEST
from derivlint.emit.template import load, yaml_name
from derivlint.formula import parse_formula
from derivlint.model import Model
from derivlint.project.caching.cache import fits, sealed, unsealed
from derivlint.runtime import BuildError, ManifestError
from derivlint.runtime.syntax import syntax_errors
from derivlint.source import delete_oldest, is_own, read_input, replace_file
from derivlint.verify.code.building import Headers, built_library, is_exhausted, is_whole
from derivlint.verify.code.functions import FormulaFunction
from derivlint.verify.code.headers import (
    MAX_FORMULAS,
    OPERATORS,
    common_headers,
    has_operator_headers,
    operator_headers,
)
from derivlint.verify.code.wrappers import HEAD, LIBRARY, REGISTRATION, source_of, uncallable_reason
from derivlint.version import __version__

#: The number of files compiled in parallel.
PARALLEL_FILES = 2
#: The minimum number of functions per file: as many take as long to compile as the headers.
MIN_FUNCTIONS = 300
#: The file with the compiler errors of formulas, next to a library without them.
REFUSALS = "refused.json"
#: The maximum number of cached libraries; the least recently used ones are deleted.
MAX_LIBRARIES = 24

#: The sources shared by all libraries.
_LOADED = {"loader.cpp": load("loader.cpp") + "\n", REGISTRATION.name: REGISTRATION.read_text(encoding="utf-8")}
#: The headers shared by all formulas.
_COMMON = common_headers(HEAD.read_text(encoding="utf-8"))

_NAME = re.compile(r"formula_(\d+)")


class EngineError(Exception):
    """Formulas cannot be compiled for a reason other than their text.

    Attributes:
        is_missing: whether there is no compiler or no PyTorch.
    """

    def __init__(self, message: str, *, is_missing: bool = False) -> None:
        super().__init__(message)
        self.is_missing = is_missing


class CompiledFunctions(Struct, frozen=True):
    """A library with the functions of formulas, and the formulas without a function.

    Attributes:
        library: the file to load.
        functions: the functions in it.
        refused: the compiler errors of formulas, by the number of the function.
        uncallable: the reasons why formulas cannot be functions, by the number of the function.
        fresh: whether the compiler ran.
    """

    library: Path
    functions: tuple[FormulaFunction, ...]
    refused: dict[int, str]
    uncallable: dict[int, str]
    fresh: bool


def compiled(
    model: Model,
    functions: Sequence[FormulaFunction],
    place: Path,
    *,
    helpers: Helpers | None = None,
    compiler: str | None = None,
    progress: Callable[[str], None] = lambda message: None,
) -> CompiledFunctions:
    """Compile formulas into a library, without those that the compiler rejects.

    Args:
        model: the file.
        functions: the formulas.
        place: the work folder, private to this user.
        helpers: the user's own FunctionsManual.
        compiler: the name of the C++ compiler.
        progress: called with the current step.

    Raises:
        EngineError: the compiler or PyTorch is missing, or the compiler rejects code other than formulas.
    """
    uncallable = {function.spec.number: reason for function in functions if (reason := uncallable_reason(function))}
    candidates = [function for function in functions if function.spec.number not in uncallable]
    refused: dict[int, str] = {}
    fresh = False
    toolchain = _toolchain(compiler)
    compiler = str(toolchain.compiler.path)
    # with few headers, the compiler may reject right formulas: only errors with all headers count
    few = helpers is None and len(candidates) <= MAX_FORMULAS and has_operator_headers(toolchain.includes)
    # each round but the last drops rejected formulas, or the reduced headers
    while True:
        sources = [source_of(model, part, few=few) for part in _parts(candidates)]
        files = {f"verify_{index}.cpp": source for index, source in enumerate(sources)}
        if few:
            # part of the digest: object files depend on the shared headers
            after = f"// after {_folder_name(place, _COMMON, toolchain).name}\n"
            files[OPERATORS] = after + operator_headers("\n".join(sources), toolchain.includes)
        if helpers is not None:
            files |= _files_of(helpers)
        folder = _folder(place, files, toolchain)
        messages = _stored_refusals(folder)
        if messages is None or not (messages or few):
            _write(folder, files, model)
            try:
                loaded = _shared(_LOADED, model, place, toolchain)
                headers = _headers(folder, model, place, toolchain) if few else None
                built = built_library(folder, loaded, compiler, headers, progress)
                delete_oldest(place, MAX_LIBRARIES)
                return CompiledFunctions(
                    built.library, tuple(candidates), refused, uncallable, fresh or bool(built.compiled)
                )
            except OSError as error:
                raise EngineError(f'cannot build in "{folder}": {error.strerror or error}') from error
            except (BuildError, ManifestError) as error:
                if is_exhausted(getattr(error, "output", "")):
                    raise EngineError(str(error)) from error
                if lacking := _lacking(getattr(error, "missing", ()), candidates):
                    uncallable |= lacking
                    candidates = [function for function in candidates if function.spec.number not in lacking]
                    fresh = True
                    continue
                if not few:
                    messages = _refusals(
                        _all_errors(error, folder, compiler, is_split=len(files) > 1), model, candidates
                    )
                    if not messages:
                        progress("looking for the formula that does not compile")
                        messages = _refused_by_halves(model, candidates, place, toolchain, helpers)
                    if not messages:
                        raise EngineError(str(error)) from error
                fresh = True
                # for the next run
                with suppress(OSError):
                    replace_file(folder / REFUSALS, sealed(json.dumps(messages or {}).encode()), mode=0o600)
        few = False
        refused |= messages or {}
        candidates = [function for function in candidates if function.spec.number not in refused]


def _lacking(missing: Sequence[str], functions: Sequence[FormulaFunction]) -> dict[int, str]:
    """The reasons why functions cannot be linked, by number: they call what PyTorch's library lacks."""
    return {
        function.spec.number: f'PyTorch\'s library has no "{name}"; name a FunctionsManual.cpp with --helpers'
        for function in functions
        for name in missing
        if name in parse_formula(function.evaluation.text).words_by_text
    }


def _all_errors(error: Exception, folder: Path, compiler: str | None, *, is_split: bool) -> str:
    """Return the compiler's output for all files, since a build ends at the first file with an error.

    Args:
        error: the error that ended the build.
        folder: the folder of the files.
        compiler: the name of the compiler.
        is_split: whether formulas are in several files.
    """
    output: str = getattr(error, "output", "")
    if not output or not is_split:
        return output
    try:
        return "\n".join(error.output for error in syntax_errors(folder, compiler=compiler))
    except BuildError:
        return ""


def _refused_by_halves(
    model: Model, functions: Sequence[FormulaFunction], place: Path, toolchain: Toolchain, helpers: Helpers | None
) -> dict[int, str]:
    """Find the functions that do not compile, by bisection, for errors that name no formula.

    Returns:
        The error messages by number; empty if the code does not compile even without functions.
    """

    def error_of(part: Sequence[FormulaFunction]) -> str:
        files = {"verify_0.cpp": source_of(model, part), **(_files_of(helpers) if helpers is not None else {})}
        folder = _folder(place, files, toolchain)
        _write(folder, files, model)
        try:
            return "".join(error.output for error in syntax_errors(folder, compiler=str(toolchain.compiler.path)))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def refused(part: Sequence[FormulaFunction]) -> dict[int, str]:
        output = error_of(part)
        if not output or is_exhausted(output):
            return {}
        if len(part) == 1:
            return {part[0].spec.number: first_error(output)}
        middle = len(part) // 2
        return refused(part[:middle]) | refused(part[middle:])

    return {} if not functions or error_of(()) else refused(functions)


def _parts(functions: Sequence[FormulaFunction]) -> list[Sequence[FormulaFunction]]:
    """Divide the functions among files."""
    count = PARALLEL_FILES if len(functions) >= PARALLEL_FILES * MIN_FUNCTIONS else 1
    return [functions[start::count] for start in range(count)]


def _toolchain(compiler: str | None) -> Toolchain:
    """Return the compiler and PyTorch's headers."""
    try:
        return find_toolchain(compiler, fastest=True)
    except CompilerError as error:
        raise EngineError(f"{error}; use --no-compile to check without a compiler", is_missing=True) from error


def _folder_name(place: Path, files: Mapping[str, str], toolchain: Toolchain) -> Path:
    """Return the folder of a library, named by a digest of its inputs."""
    torch_cpu = toolchain.includes[0].parent / "lib" / "libtorch_cpu.so"
    if not torch_cpu.is_file():
        raise EngineError(f'no "{torch_cpu}": torch has no library to link with', is_missing=True)
    file_parts = [part for item in sorted(files.items()) for part in item]
    parts = (__version__, *file_parts, toolchain.compiler.version, str(torch_cpu), repr(torch_cpu.stat().st_mtime_ns))
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return place / digest


def _folder(place: Path, files: Mapping[str, str], toolchain: Toolchain) -> Path:
    """Create the folder of a library; recreate one that another user can write to."""
    folder = _folder_name(place, files, toolchain)
    try:
        if folder.exists() and not is_own(folder):
            shutil.rmtree(folder)
        folder.mkdir(exist_ok=True, mode=0o700)
        os.utime(folder)
    except OSError as error:
        raise EngineError(f'cannot build in "{folder}": {error.strerror}') from error
    return folder


def _shared(files: Mapping[str, str], model: Model, place: Path, toolchain: Toolchain) -> Path:
    """Return the folder with the compiled sources shared by all formulas."""
    folder = _folder(place, files, toolchain)
    _write(folder, files, model)
    return folder


def _headers(library_folder: Path, model: Model, place: Path, toolchain: Toolchain) -> Headers:
    """Return the shared headers, to be precompiled from their second use on.

    Precompiling takes as long as two compilations without it.
    """
    is_first = not (_folder_name(place, _COMMON, toolchain) / MANIFEST).is_file()
    return Headers(_shared(_COMMON, model, place, toolchain), not (is_first or is_whole(library_folder)))


def _stored_refusals(folder: Path) -> dict[int, str] | None:
    """Load the compiler errors of an earlier run, or None if there are none."""
    try:
        text = unsealed(read_input(folder / REFUSALS))
        messages = None if text is None else json.loads(text)
        if not isinstance(messages, dict) or not fits(messages, {"*": str}):
            return None
        return {int(number): message for number, message in messages.items()}
    except (OSError, ValueError):
        return None


def _files_of(helpers: Helpers) -> dict[str, str]:
    """Return the user's own helpers as files."""
    files = {f"{MANUAL}.cpp": helpers.source}
    if helpers.header is not None:
        files[f"{MANUAL}.h"] = helpers.header
    return files


def _write(folder: Path, files: Mapping[str, str], model: Model) -> None:
    manifest = {
        "format": FORMAT,
        "mode": EmissionMode.EXTENSION.value,
        "namespace": LIBRARY,
        "torch": model.natives.version,
        "files": sorted(files),
        "operators": {},
    }
    for name, text in {**files, MANIFEST: json.dumps(manifest)}.items():
        path = folder / name
        data = text.encode("utf-8", "surrogatepass")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not is_own(path) or read_input(path) != data:
                replace_file(path, data, mode=0o600)
        except OSError as error:
            raise EngineError(f'cannot write "{path}": {error.strerror or error}') from error


def _refusals(output: str, model: Model, functions: Sequence[FormulaFunction]) -> dict[int, str]:
    """Map compiler errors to functions; an error in a template belongs to the functions that instantiate it."""
    file = PurePath(yaml_name(model.source.path)).name
    refused: dict[int, str] = {}
    messages = [message for line in output.split("\n") if (message := parse_message(line)) is not None]
    errors = [index for index, message in enumerate(messages) if message.error is not None]
    for previous, index, following in zip([-1, *errors], errors, [*errors[1:], len(messages)], strict=False):
        error = messages[index]
        places = [
            error,
            *(message for message in messages[previous + 1 : index] if message.is_site_before),
            *(message for message in messages[index + 1 : following] if message.is_site_after),
        ]
        for number in next(filter(None, (_numbers_at(place, file, functions) for place in places)), ()):
            refused.setdefault(number, error.error or "")
    return refused


def _numbers_at(place: CompilerMessage, file: str, functions: Sequence[FormulaFunction]) -> list[int]:
    """Return the numbers of the functions at a position: by the file name, or by the line of the YAML."""
    name, line = PurePath(place.file).name, place.line
    numbered = _NAME.fullmatch(name)
    if numbered is not None:
        return [int(numbered[1])]
    return [
        function.spec.number
        for function in functions
        if name == file and 0 <= line - function.spec.line <= function.evaluation.text.count("\n")
    ]
