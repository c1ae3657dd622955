"""Candidates that call a helper for the operator, with arguments matched by parameter names."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.declarations.declaration import Function
from derivlint.cpp.library import ATEN, HELPERS
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Model, Role
from derivlint.model.generated.gradients import GRAD
from derivlint.model.scope import visible_names
from derivlint.operators.special import ParameterRole, role_of_name
from derivlint.repair.candidates import Candidate

#: The cost of replacing a formula by a call of a helper.
COST = 3.0
_BACKWARD, _AGAIN = "_backward", "_double_backward"
#: The maximum number of helpers tried.
MAX_HELPERS = 12


def helper_calls(model: Model, formula: DerivativeFormula) -> Iterator[Candidate]:
    """The calls of helpers whose names begin like the operator's, or are those of its backward operators."""
    function = formula.entry.function
    if function is None or formula.role not in (Role.BACKWARD, Role.FORWARD):
        return
    library = model.typing.library
    base = function.canonical.name.base.strip("_")
    stem = base.removesuffix(_BACKWARD)
    helpers = [name for name in library.function_names(HELPERS) if name.startswith((base, stem + _AGAIN))]
    operators = {base + _BACKWARD, f"_{base}{_BACKWARD}", f"{base}{_BACKWARD}_symint"}
    names = [(HELPERS, name) for name in helpers[:MAX_HELPERS]]
    names += [(ATEN, name) for name in sorted(operators & set(library.function_names(ATEN)))]
    for namespace, name in names:
        for overload in library.functions(namespace, name).functions[:2]:
            arguments = _arguments(formula, overload)
            if arguments is not None:
                text = f"{name}({', '.join(arguments)})"
                yield Candidate(text, "edit", COST, cause=f"{quoted(name)} computes it")


def _arguments(formula: DerivativeFormula, overload: Function) -> list[str] | None:
    """The variables for the parameters of a function, or None if one has none."""
    function = formula.entry.function
    visible = set(visible_names(formula))
    outputs = [output.name for output in function.outputs] if function is not None else []
    arguments: list[str] = []
    for parameter in overload.parameters:
        name = parameter.name
        alternatives = [name, name.rstrip("_")]
        if role_of_name(name) is ParameterRole.GRADIENT and formula.role is Role.BACKWARD and GRAD not in arguments:
            alternatives.insert(0, GRAD)
        alternatives += {"input": ["self"], "output": outputs[:1], "result": outputs[:1]}.get(name, [])
        argument = next((item for item in alternatives if item in visible), None) or _property(name, visible)
        if argument is None:
            return arguments if parameter.has_default else None
        arguments.append(argument)
    return arguments


def _property(name: str, visible: set[str]) -> str | None:
    """The property of an argument that a parameter is named after: ``self_sizes``, ``input_sizes``."""
    for suffix, member in (("_sizes", "sym_sizes"), ("_scalar_type", "scalar_type"), ("_options", "options")):
        subject = name.removesuffix(suffix)
        if subject == "input" and subject not in visible:
            subject = "self"
        if name.endswith(suffix) and subject in visible:
            return f"{subject}.{member}()"
    return None
