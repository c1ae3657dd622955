"""Compiling the functions of formulas into a library, once for each set of them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath

from derivlint import __version__
from derivlint.compiler.gxx import CompilerError, Toolchain, find_toolchain
from derivlint.emit.emission import FORMAT, MANUAL, Helpers, Mode
from derivlint.emit.files import MANIFEST
from derivlint.emit.template import load, yaml_name
from derivlint.model import Model
from derivlint.project.cache import cache_folder
from derivlint.runtime import BuildError, ManifestError, build
from derivlint.runtime.build import FIRST_INCLUDED, compile_sources, syntax_errors
from derivlint.source import replace_file
from derivlint.source.records import dataclass
from derivlint.verify.functions import FormulaFunction
from derivlint.verify.headers import ATEN, FEW, few_headers
from derivlint.verify.unit import REGISTRATION, can_be_called, source_of
from derivlint.verify.wrappers import LIBRARY

#: The compiler works on as many files at a time.
FILES = 2
#: Headers take the compiler as long as this many functions; fewer are not worth a file of their own.
WORTH_A_FILE = 300
REFUSED = "refused.json"
#: So many libraries are kept, those that were used last.
KEPT = 24

_MESSAGE = re.compile(r"^([^:\n]+):(\d+):(?:\d+:)? +(?:fatal )?error: (.*)$", re.MULTILINE)
_NAME = re.compile(r"formula_(\d+)")


class EngineError(Exception):
    """Formulas cannot be compiled, for reasons that lie in none of them."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """The library with the functions, and what is not in it.

    Attributes:
        library: the file to load.
        functions: the functions in it.
        refused: the formulas that the compiler refuses, by the number of the function, with its message.
        uncallable: the formulas that no function can be made of, by the number, with the reason.
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
    *,
    helpers: Helpers | None = None,
    compiler: str | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> Compiled:
    """The library with functions of formulas; a formula that the compiler refuses does not keep the others from it.

    Raises:
        EngineError: there is no compiler or no PyTorch, or what it refuses is no formula.
    """
    uncallable = {each.described.number: reason for each in functions if (reason := can_be_called(each))}
    left = [each for each in functions if each.described.number not in uncallable]
    refused: dict[int, str] = {}
    fresh = False
    toolchain = _toolchain(compiler)
    # what the compiler refuses with few headers it may take with all: only then a formula is refused
    few = ""
    if helpers is None and len(left) <= FEW:
        few = few_headers(source_of(model, left, few=True), toolchain.includes)
    # every round but the last refuses some formulas, or that there are few headers
    while True:
        sources = [source_of(model, part, few=bool(few)) for part in _parts(left)]
        files = {f"verify_{index}.cpp": source for index, source in enumerate(sources)}
        files |= _beside(few, helpers)
        folder = _folder(files, toolchain)
        messages = _known_refusals(folder)
        if messages is None or not (messages or few):
            _write(folder, files, model)
            try:
                common = compile_sources(_common(model, toolchain), compiler=compiler, progress=progress)
                built = build(folder, compiler=compiler, in_haste=bool(few), objects=common, progress=progress)
                _forget_old(folder.parent)
                return Compiled(built.library, tuple(left), refused, uncallable, fresh or bool(built.compiled))
            except (BuildError, ManifestError) as error:
                if not few:
                    messages = _refusals(_all_errors(error, folder, compiler, is_split=len(files) > 1), model, left)
                    if not messages:
                        raise EngineError(str(error)) from error
                fresh = True
                replace_file(folder / REFUSED, json.dumps(messages or {}).encode())
        few = ""
        refused |= messages or {}
        left = [each for each in left if each.described.number not in refused]


def _all_errors(error: Exception, folder: Path, compiler: str | None, *, is_split: bool) -> str:
    """What the compiler says of all files; a build ends at the first that it refuses.

    Args:
        error: what ended the build.
        folder: where the files are.
        compiler: the name of the compiler.
        is_split: whether there are more files than one that it can refuse.
    """
    output: str = getattr(error, "output", "")
    if not output or not is_split:
        return output
    try:
        return "\n".join(each.output for each in syntax_errors(folder, compiler=compiler))
    except BuildError:
        return ""


def _parts(functions: Sequence[FormulaFunction]) -> list[Sequence[FormulaFunction]]:
    """The functions of each file."""
    count = FILES if len(functions) >= FILES * WORTH_A_FILE else 1
    return [functions[start::count] for start in range(count)]


def _toolchain(compiler: str | None) -> Toolchain:
    """The compiler and PyTorch's headers."""
    try:
        return find_toolchain(compiler)
    except CompilerError as error:
        raise EngineError(f"{error}; --no-compile needs none") from error


def _folder(files: Mapping[str, str], toolchain: Toolchain) -> Path:
    """Where the library is built, named by what it is made from."""
    torch_cpu = toolchain.includes[0].parent / "lib" / "libtorch_cpu.so"
    if not torch_cpu.is_file():
        raise EngineError(f'no "{torch_cpu}": torch has no library to link with')
    given = [part for item in sorted(files.items()) for part in item]
    parts = (__version__, *given, toolchain.compiler.version, str(torch_cpu), repr(torch_cpu.stat().st_mtime_ns))
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    folder = (cache_folder() or Path(tempfile.gettempdir()) / "derivlint") / "verify" / digest
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError as error:
        raise EngineError(f'cannot build in "{folder}": {error.strerror}') from error
    return folder


def _forget_old(place: Path) -> None:
    """Delete the libraries that were not used for longest: every edit of a formula makes another one."""
    try:
        folders = sorted((each for each in place.iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime)
    except OSError:
        # another process deletes, too
        return
    for each in folders[:-KEPT]:
        shutil.rmtree(each, ignore_errors=True)


def _common(model: Model, toolchain: Toolchain) -> Path:
    """Where that is compiled which is the same for all formulas."""
    files = {"loader.cpp": load("loader.cpp") + "\n", REGISTRATION.name: REGISTRATION.read_text(encoding="utf-8")}
    folder = _folder(files, toolchain)
    _write(folder, files, model)
    return folder


def _known_refusals(folder: Path) -> dict[int, str] | None:
    """What the compiler refused in an earlier run; None where it is not known to refuse anything."""
    try:
        return {int(number): str(text) for number, text in json.loads((folder / REFUSED).read_bytes()).items()}
    except (OSError, ValueError, AttributeError):
        return None


def _beside(few: str, helpers: Helpers | None) -> dict[str, str]:
    """The files beside those with formulas: headers that stand before PyTorch's own, and the user's helpers."""
    if helpers is None:
        return {f"{FIRST_INCLUDED}/{ATEN}": few} if few else {}
    files = {f"{MANUAL}.cpp": helpers.source}
    if helpers.header is not None:
        files[f"{MANUAL}.h"] = helpers.header
    return files


def _write(folder: Path, files: Mapping[str, str], model: Model) -> None:
    manifest = {
        "format": FORMAT,
        "mode": Mode.EXTENSION.value,
        "namespace": LIBRARY,
        "torch": model.natives.version,
        "files": sorted(files),
        "operators": {},
    }
    for name, text in {**files, MANIFEST: json.dumps(manifest)}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            replace_file(path, text.encode("utf-8", "surrogatepass"))


def _refusals(output: str, model: Model, functions: Sequence[FormulaFunction]) -> dict[int, str]:
    """The functions that the compiler's messages speak of: by the name of the file, or by the line of the YAML."""
    file = PurePath(yaml_name(model.source.path)).name
    found: dict[int, str] = {}
    for match in _MESSAGE.finditer(output):
        name, line, text = PurePath(match[1]).name, int(match[2]), match[3]
        numbered = _NAME.fullmatch(name)
        if numbered is not None:
            found.setdefault(int(numbered[1]), text)
        elif name == file:
            for function in functions:
                first = function.described.line
                if first <= line <= first + function.evaluation.text.count("\n"):
                    found.setdefault(function.described.number, text)
    return found
