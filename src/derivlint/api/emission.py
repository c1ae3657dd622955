"""Code of a derivatives file: ``derivlint emit`` and :func:`derivlint.emit`."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.api.adjacent_files import adjacent_headers, adjacent_modules
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
    from derivlint.emit.emission import Authors, Emission
    from derivlint.emit.python.module import PythonModule
    from derivlint.model import Model
    from derivlint.schema import NativeFunction

IN_TREE_NAMESPACE = "torch::autograd::generated"
DEFAULT_NAMESPACE = "derivlint_generated"
_IN_TREE = 'a build of PyTorch has operators of the namespace "aten" only'
#: The header with PyTorch's helpers, of any release or fork.
FUNCTIONS_MANUAL = "FunctionsManual.h"
#: The maximum number of rejected operators in a message.
MAX_NAMED = 10
_NAMESPACE = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")


# ---- errors in the file


class FileErrors(Struct, frozen=True):
    """The errors that prevent code generation.

    Attributes:
        findings: the errors in the entries of the requested operators.
        left_out: the operators without code because of errors, by full name, with the reason; None if no code can be
            generated at all.
    """

    findings: tuple[Diagnostic, ...]
    left_out: Mapping[str, str] | None


def errors_of(
    loaded: Loaded, operators: tuple[str, ...] | None, *, whole: bool = True, tolerant: bool = False
) -> FileErrors:
    """Find the errors of a file as a whole, or of the entries of some operators.

    Suppressed findings do not count, as in a check.

    Args:
        loaded: the file.
        operators: the requested operators, or None for all.
        whole: whether an error in any entry prevents all code; else entries of PyTorch's operators with errors are
            omitted.
        tolerant: whether code is generated despite errors of entries, as a build of PyTorch requires.
    """
    rules = loaded.settings.selected(load_rules())
    # code is generated for one version of the file
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
        in_tree: whether the code is for a build of PyTorch, not for an extension.
        namespace: the namespace of the nodes, or None for the default.
        shards: the maximum number of shards, each with the nodes and the kernels of some entries.
        bindings: whether to emit Python bindings of nodes.
        helpers: a FunctionsManual.cpp for functions that PyTorch's library does not export.
        key: the autograd key of all kernels, or None for a kernel under each key with formulas.
        sources: C++ sources of the user.
        out: the output folder.
        line_directives: whether formulas are marked by ``#line`` directives.
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
        """Return the namespace of the nodes.

        Raises:
            InputError: the namespace is not valid C++, or options contradict each other.
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
    """Load a file again with the headers next to it that declare called functions.

    Returns:
        the file and the headers.
    """
    if options.in_tree or options.helpers or loaded.settings.headers or is_requested():
        return loaded, ()
    headers = adjacent_headers(loaded)
    return (loaded.with_options(headers=headers).require_operators() if headers else loaded), headers


def cpp_operators(model: Model, operators: tuple[str, ...] | None, options: CppOptions) -> tuple[str, ...] | None:
    """Return the operators with C++ code, including called custom operators; None for all.

    Raises:
        InputError: no C++ can be emitted for an operator or a dispatch key.
    """
    from derivlint.emit.own_operators import with_called

    operators = operators if options.in_tree else with_called(model, operators)
    _refuse_foreign(outside_of_aten(model, operators), options.in_tree)
    if options.key is not None:
        _refuse_key(options.key, model)
    return operators


def compiled_view(loaded: Loaded, options: CppOptions) -> Loaded:
    """Return the file as the compiler sees it: functions without a declaration in a header are unknown."""
    is_all = not options.in_tree and options.helpers is None and not loaded.model.is_of_another_release
    return loaded.with_all_declared() if is_all else loaded


def cpp_code(loaded: Loaded, operators: tuple[str, ...] | None, options: CppOptions) -> Emission:
    """Emit autograd nodes and kernels as C++.

    Args:
        loaded: the file.
        operators: the operators, as :func:`cpp_operators` returns them.
        options: the options.

    Raises:
        InputError: the options are invalid, or no requested operator can be emitted.
    """
    from derivlint.emit.emission import EmissionMode, Helpers, emission
    from derivlint.emit.own_operators import undifferentiable_reason
    from derivlint.runtime.shipped import shipped_nodes

    model = loaded.model
    with emission_errors():
        if options.helpers is not None and options.in_tree:
            raise InputError("--helpers needs --mode extension")
        helpers = Helpers.read(options.helpers) if options.helpers is not None else None
        left_out: dict[str, str] = {}
        if not options.in_tree:
            # a build of PyTorch needs all kernels, and torchgen copies formulas without parsing them
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
    """Convert errors of the emitter to user errors.

    Raises:
        InputError: the emitter fails.
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
    """Reject custom operators that no C++ can be emitted for.

    Raises:
        InputError: a selected operator is one.
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
    """Reject a dispatch key without autograd kernels.

    Raises:
        InputError: the key is not an autograd key.
    """
    from derivlint.emit.kernels.subject import AUTOGRAD

    keys = (AUTOGRAD, *model.natives.autograd_keys)
    if key not in keys:
        of_backend = f"{AUTOGRAD}{key}"
        question = f'did you mean "{of_backend}"?' if of_backend in keys else did_you_mean(key, keys)
        raise InputError(f'"{key}" is not an autograd key' + (f"; {question}" if question else ""))


def _authors(headers: Iterable[Path], sources: Iterable[Path], out: Path) -> Authors | None:
    """Return the author's files with paths relative to the output folder, or None without any."""
    from derivlint.emit.emission import Authors

    def place(path: Path) -> str:
        try:
            return Path(os.path.relpath(path.resolve(), out.resolve())).as_posix()
        except ValueError:
            # the file is on another drive
            return path.resolve().as_posix()

    # a FunctionsManual.h is included anyway: PyTorch's, or with --helpers the author's
    own = (path for path in headers if path.name != FUNCTIONS_MANUAL)
    authors = Authors(tuple(map(place, own)), tuple(map(place, sources)))
    return authors if authors.headers or authors.sources else None


# ---- Python


def python_code(
    loaded: Loaded,
    operators: tuple[str, ...] | None,
    refused: Mapping[str, str],
    *,
    register: bool = False,
    helpers: tuple[Path, ...] = (),
) -> PythonModule:
    """Emit a Python module with an autograd Function for each entry.

    Args:
        loaded: the file.
        operators: names of operators, or None for all.
        refused: operators to leave out, with the reason.
        register: whether the file's own operators are defined in torch.library.
        helpers: modules of the user with functions that formulas call.

    Raises:
        InputError: no requested operator can be emitted, or a module of the user cannot be imported.
    """
    from derivlint.emit.python.module import python_module

    module = python_module(
        loaded.model, operators, register=register, own_helpers=_own_helpers(helpers), refused=dict(refused)
    )
    _require_all(loaded.model, operators, [item.operator for item in module.functions], module.left_out)
    return module


def own_modules(loaded: Loaded) -> tuple[Path, ...]:
    """Return the modules next to a file that define called functions; none in an untrusted repository."""
    from derivlint.emit.python.calls import helper_modules

    return () if is_requested() else adjacent_modules(loaded, helper_modules())


def _own_helpers(files: tuple[Path, ...]) -> dict[str, str]:
    """Return the functions of the author's modules, each with the name of its module.

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
    """Reject code without any requested operator, and names without an operator.

    Args:
        model: the model.
        operators: the requested names, or None for all.
        emitted: the functions with code.
        left_out: the functions without code, with the reason.

    Raises:
        InputError: no requested operator is emitted, or a name has no operator.
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
