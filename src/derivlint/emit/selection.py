"""Selection of functions and entries by the names of operators on a command line."""

from __future__ import annotations

from collections.abc import Collection

from derivlint.cpp.cpp_type import types
from derivlint.cpp.types import DeclaredType
from derivlint.formula import Formula
from derivlint.model import Entry, Model
from derivlint.schema import NativeFunction

#: The namespace of PyTorch's own operators.
ATEN = "aten"
#: The argument types that a node cannot save.
_UNSAVABLE = types("""
    ArrayRef<double> ArrayRef<bool> ArrayRef<string_view> ArrayRef<ScalarType>
    SymBool Generator Storage QScheme Stream DeviceIndex Device
""")


def is_selected(function: NativeFunction, operators: Collection[str] | None) -> bool:
    """Whether a function is selected by one of the names.

    Args:
        function: the function.
        operators: base names (``mul``: all overloads, in-place and out functions), names without overload (``mul_``)
            or full names (``mul.Tensor``); None for all.
    """
    if operators is None:
        return True
    name = function.name
    return any(spelling in operators for spelling in (str(name), name.name_without_overload, name.base))


def outside_of_aten(model: Model, operators: Collection[str] | None) -> tuple[NativeFunction, ...]:
    """The functions of entries outside of ``aten``, the namespace of PyTorch's own operators."""
    if all(function.namespace == ATEN for function in model.natives.written):
        return ()
    functions = {
        f"{match.function.namespace}::{match.function.name}": match.function
        for entry in model.entries
        for match in model.functions_of(entry)
        if match.function.namespace != ATEN and is_selected(match.function, operators)
    }
    return tuple(functions[name] for name in sorted(functions))


def unmatched_names(model: Model, operators: Collection[str] | None, answers: Collection[str]) -> tuple[str, ...]:
    """Return the names that select none of the given functions.

    Args:
        model: the model.
        operators: names as :func:`is_selected` takes them; None for all.
        answers: the full names of the functions.
    """
    functions = [function for name in answers if (function := model.natives.operator(name)) is not None]
    return tuple(name for name in operators or () if not any(is_selected(function, (name,)) for function in functions))


def entries_of(model: Model, operators: Collection[str] | None) -> tuple[Entry, ...]:
    """The entries that contribute to the code of operators."""
    return tuple(
        entry
        for entry in model.entries
        if any(is_selected(match.function, operators) for match in model.functions_of(entry))
    )


def unreadable_formulas(model: Model) -> dict[str, str]:
    """The functions with an unparsable formula, by full name, with the reason.

    Its saved values and dependencies are unknown, so the generated code could be silently wrong.
    """
    reasons: dict[str, str] = {}
    for entry in model.entries:
        for formula in entry.formulas:
            if formula.is_expression and formula.parsed.tree is None:
                reason = unreadable_reason(formula.parsed, model.source.position(formula.value_span.start).line)
                for match in model.functions_of(entry):
                    reasons.setdefault(str(match.function.name), reason)
    return reasons


def unsavable_arguments(model: Model) -> dict[str, str]:
    """The functions whose formulas need an argument that no node can save, by full name, with the reason.

    The types are those that torch/csrc/dynamo/compiled_autograd.h does not collect, that have no default value, or that
    only refer to their elements (torch/csrc/autograd/saved_variable.h saves tensors only).
    """
    reasons: dict[str, str] = {}
    for entry in model.entries:
        function = entry.function
        # few functions have such arguments: saved values are computed only for these
        if function is None or not any(_is_unsavable(binding.cpp_type) for binding in function.arguments):
            continue
        for body in entry.bodies:
            for saved in body.info.all_saved_inputs if body.info is not None else ():
                argument = function.argument(saved.name)
                if argument is None or saved.accidental or not _is_unsavable(saved.type):
                    continue
                kind = argument.argument.type if argument.argument is not None else saved.type
                reason = f'its gradient needs "{saved.name}", and a node cannot keep a value of type "{kind}"'
                for match in model.functions_of(entry):
                    reasons.setdefault(str(match.function.name), reason)
    return reasons


def _is_unsavable(type: DeclaredType) -> bool:
    canonical = type.canonical
    return canonical in _UNSAVABLE or canonical.head == "array"


def unreadable_reason(formula: Formula, line: int) -> str:
    """The reason why no code is generated for an unparsable formula.

    Args:
        formula: the formula.
        line: its first line, from 1.
    """
    detail = f": {formula.problems[0].message}" if formula.problems else ""
    return f"the formula in line {line} cannot be read{detail}"
