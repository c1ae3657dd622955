"""Code of a derivatives file: ``derivlint emit`` and :func:`derivlint.emit`."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.api.beside import headers_beside, modules_beside
from derivlint.emit.selection import (
    entries_of,
    outside_of_aten,
    unmatched_names,
    unreadable_formulas,
    unsavable_arguments,
)
from derivlint.lint import Diagnostic, Severity
from derivlint.lint.wording import did_you_mean
from derivlint.project.check import check_source
from derivlint.project.errors import InputError
from derivlint.project.loading import Loaded
from derivlint.project.untrusted import is_requested
from derivlint.rules import load_rules
from derivlint.schema.native_function import DEFAULT_NAMESPACE as ATEN
from derivlint.source import SourceError, SourceFile

if TYPE_CHECKING:
    from derivlint.emit.emission import Authors, Emission, Helpers
    from derivlint.emit.python.module import PythonModule
    from derivlint.model import Model
    from derivlint.schema import NativeFunction

IN_TREE_NAMESPACE = "torch::autograd::generated"
DEFAULT_NAMESPACE = "derivlint_generated"
_IN_TREE = 'a build of PyTorch has operators of the namespace "aten" only'
#: The header with PyTorch's helpers, of any release or fork.
FUNCTIONS_MANUAL = "FunctionsManual.h"
#: So many operators that are refused are named.
MAX_NAMED = 10
_NAMESPACE = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")


# ---- errors in the file


class FileErrors(Struct, frozen=True):
    """The errors of a file of which code is to be written.

    Attributes:
        findings: the errors that concern the requested operators.
        left_out: the operators that get no code because of them, by full name, with the reason; None if nothing at
            all can be written.
    """

    findings: tuple[Diagnostic, ...]
    left_out: Mapping[str, str] | None


def errors_of(
    loaded: Loaded, operators: tuple[str, ...] | None, *, whole: bool = True, tolerant: bool = False
) -> FileErrors:
    """Find the errors of a file as a whole, or of the entries of some operators.

    What comments silence does not count, as in a check.

    Args:
        loaded: the file.
        operators: the requested operators, or None for all.
        whole: whether code is written of all entries or of none; else only the entries of PyTorch's operators that have
            errors are left out of a whole file.
        tolerant: whether code is written in spite of errors of entries, as a build of PyTorch needs it.
    """
    rules = loaded.settings.selected(load_rules())
    # other versions that the file serves do not become code
    checked = check_source(loaded.source, loaded.operators.natives, loaded.settings, rules, models=(loaded.model,))
    errors = [item for item in checked.shown if item.severity is Severity.ERROR]
    if operators is not None:
        concerned = {None, *(entry.operator for entry in entries_of(loaded.model, operators))}
        errors = [item for item in errors if item.entry in concerned]
    if not errors:
        return FileErrors((), {})
    if tolerant and all(item.entry is not None for item in errors):
        return FileErrors(tuple(errors), {})
    lines = {item.entry: loaded.source.position(item.span.start).line for item in reversed(errors)}
    reasons = {
        str(match.function.name): f"its entry has an error in line {lines[entry.operator]}"
        for entry in loaded.model.entries
        if entry.operator in lines
        for match in loaded.model.functions_of(entry)
        if match.function.namespace == ATEN
    }
    everything = len(lines) == len({entry.operator for entry in loaded.model.entries})
    is_refused = whole or operators is not None or everything or None in lines or not lines.keys() <= reasons.keys()
    return FileErrors(tuple(errors), None if is_refused else reasons)


# ---- C++


class CppOptions(Struct, frozen=True):
    """Options of emitted C++.

    Attributes:
        in_tree: for a build of PyTorch, instead of an extension of an installed one.
        namespace: the namespace of the nodes, None for the default one.
        shards: the number of files for nodes, and for kernels.
        bindings: whether to emit Python bindings of nodes.
        helpers: a FunctionsManual.cpp for functions that PyTorch's library does not export.
        key: the only autograd key that kernels are written for.
        sources: C++ sources of the user.
        out: the folder that files are for.
        line_directives: whether compilers and debuggers take formulas for lines of the YAML.
    """

    in_tree: bool = False
    namespace: str | None = None
    shards: int | None = None
    bindings: bool = True
    helpers: Path | None = None
    key: str | None = None
    sources: tuple[Path, ...] = ()
    out: Path = Path()
    line_directives: bool = False

    def namespace_of_nodes(self) -> str:
        """The namespace of the nodes.

        Raises:
            InputError: it cannot be one, or other options contradict each other.
        """
        name = self.namespace or (IN_TREE_NAMESPACE if self.in_tree else DEFAULT_NAMESPACE)
        if _NAMESPACE.fullmatch(name) is None or not name.isascii():
            raise InputError(f'"{name}" is not a C++ namespace')
        if not self.in_tree and name.partition("::")[0] in ("torch", "at", "c10", "std"):
            raise InputError(f'"{name}" is a namespace of PyTorch; use another --namespace')
        for option, value in {"--key": self.key, "--sources": self.sources}.items():
            if value and self.in_tree:
                raise InputError(f"{option} needs --mode extension")
        return name


def with_surroundings(loaded: Loaded, options: CppOptions) -> tuple[Loaded, tuple[Path, ...]]:
    """Load a file again with the headers beside it that declare what its code calls.

    Returns:
        the file, and the headers.
    """
    if options.in_tree or options.helpers or loaded.settings.headers or is_requested():
        return loaded, ()
    headers = headers_beside(loaded)
    return (loaded.with_options(headers=headers).require_operators() if headers else loaded), headers


def cpp_operators(model: Model, operators: tuple[str, ...] | None, options: CppOptions) -> tuple[str, ...] | None:
    """Return the operators that C++ is written for, None for all.

    Raises:
        InputError: of some, no C++ can be written.
    """
    from derivlint.emit.own_operators import with_called

    operators = operators if options.in_tree else with_called(model, operators)
    _refuse_foreign(outside_of_aten(model, operators), options.in_tree)
    if options.key is not None:
        _refuse_key(options.key, model)
    return operators


def compiled_view(loaded: Loaded, options: CppOptions) -> Loaded:
    """Return the file as the compiler of an extension sees it: functions without a header are undeclared."""
    is_all = not options.in_tree and options.helpers is None and not loaded.model.is_of_another_release
    return loaded.with_all_declared() if is_all else loaded


def cpp_code(loaded: Loaded, operators: tuple[str, ...] | None, options: CppOptions) -> Emission:
    """Write autograd nodes and kernels.

    Args:
        loaded: the file.
        operators: those of :func:`cpp_operators`.
        options: the options.

    Raises:
        InputError: that is not possible.
    """
    from derivlint.emit.emission import EmissionMode, emission
    from derivlint.emit.own_operators import undifferentiable_reason
    from derivlint.runtime.shipped import shipped_nodes

    model = loaded.model
    with emission_errors():
        helpers = _helpers(options)
        left_out: dict[str, str] = {}
        if not options.in_tree:
            # a build of PyTorch needs all kernels, and PyTorch's generator copies formulas that it cannot read
            left_out |= unsavable_arguments(model) | unreadable_formulas(model)
            left_out |= {
                str(function.name): why
                for function in outside_of_aten(model, operators)
                if (why := undifferentiable_reason(function)) is not None
            }
        emitted = emission(
            model,
            operators,
            options.namespace_of_nodes(),
            mode=EmissionMode.IN_TREE if options.in_tree else EmissionMode.EXTENSION,
            shards=options.shards,
            helpers=helpers,
            left_out=left_out,
            python_bindings=options.bindings,
            dispatch_key=options.key,
            shipped=shipped_nodes(model) if options.key is not None else frozenset(),
            authors=None if options.in_tree else _authors(loaded.settings.headers, options.sources, options.out),
            line_directives=options.line_directives,
        )
    _require_all(model, operators, emitted.operators, emitted.left_out)
    return emitted


@contextmanager
def emission_errors() -> Iterator[None]:
    """Turn the errors of back ends into errors of the user.

    Raises:
        InputError: an error occurred.
    """
    from derivlint.emit.files import FilesError
    from derivlint.emit.release import UnsupportedRelease

    try:
        yield
    except FilesError as error:
        raise InputError(*error.messages) from error
    except UnsupportedRelease as error:
        raise InputError(str(error)) from error


def _refuse_foreign(foreign: Iterable[NativeFunction], in_tree: bool) -> None:
    """Refuse operators whose kernels C++ is not written for.

    Raises:
        InputError: there are some among the selected operators.
    """
    from derivlint.emit.own_operators import refusal

    refused = [(function, _IN_TREE if in_tree else refusal(function)) for function in foreign]
    without_code = [(function, reason) for function, reason in refused if reason is not None]
    if not without_code:
        return
    named = [f'"{function.namespace}::{function.name}"' for function, _ in without_code[:MAX_NAMED]]
    more = f" and {len(without_code) - MAX_NAMED:,} more" if len(without_code) > MAX_NAMED else ""
    raise InputError(f"no C++ is emitted for {', '.join(named)}{more}: {without_code[0][1]}; leave them out with --ops")


def _refuse_key(key: str, model: Model) -> None:
    """Refuse a dispatch key that PyTorch has no autograd kernels for.

    Raises:
        InputError: it is none.
    """
    from derivlint.emit.kernels.subject import AUTOGRAD

    keys = (AUTOGRAD, *model.natives.autograd_keys)
    if key not in keys:
        of_backend = f"{AUTOGRAD}{key}"
        question = f'did you mean "{of_backend}"?' if of_backend in keys else did_you_mean(key, keys)
        raise InputError(f'"{key}" is not an autograd key' + (f"; {question}" if question else ""))


def _authors(headers: Iterable[Path], sources: Iterable[Path], out: Path) -> Authors | None:
    """The author's files, by their paths from the output folder, or None."""
    from derivlint.emit.emission import Authors

    def place(path: Path) -> str:
        try:
            return Path(os.path.relpath(path.resolve(), out.resolve())).as_posix()
        except ValueError:
            # it is on another drive
            return path.resolve().as_posix()

    # a FunctionsManual.h is included anyway: PyTorch's, or with --helpers the author's
    own = (path for path in headers if path.name != FUNCTIONS_MANUAL)
    authors = Authors(tuple(map(place, own)), tuple(map(place, sources)))
    return authors if authors.headers or authors.sources else None


def _helpers(options: CppOptions) -> Helpers | None:
    from derivlint.emit.emission import Helpers

    if options.helpers is None:
        return None
    if options.in_tree:
        raise InputError("--helpers needs --mode extension")
    return Helpers.read(options.helpers)


# ---- Python


def python_code(
    loaded: Loaded,
    operators: tuple[str, ...] | None,
    refused: Mapping[str, str],
    *,
    register: bool = False,
    helpers: tuple[Path, ...] = (),
) -> PythonModule:
    """Write a Python module with a Function for every entry.

    Args:
        loaded: the file.
        operators: names of operators, None for all.
        refused: operators that are left out, with the reason.
        register: whether operators that are not PyTorch's are defined.
        helpers: modules of the user with functions that formulas call.

    Raises:
        InputError: that is not possible.
    """
    from derivlint.emit.python.module import python_module

    module = python_module(
        loaded.model, operators, register=register, own_helpers=_own_helpers(helpers), refused=dict(refused)
    )
    _require_all(loaded.model, operators, [item.operator for item in module.functions], module.left_out)
    return module


def own_modules(loaded: Loaded) -> tuple[Path, ...]:
    """The modules beside a file that define what its formulas call."""
    from derivlint.emit.python.calls import helper_modules

    return () if is_requested() else modules_beside(loaded, helper_modules())


def _own_helpers(files: tuple[Path, ...]) -> dict[str, str]:
    """The functions of the author's modules, with the names of these.

    Raises:
        InputError: a file is not a Python module that can be imported.
    """
    from derivlint.emit.python.calls import functions_in

    helpers: dict[str, str] = {}
    for file in files:
        if file.suffix != ".py" or not file.stem.isidentifier():
            raise InputError(f'"{file}" cannot be imported: expected a name such as "my_helpers.py"')
        try:
            names = functions_in(SourceFile.read(file).text)
        except SourceError as error:
            raise InputError(str(error)) from error
        except (SyntaxError, ValueError, RecursionError) as error:
            raise InputError(f'"{file}" is not Python: {error}') from error
        helpers |= dict.fromkeys(names, file.stem)
    return helpers


def _require_all(
    model: Model, operators: tuple[str, ...] | None, emitted: Collection[str], left_out: Mapping[str, str]
) -> None:
    """Refuse to write nothing, or silently less than was requested.

    Args:
        model: the model.
        operators: the requested names, or None for all.
        emitted: the functions that become code.
        left_out: those that do not, with the reason.

    Raises:
        InputError: no requested operator remains, or a name means no operator that has code.
    """
    if operators is None:
        return
    missing = unmatched_names(model, operators, {*emitted, *left_out})
    if missing:
        raise InputError(*(f'no code for "{name}": no entry applies to this operator' for name in missing))
    if not emitted:
        names_by_reason: dict[str, list[str]] = {}
        for name, reason in left_out.items():
            names_by_reason.setdefault(reason, []).append(name)
        raise InputError(
            *(f"{', '.join(names)} cannot be emitted: {reason}" for reason, names in names_by_reason.items())
        )
