"""The names that formulas can use, and undeclared names in formulas.

A backward formula can use the variables in ``apply`` of the generated node: saved arguments and outputs, and gradients;
a forward formula those in the generated kernel: arguments, outputs, and primals and tangents of differentiable
arguments. Follows gen_autograd_functions.py and gen_variable_type.py (``emit_fw_derivatives``).
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.formula import Expr, Formula, Lambda, Word, parse_formula, walk
from derivlint.formula.nodes import UnknownStatement
from derivlint.model.entry import DerivativeFormula, Role
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRAD, GRAD_INPUT_MASK, GRADS, NAMED_PREFIX
from derivlint.model.keys import RESULT
from derivlint.model.resolve import EntryFunction, generic_output_index
from derivlint.source.lazy import memoized

if TYPE_CHECKING:
    from derivlint.model.entry import DifferentiabilityInfo

RETAIN_VARIABLES = "retain_variables"
ORIGINAL_SELF = ("original_self_p", "original_self_t")
CPP_WORDS = frozenset({"true", "false", "nullptr", "nullopt", "this"})


class NotDeclared(Enum):
    """The reasons why a name is not declared where a formula uses it."""

    UNKNOWN = "unknown"
    #: a primal or tangent, ``self_p`` or ``self_t``, in a backward formula
    PRIMAL_IN_BACKWARD = "primal or tangent in a backward formula"
    #: ``grad``, ``grads``, ``grad_input_mask`` or ``retain_variables`` in a forward formula
    GRADIENT_IN_FORWARD = "gradient in a forward formula"
    #: ``x_t`` or ``x_p`` of an argument that has no backward formula, or is a list of tensors
    NOT_UNPACKED = "primal or tangent of an argument without backward formula"
    #: ``original_self_p`` outside an in-place entry
    ORIGINAL_SELF = "original self out of place"
    #: ``grad_<return>`` of an output that is not a tensor, or not differentiable by ``output_differentiability``
    SWITCHED_OFF = "gradient of an output that is switched off"
    #: ``grad_input_mask`` in a formula for a single argument
    MASK_IN_SINGLE = "grad_input_mask in a formula for one argument"
    #: ``dtype``, ``layout``, ``device`` or ``pin_memory`` of a factory function, which C++ has as ``options``
    TENSOR_OPTION = "tensor option"
    #: ``result`` or ``result<i>`` although the outputs have other names
    OTHER_OUTPUT_NAME = "output under another name"


class UndeclaredName(Struct, frozen=True):
    """A use of a name that is not declared.

    Attributes:
        written: the formula.
        word: the use.
        reason: the reason why it is not declared.
        subject: the argument, output or return to which the name refers, if any.
    """

    written: DerivativeFormula
    word: Word
    reason: NotDeclared
    subject: str | None = None


def is_constant(name: str) -> bool:
    """Whether a name looks like a macro or constant in a header (``M_PI``, ``kCudnnMessage``)."""
    # linear algebra has arguments and outputs with names like "A" and "LU"
    if name.isupper() and len(name) > 2:
        return True
    return len(name) > 1 and name[0] == "k" and name[1].isupper()


def is_internal(name: str) -> bool:
    """Whether a visible name is internal to generated code, such as ``self_t_raw``."""
    return name.endswith(("_t_raw", "_tensor")) or name == RETAIN_VARIABLES


def backward_names(function: EntryFunction, info: DifferentiabilityInfo, formula: DerivativeFormula) -> list[str]:
    """The variables a backward formula can use."""
    names = [binding.name for binding in function.arguments]
    names += [output.name for output in function.outputs]
    names += [GRAD, GRADS, *info.available_named_gradients, RETAIN_VARIABLES]
    if len(formula.names) > 1:
        names.append(GRAD_INPUT_MASK)
    if function.canonical.name.is_foreach:
        names.append("i")
    return names


def forward_names(function: EntryFunction, info: DifferentiabilityInfo) -> list[str]:
    """The variables a forward formula can use."""
    names = [output.name for output in function.outputs]
    names += [argument.name for argument in function.schema.arguments.flat_all]
    is_foreach = function.canonical.name.is_foreach
    for binding in info.args_with_derivatives:
        if is_foreach or not binding.is_tensor_list:
            names += [binding.name + suffix for suffix in (PRIMAL, TANGENT, "_t_raw", "_tensor")]
    if function.is_inplace:
        names += ORIGINAL_SELF
    if is_foreach:
        names.append("i")
    return names


def visible_names(formula: DerivativeFormula) -> list[str]:
    """The variables that the formula can use; empty if its entry is not resolved."""
    function, info = formula.entry.function, formula.body.info
    if function is None or info is None:
        return []
    if formula.role is Role.BACKWARD:
        return backward_names(function, info, formula)
    return forward_names(function, info) if formula.role is Role.FORWARD else []


def variables(formula: Formula) -> list[Word]:
    """The uses of variables in a formula, without keywords and constants."""
    return [
        word
        for word in formula.words
        if word.role == "variable" and word.text not in CPP_WORDS and not is_constant(word.text)
    ]


@memoized
def undeclared_names(formula: DerivativeFormula) -> tuple[UndeclaredName, ...]:
    """The uses of undeclared variables in a formula; none if the key does not resolve.

    Called names are not included: headers declare functions.
    """
    function, info = formula.entry.function, formula.body.info
    if function is None or info is None or formula.role is Role.UNRESOLVED:
        return ()
    if not formula.is_expression or formula.parsed.tree is None:
        return ()
    visible = set(visible_names(formula))
    declared = info.output_differentiability
    if declared is not None and len(declared) != len(function.outputs):
        # it is unknown which gradients are switched off
        visible.update(f"{NAMED_PREFIX}{output.declared_name}" for output in function.outputs)
    undeclared = []
    unclear = _unclear_lambdas(formula.parsed.tree)
    for word in variables(formula.parsed):
        if word.text not in visible and not any(body.start <= word.start < body.end for body in unclear):
            reason, subject = _reason(formula, word.text, function, info)
            undeclared.append(UndeclaredName(formula, word, reason, subject))
    return tuple(undeclared)


def _unclear_lambdas(tree: Expr) -> list[Lambda]:
    """The lambdas with a statement that cannot be read, which may declare any name."""
    return [
        node
        for node in walk(tree)
        if isinstance(node, Lambda)
        and node.statements is not None
        and any(isinstance(part, UnknownStatement) for part in walk(node.statements))
    ]


def first_undeclared(formula: DerivativeFormula, reason: NotDeclared) -> list[UndeclaredName]:
    """The first use of each name that is undeclared for a given reason."""
    first: dict[str, UndeclaredName] = {}
    for name in undeclared_names(formula):
        if name.reason is reason:
            first.setdefault(name.word.text, name)
    return list(first.values())


def visible_tangents(formula: DerivativeFormula) -> list[str]:
    """The tangents that a forward formula can use."""
    info = formula.body.info
    names = {binding.name + TANGENT for binding in info.args_with_derivatives} if info is not None else set()
    return [name for name in visible_names(formula) if name in names]


def undeclared_in_condition(text: str, function: EntryFunction) -> list[Word]:
    """The undeclared variables of a condition in ``output_differentiability``, which the kernel evaluates."""
    formula = parse_formula(text)
    if formula.tree is None:
        return []
    declared = {argument.name for argument in function.schema.arguments.flat_all}
    return [word for word in variables(formula) if word.text not in declared]


def _reason(
    formula: DerivativeFormula, name: str, function: EntryFunction, info: DifferentiabilityInfo
) -> tuple[NotDeclared, str | None]:
    backward = formula.role is Role.BACKWARD
    options = function.schema.arguments.tensor_options
    if options is not None and name in {argument.name for argument in options.all}:
        return NotDeclared.TENSOR_OPTION, name
    if name == GRAD_INPUT_MASK and backward:
        return NotDeclared.MASK_IN_SINGLE, None
    if not backward and name in (GRAD, GRADS, GRAD_INPUT_MASK, RETAIN_VARIABLES, *info.available_named_gradients):
        return NotDeclared.GRADIENT_IN_FORWARD, None
    if name.startswith(NAMED_PREFIX):
        declared = name.removeprefix(NAMED_PREFIX)
        if any(item.name == declared for item in function.schema.returns):
            return (NotDeclared.SWITCHED_OFF if backward else NotDeclared.GRADIENT_IN_FORWARD), declared
    if name in ORIGINAL_SELF:
        return (NotDeclared.PRIMAL_IN_BACKWARD if backward else NotDeclared.ORIGINAL_SELF), "self"
    for suffix in (PRIMAL, TANGENT):
        subject = name.removesuffix(suffix)
        if subject != name and any(argument.name == subject for argument in function.schema.arguments.flat_all):
            return (NotDeclared.PRIMAL_IN_BACKWARD if backward else NotDeclared.NOT_UNPACKED), subject
    if name == RESULT or generic_output_index(name) is not None:
        index = generic_output_index(name)
        outputs = function.outputs
        if index is None:
            index = 0 if len(outputs) == 1 else None
        is_in_range = index is not None and index < len(outputs)
        return NotDeclared.OTHER_OUTPUT_NAME, outputs[index].name if is_in_range and index is not None else None
    return NotDeclared.UNKNOWN, None
