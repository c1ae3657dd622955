"""Compilation of entries that differ from the installed PyTorch, into libraries that replace its derivatives."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from msgspec import Struct

from derivlint.api.emission import CppOptions, cpp_code, cpp_operators, emission_errors
from derivlint.compiler.children import ProcessGroup, processors
from derivlint.emit.emission import Emission
from derivlint.emit.files import write_files
from derivlint.lint import Diagnostic
from derivlint.lint.changes import changed_entries
from derivlint.lint.engine.run import SUPPRESSIONS, Checker
from derivlint.model import Entry, Model, called_functions, entry_names
from derivlint.operators.detection import detected_release
from derivlint.project.caching.cache import cache_folder
from derivlint.project.errors import InputError, read_file
from derivlint.project.loading import Loaded, require_names
from derivlint.rules import load_rules
from derivlint.runtime.build import BuildError, build
from derivlint.runtime.manifest import ManifestError
from derivlint.schema import installed_torch
from derivlint.schema.native_function import DEFAULT_NAMESPACE as ATEN
from derivlint.source import SourceFile, delete_oldest, locked

#: The cache folder of the code and the libraries; each folder in it is named by a digest of the code.
FOLDER = "run"
#: The maximum number of cached libraries; the least recently used ones are deleted.
MAX_LIBRARIES = 64
#: The maximum number of translation units; more entries share units.
MAX_UNITS = 16


class OperatorGroup(Struct, frozen=True):
    """Operators that are compiled together.

    Attributes:
        label: the name of the group in messages.
        operators: the full names of the functions.
        entries: the entries with their formulas.
    """

    label: str
    operators: tuple[str, ...]
    entries: tuple[Entry, ...]


class Replacement(Struct, frozen=True):
    """A library with replaced kernels.

    Attributes:
        part: its operators.
        library: the file to load.
        nodes: the class of the node of each replaced function.
        left_out: functions that keep PyTorch's kernels, with the reason.
        is_new: whether the compiler ran.
    """

    part: OperatorGroup
    library: Path
    nodes: Mapping[str, str | None]
    left_out: Mapping[str, str]
    is_new: bool


class ReplacementError(Exception):
    """An entry that cannot be compiled.

    Attributes:
        part: the operators.
        output: the compiler's output; empty if it did not run.
    """

    def __init__(self, message: str, part: OperatorGroup, output: str) -> None:
        super().__init__(message)
        self.part = part
        self.output = output


def stock_source() -> SourceFile:
    """Read the derivatives.yaml of the installed PyTorch.

    Raises:
        InputError: PyTorch is not installed, or its derivatives.yaml cannot be read.
    """
    torch = installed_torch()
    if torch is None or torch.derivatives is None:
        raise InputError("no PyTorch with a derivatives.yaml is installed; name the operators to replace with --ops")
    return read_file(torch.derivatives)


def parts_to_replace(model: Model, names: tuple[str, ...]) -> list[OperatorGroup]:
    """Return the named operators; by default, those whose entries differ from the installed PyTorch's.

    Comments, quotes, folding and the order of entries are ignored.

    Args:
        model: the file.
        names: base names, functions or overloads.

    Raises:
        InputError: a name has no operator, or PyTorch is not installed.
    """
    if names:
        require_names(model, names)
        operators_by_name = {name: cpp_operators(model, (name,), CppOptions()) or () for name in names}
        return [OperatorGroup(name, operators, ()) for name, operators in operators_by_name.items()]
    # before stock_source is read: only the facts of the last file are cached
    other_release = _other_release(model.source)
    changed = [entry for entry in changed_entries(model, stock_source()) if entry.operator is not None]
    if changed and other_release:
        raise InputError(other_release)
    size = -(-len(changed) // MAX_UNITS) or 1
    groups = [changed[start : start + size] for start in range(0, len(changed), size)]
    return [_part(model, group) for group in groups]


def _other_release(source: SourceFile) -> str:
    """Return the error about a file of another release than the installed PyTorch, or an empty text."""
    torch = installed_torch()
    release = detected_release(entry_names(source), lambda: called_functions(source))
    if torch is None or release is None or not release.is_other or torch.release == release.version:
        return ""
    return (
        f'"{source.path}" is a file of PyTorch {release.version}, and {torch.release} is installed; '
        "name the operators to replace with --ops"
    )


def _refuse_missing(model: Model, parts: Sequence[OperatorGroup]) -> None:
    """Reject operators that the installed PyTorch lacks.

    Raises:
        InputError: an operator declared in a file of native functions is missing.
    """
    torch = installed_torch()
    if torch is None or torch.functions_manual is None:
        return
    headers = torch.functions_manual.parents[3] / "ATen" / "ops"
    for entry in (entry for part in parts for entry in part.entries):
        for function in (match.function for match in model.functions_of(entry)):
            is_declared_elsewhere = function.namespace == ATEN and function.source is not None
            if is_declared_elsewhere and not (headers / f"{function.name.base}_ops.h").is_file():
                raise InputError(f'the installed PyTorch {torch.release} has no operator "{function.name}"')


def _part(model: Model, entries: Sequence[Entry]) -> OperatorGroup:
    names = [str(match.function.name) for entry in entries for match in model.functions_of(entry)]
    label = ", ".join(str(entry.operator) for entry in entries)
    return OperatorGroup(label, tuple(dict.fromkeys(names)) or (label,), tuple(entries))


def findings_in(loaded: Loaded, parts: Sequence[OperatorGroup]) -> list[Diagnostic]:
    """Return the findings in the entries of some operators; findings do not prevent compilation."""
    entries = [entry for part in parts for entry in part.entries]
    if not entries:
        return []
    rules = [rule for rule in loaded.settings.selected(load_rules()) if rule.target != SUPPRESSIONS]
    checker = Checker(loaded.model, rules)
    findings = checker.result(checker.entries(entries)).diagnostics
    return [item for item in findings if item.severity >= loaded.settings.min_severity]


def replace_operators(
    loaded: Loaded,
    parts: Sequence[OperatorGroup],
    *,
    compiler: str | None = None,
    helpers: Path | None = None,
    progress: Callable[[str], None] = lambda message: None,
) -> list[Replacement]:
    """Compile operators into libraries, one per part, unless they are up to date.

    Args:
        loaded: the file.
        parts: the operators.
        compiler: the name of the C++ compiler.
        helpers: a FunctionsManual.cpp for functions that PyTorch's library does not export.
        progress: called with the current step.

    Raises:
        InputError: no code can be generated for an entry.
        ReplacementError: an entry does not compile; the compilation of the others is cancelled.
    """
    _refuse_missing(loaded.model, parts)
    options = CppOptions(helpers=helpers)
    start = time.monotonic()
    emissions = [cpp_code(loaded, part.operators, options) for part in parts]
    progress(f"generated the code in {time.monotonic() - start:.1f} s")
    place = _place()
    processes = ProcessGroup()

    def compiled(part: OperatorGroup, emitted: Emission) -> Replacement:
        folder = _folder(place, emitted)
        try:
            # concurrent runs share the folder
            with emission_errors(), locked(place):
                write_files(folder, emitted.files)
            built = build(
                folder,
                compiler=compiler,
                processes=processes,
                progress=lambda text: progress(f"{part.label}: {text}"),
            )
        except (BuildError, ManifestError) as error:
            raise ReplacementError(str(error), part, getattr(error, "output", "")) from error
        return Replacement(part, built.library.resolve(), emitted.operators, emitted.left_out, bool(built.compiled))

    with ThreadPoolExecutor(max_workers=processors()) as pool:
        futures = [pool.submit(compiled, *pair) for pair in zip(parts, emissions, strict=True)]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.end()
            raise
    return [future.result() for future in futures]


def _place() -> Path:
    """Return the folder of libraries in the cache; without a cache, a temporary folder."""
    cache = cache_folder()
    if cache is None or not os.access(cache, os.W_OK):
        return Path(tempfile.mkdtemp(prefix="derivlint-"))
    place = cache / FOLDER
    place.mkdir(mode=0o700, exist_ok=True)
    delete_oldest(place, MAX_LIBRARIES)
    return place


def _folder(place: Path, emitted: Emission) -> Path:
    """Return the folder of an emission, named by a digest of its code but not of its source map."""
    code = sorted(item for item in emitted.files.items() if item[0].endswith((".cpp", ".h")))
    digest = hashlib.sha256(repr(code).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    folder = place / digest
    folder.mkdir(mode=0o700, exist_ok=True)
    os.utime(folder)
    return folder
