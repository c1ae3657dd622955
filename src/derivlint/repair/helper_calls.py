"""Candidates that call a helper, with arguments matched by parameter names, or have the form of a sibling formula."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from derivlint.cpp.declarations.declaration import Function
from derivlint.cpp.library import ATEN, HELPERS
from derivlint.formula import Call, Edit, Name, apply_edits, tokens, walk
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Model, Role
from derivlint.model.generated.gradients import GRAD
from derivlint.model.scope import visible_names
from derivlint.operators.special import ParameterRole, role_of_name
from derivlint.repair.candidates import Candidate

#: The cost of replacing a formula by a call of a helper.
COST = 3.0
_BACKWARD, _AGAIN = "_backward", "_double_backward"
GRAD_OUTPUT = "grad_output"
#: The methods that give what parameters with such endings take.
PROPERTIES = {
    "sizes": "sym_sizes", "shape": "sym_sizes", "strides": "sym_strides", "layout": "layout",
    "scalar_type": "scalar_type", "options": "options",
}  # fmt: skip
#: The maximum number of helpers tried.
MAX_HELPERS = 12


def helper_calls(model: Model, formula: DerivativeFormula) -> Iterator[Candidate]:
    """The calls of helpers whose names begin with the operator's, and of its backward operators.

    If the formula calls an unknown function, also calls of any other backward function whose parameters can be filled.
    """
    function = formula.entry.function
    if function is None or formula.role not in (Role.BACKWARD, Role.FORWARD):
        return
    library = model.typing.library
    base = function.canonical.name.base.strip("_")
    stem = base.removesuffix(_BACKWARD).removesuffix("_forward")
    helpers, operators = library.function_names(HELPERS), library.function_names(ATEN)
    named = {stem + _BACKWARD, f"_{stem}{_BACKWARD}", f"{stem}{_BACKWARD}_symint"}
    names = [(HELPERS, name) for name in helpers if name.startswith((base, stem + _AGAIN))][:MAX_HELPERS]
    names += [(ATEN, name) for name in sorted(named & set(operators))]
    n_named = len(names)
    if formula.role is Role.BACKWARD and _calls_unknown(formula, {*helpers, *operators}):
        names += [(HELPERS, name) for name in helpers if _BACKWARD in name]
        names += [(ATEN, name) for name in operators if _BACKWARD in name]
    for index, (namespace, name) in enumerate(names):
        for overload in library.functions(namespace, name).functions[:2]:
            for arguments in _argument_lists(formula, overload):
                text = f"{name}({', '.join(arguments)})"
                cost = COST if index < n_named else 2 * COST - len(set(arguments)) / 10
                yield Candidate(text, "edit", cost, cause=f"{quoted(name)} computes it", is_guess=index >= n_named)


def sibling_forms(formula: DerivativeFormula) -> Iterator[Candidate]:
    """The formulas of other arguments with the names exchanged, and the calls that those wrap gradients in."""
    for sibling in formula.body.formulas:
        tree = sibling.parsed.tree
        if sibling is formula or tree is None or {sibling.role, formula.role} != {Role.BACKWARD}:
            continue
        names = {sibling.key_text: formula.key_text, formula.key_text: sibling.key_text}
        text = sibling.text or ""
        cause = f"{quoted(sibling.key_text)} has another form"
        yield Candidate(_renamed(text, names), "edit", COST, cause=cause)
        for argument in tree.args if isinstance(tree, Call) else ():
            if any(isinstance(node, Name) and node.simple == GRAD for node in walk(argument)):
                before, after = _renamed(text[: argument.start], names), _renamed(text[argument.end :], names)
                yield Candidate(f"{before}{formula.text}{after}", "edit", COST, cause=cause)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """A part of a formula with other names."""
    parts = tokens(text)
    return apply_edits(text, [Edit(item.start, item.end, names[item.text]) for item in parts if item.text in names])


def _calls_unknown(formula: DerivativeFormula, names: Container[str]) -> bool:
    """Whether a formula calls a function that is not declared."""
    tree = formula.parsed.tree
    callees = [node.callee for node in walk(tree) if isinstance(node, Call)] if tree is not None else []
    return any(isinstance(callee, Name) and callee.parts[-1].identifier not in names for callee in callees)


def _argument_lists(formula: DerivativeFormula, overload: Function) -> Iterator[list[str]]:
    """The variables for the parameters of a function; for a gradient also its product with that of the operator."""
    arguments = _arguments(formula, overload)
    if arguments is None:
        return
    yield arguments
    if GRAD in arguments and GRAD_OUTPUT in visible_names(formula) and GRAD_OUTPUT not in arguments:
        yield [f"{GRAD} * {GRAD_OUTPUT}" if argument == GRAD else argument for argument in arguments]


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
        alternatives += {"input": ["self"], **dict.fromkeys(("output", "result", "value"), outputs[:1])}.get(name, [])
        argument = next((item for item in alternatives if item in visible), None) or property_of(
            name, formula.key_text, visible
        )
        if argument is None:
            return arguments if parameter.has_default else None
        arguments.append(argument)
    return arguments


def property_of(name: str, key: str, visible: Container[str]) -> str | None:
    """The property that a parameter is named after: of an argument (``weight_sizes``), or of the key (``sizes``)."""
    own = key if key in visible else "self"
    for suffix, member in PROPERTIES.items():
        subject = name.removesuffix(suffix).rstrip("_")
        if subject not in visible:
            subject = {"": own, "input": "self"}.get(subject, "")
        if name.endswith(suffix) and subject in visible:
            return f"{subject}.{member}()"
    return None
