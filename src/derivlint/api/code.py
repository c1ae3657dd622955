"""Models, code and derivatives of a derivatives file: the other functions of the public API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from derivlint.api.derivation import DerivedGraph, Differentiator
from derivlint.api.emission import (
    CppOptions,
    compiled_view,
    cpp_code,
    cpp_operators,
    errors_of,
    python_code,
    with_surroundings,
)
from derivlint.api.inputs import MAX_ORDER, OperatorsLike, SettingsLike, TextOrPath, load
from derivlint.lint import Diagnostic
from derivlint.lint.wording import counted
from derivlint.model import Model
from derivlint.project.errors import InputError
from derivlint.project.loading import Loaded, require_names


class ErrorsInFileError(InputError):
    """A file with errors, for which no code is emitted.

    Attributes:
        findings: the errors.
    """

    def __init__(self, findings: tuple[Diagnostic, ...]) -> None:
        errors = counted(len(findings), "error")
        super().__init__(f"no code is emitted for a file with {errors}", *(item.full_message for item in findings))
        self.findings = findings


class EmittedCode(Struct, frozen=True):
    """Code of a derivatives file.

    Attributes:
        files: the text of each file, by its path in the output folder.
        operators: the operators with code, by full name.
        left_out: the operators without code, with the reason.
    """

    files: Mapping[str, str]
    operators: tuple[str, ...]
    left_out: Mapping[str, str]


def load_model(
    text_or_path: TextOrPath, *, settings: SettingsLike | None = None, operators: OperatorsLike | None = None
) -> Model:
    """Build the model of a derivatives file, in torchgen's own terms.

    Args:
        text_or_path: a path, or the text of a file: a string with a line break.
        settings: as for :func:`derivlint.check`.
        operators: as for :func:`derivlint.check`.

    Raises:
        InputError: the file, the settings or the operators cannot be used.
        TypeError: an argument has another type.
    """
    return load(text_or_path, settings, operators).model


def emit(
    text_or_path: TextOrPath,
    *,
    ops: Sequence[str] = (),
    target: Literal["extension", "in-tree", "python"] = "extension",
    namespace: str | None = None,
    allow_errors: bool = False,
    settings: SettingsLike | None = None,
    operators: OperatorsLike | None = None,
) -> EmittedCode:
    """Generate the code of a derivatives file and return it; nothing is written, compiled or run.

    Args:
        text_or_path: a path, or the text of a file: a string with a line break.
        ops: base names (``add``), names of functions (``add_``) or names with an overload (``add.Tensor``); by default
            all operators.
        target: C++ for an extension of an installed PyTorch, C++ for a build of PyTorch, or a Python module.
        namespace: the namespace of C++ nodes.
        allow_errors: whether to emit code despite errors.
        settings: as for :func:`derivlint.check`.
        operators: as for :func:`derivlint.check`.

    Raises:
        ErrorsInFileError: the file has errors; with ``ops``, only errors of these entries count.
        InputError: the file, the settings, the operators or the options cannot be used.
        TypeError: an argument has another type.
    """
    if target not in ("extension", "in-tree", "python"):
        raise InputError(f'no target "{target}"; there is "extension", "in-tree" and "python"')
    loaded = load(text_or_path, settings, operators)
    if target == "python":
        names = require_names(loaded.model, tuple(ops))
        refused = {} if allow_errors else _left_out(loaded, names, whole=False)
        module = python_code(loaded, names, refused)
        emitted = tuple(item.operator for item in module.functions)
        return EmittedCode({"derivatives.py": module.text + "\n"}, emitted, module.left_out)
    options = CppOptions(in_tree=target == "in-tree", namespace=namespace)
    options.namespace_of_nodes()
    loaded, _ = with_surroundings(loaded, options)
    names = cpp_operators(loaded.model, require_names(loaded.model, tuple(ops)), options)
    if not allow_errors:
        _left_out(compiled_view(loaded, options), names, whole=True)
    emission = cpp_code(loaded, names, options)
    return EmittedCode(emission.files, tuple(emission.operators), emission.left_out)


def _left_out(loaded: Loaded, operators: tuple[str, ...] | None, *, whole: bool) -> Mapping[str, str]:
    errors = errors_of(loaded, operators, whole=whole)
    if errors.left_out is None:
        raise ErrorsInFileError(errors.findings)
    return errors.left_out


def derive(
    expression: str,
    *,
    wrt: Sequence[str],
    order: int = 1,
    mode: Literal["reverse", "forward"] = "reverse",
    same_shape: bool = False,
    file: TextOrPath | None = None,
    settings: SettingsLike | None = None,
    operators: OperatorsLike | None = None,
) -> DerivedGraph:
    """Differentiate an expression by the formulas of a derivatives file.

    Args:
        expression: calls of operators (``sigmoid(mul(a, b))``), C++ as in formulas (``a * b.sigmoid()``), or a graph as
            TorchScript prints it.
        wrt: the variables.
        order: the order of the derivative, 1 to 6.
        mode: ``reverse`` computes gradients of the variables, ``forward`` the tangent of the result.
        same_shape: whether all operands have one shape, so that gradients are not summed after broadcasts.
        file: the derivatives file; by default that of the installed PyTorch, or derivlint's example.
        settings: as for :func:`derivlint.check`.
        operators: as for :func:`derivlint.check`.

    Raises:
        InputError: the expression, a variable, or the file cannot be used, or there is no such derivative.
        TypeError: an argument has another type.
    """
    if not isinstance(expression, str) or isinstance(wrt, str):
        raise TypeError("the expression is a string, and the variables are a list of strings")
    if mode not in ("reverse", "forward"):
        raise InputError(f'no mode "{mode}"; there is "reverse" and "forward"')
    if not 0 < order <= MAX_ORDER:
        raise InputError(f"the order is 1 to {MAX_ORDER}, not {order}")
    if not wrt:
        raise InputError('no variable in "wrt" to differentiate by')
    if file is None:
        from derivlint.project.files import default_file

        default = default_file()
        file, operators = default.path, operators if operators is not None else default.torch
    differentiator = Differentiator(load(file, settings, operators).model)
    return differentiator.derivative(differentiator.read(expression), wrt, order, mode, same_shape=same_shape)
