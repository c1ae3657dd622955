"""Forward formulas: expansion of ``auto_linear`` and ``auto_element_wise``, required values, in-place forms.

Follows torchgen/packaged/autograd/load_derivatives.py, ``postprocess_forward_derivatives``, and the in-place part of
torchgen/api/autograd.py, ``match_differentiability_info``: in an in-place kernel, ``self`` is the result, its original
value is a clone, and the tangent of ``self`` is modified in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from derivlint.cpp import Binding
from derivlint.cpp.operator_signatures import with_symint
from derivlint.formula import Call, Formula, Member, Name, Word, parse_formula
from derivlint.model.entry import Derivative, DerivativeFormula, DifferentiabilityInfo, ForwardDerivative
from derivlint.model.keys import AUTO_ELEMENT_WISE, AUTO_LINEAR, RESULT
from derivlint.model.resolve import EntryFunction, NameKind
from derivlint.model.words import mentions, occurrences, substitute, variable_uses
from derivlint.schema import NativeFunction, Type
from derivlint.schema.native_function import DEFAULT_NAMESPACE

TANGENT = "_t"
PRIMAL = "_p"


def forward_output_types(formula: DerivativeFormula, function: EntryFunction) -> tuple[Type, ...] | None:
    """The types of the outputs named in a forward key, or None if it names none.

    Follows ``create_forward_derivative``: returns by their declared names, in schema order; ``result`` and
    ``result<i>`` only if no declared name matches.
    """
    names = [name.text for name in formula.names]
    declared = tuple(output.type for output in function.outputs if output.declared_name in names)
    if declared:
        return declared
    generic = [
        resolved.output
        for resolved in map(function.resolve, names)
        if resolved.kind in (NameKind.OUTPUT, NameKind.GENERIC_OUTPUT)
    ]
    types = tuple(output.type for output in generic if output is not None)
    return types or None


def required_inputs(
    formula_text: str, suffix: str, function: NativeFunction, args: Sequence[Binding]
) -> tuple[str, ...]:
    """The differentiable arguments whose tangent or primal a formula uses, in schema order.

    Functions of tensor lists unpack tangents themselves, so only arguments of foreach functions are included.
    """
    formula = parse_formula(formula_text)
    is_foreach = function.name.is_foreach
    return tuple(
        binding.name
        for binding in args
        if (is_foreach or not binding.is_tensor_list) and mentions(formula, binding.name + suffix)
    )


def element_wise_formula(derivative: Derivative, args: Sequence[Binding]) -> str:
    """The JVP of an element-wise function, derived from its VJP.

    The Jacobian is diagonal, so J v is the VJP of v up to conjugation: ``grad`` becomes the conjugated tangent, the
    argument its primal value, and the result is conjugated.
    """
    replacements = {"grad": f"{args[0].name}{TANGENT}.conj()"}
    for binding in args:
        replacements.setdefault(binding.name, binding.name + PRIMAL)
    return f"({substitute(derivative.original_formula, replacements).text}).conj()"


def linear_formula(function: EntryFunction, entry_name: str, args: Sequence[Binding]) -> str:
    """The JVP of a linear function: the function itself, applied to the tangents of differentiable arguments."""
    differentiable = {binding.name for binding in args}
    actual = [
        binding.name + TANGENT if binding.name in differentiable else binding.name for binding in function.arguments
    ]
    if function.canonical.namespace != DEFAULT_NAMESPACE:
        # torchgen only looks in the function's own namespace
        return f"{function.canonical.namespace}::{entry_name}({', '.join(actual)})"
    callee = with_symint(entry_name) if function.schema.has_symint else entry_name
    if "function" in function.canonical.variants:
        return f"at::{callee}({', '.join(actual)})"
    return f"{actual[0]}.{callee}({', '.join(actual[1:])})"


def build_forward(
    written: DerivativeFormula,
    function: EntryFunction,
    entry_name: str,
    derivatives: Sequence[Derivative],
    args: Sequence[Binding],
) -> ForwardDerivative | None:
    """Build the forward derivative for one key, or return None if its outputs or formula do not resolve."""
    types = forward_output_types(written, function)
    text = written.text
    if types is None or text is None:
        return None
    canonical = function.canonical
    tangents: tuple[str, ...]
    if text == AUTO_ELEMENT_WISE:
        if not derivatives or not args:
            return None
        formula = element_wise_formula(derivatives[0], args)
        # torchgen requires tangents of all arguments, but only differentiable ones have them
        tangents = tuple(binding.name for binding in function.arguments)
    elif text == AUTO_LINEAR:
        if not args:
            return None
        formula = linear_formula(function, entry_name, args)
        tangents = tuple(binding.name for binding in args)
    else:
        formula = text
        tangents = required_inputs(text, TANGENT, canonical, args)
    return ForwardDerivative(
        formula=formula,
        var_names=tuple(name.text for name in written.names),
        var_types=types,
        required_inputs_fw_grad=tangents,
        required_inputs_primal=required_inputs(formula, PRIMAL, canonical, args),
        written=written,
    )


def packed_lists(info: DifferentiabilityInfo) -> list[str]:
    """The differentiable tensor lists, which have no primal and tangent variables in forward formulas.

    Kernels of foreach operators unpack them.
    """
    if info.func.name.is_foreach:
        return []
    return [binding.name for binding in info.args_with_derivatives if binding.is_tensor_list]


def base_name_uses(formula: DerivativeFormula) -> list[tuple[Binding, tuple[Word, ...]]]:
    """The uses of differentiable arguments in a forward formula without ``_p`` or ``_t``.

    Formulas should use primal and tangent variables instead; tensor lists are exempt, since helpers unpack them, except
    in formulas of foreach operators. Follows ``find_required_inputs``.
    """
    info = formula.body.info
    if info is None or formula.forward is None or formula.auto is not None:
        return []
    packed = packed_lists(info)
    base_names = []
    for binding in info.args_with_derivatives:
        if binding.is_tensor_like and binding.name not in packed:
            uses = variable_uses(formula.parsed, binding.name)
            if uses:
                base_names.append((binding, uses))
    return base_names


def misread_base_name(formula: DerivativeFormula) -> list[tuple[str, Word | None]]:
    """The arguments that torchgen's pattern finds unsuffixed although the formula only uses primals and tangents.

    Each comes with the misread word, or None if ``auto_element_wise`` leaves a name unreplaced: in ``self*self`` the
    pattern replaces only one occurrence. Follows ``find_required_inputs``.
    """
    info, forward = formula.body.info, formula.forward
    if info is None or forward is None or formula.auto == AUTO_LINEAR:
        return []
    is_foreach = info.func.name.is_foreach
    expanded = parse_formula(forward.formula)
    misread: list[tuple[str, Word | None]] = []
    for binding in info.args_with_derivatives:
        if binding.is_tensor_list and not is_foreach:
            continue
        if formula.auto is not None:
            if mentions(expanded, binding.name):
                misread.append((binding.name, None))
        elif not variable_uses(formula.parsed, binding.name):
            misread.extend((binding.name, word) for word in occurrences(formula.parsed, binding.name)[:1])
    return misread


class MatchProblemKind(Enum):
    """The reasons why a function cannot use an info that applies to it."""

    #: the generated functional variant cannot save ``self``
    FUNCTIONAL_NEEDS_SELF = "functional-needs-self"
    #: the reference of a foreach function lacks ``Default`` formulas
    NO_DEFAULT_KEY = "no-default-key"
    #: several forward formulas, though in-place functions have one output
    SEVERAL_FORMULAS = "several-formulas"
    #: the entry of an in-place function reads the overwritten value of ``self``
    PRIMAL_OF_SELF = "primal-of-self"
    STRIDES_OF_SELF = "strides-of-self"
    #: a foreach function can save no output other than ``result``
    SAVED_OUTPUT = "saved-output"
    #: the saved expression does not begin with an argument of the foreach function
    SAVED_INPUT = "saved-input"
    #: a key has a name that is not an argument of the foreach function
    KEY_NAME = "key-name"
    #: the textual replacement splits a name
    BROKEN_IDENTIFIER = "broken-identifier"
    INDEXED_TWICE = "indexed-twice"


SELF_PRIMAL = "self_p"
SELF_TANGENT = "self_t"
ORIGINAL_PRIMAL = "original_self_p"
ORIGINAL_TANGENT = "original_self_t"


class InplaceProblem(Struct, frozen=True):
    """The reason why an in-place function cannot use the forward formulas of its info.

    Attributes:
        kind: the reason.
        derivative: the forward formula, if the problem concerns one.
    """

    kind: MatchProblemKind
    derivative: ForwardDerivative | None = None


def inplace_forwards(
    info: DifferentiabilityInfo, *, own_entry: bool
) -> tuple[tuple[ForwardDerivative, ...], list[InplaceProblem]]:
    """The forward formulas of an in-place function, and the problems of unusable ones.

    Args:
        info: the info that applies to the function.
        own_entry: whether the entry is for the in-place function itself.
    """
    forwards = info.forward_derivatives
    if not forwards:
        return (), []
    if len(forwards) != 1:
        return (), [InplaceProblem(MatchProblemKind.SEVERAL_FORMULAS, forwards[1])]
    written = forwards[0]
    replacements = {RESULT: SELF_PRIMAL}
    if mentions(parse_formula(written.formula), SELF_PRIMAL):
        if own_entry:
            return (), [InplaceProblem(MatchProblemKind.PRIMAL_OF_SELF, written)]
        replacements |= {SELF_PRIMAL: ORIGINAL_PRIMAL, SELF_TANGENT: ORIGINAL_TANGENT}
    substituted = substitute(written.formula, replacements)
    text = substituted.text
    primals = written.required_inputs_primal
    if SELF_PRIMAL in substituted.words:
        primals = (*(primals or ()), "self")
    if not own_entry:
        text = _modify_tangent_in_place(text, info.name)
    return (
        replace(
            written,
            formula=text,
            var_names=("self",),
            required_inputs_primal=primals,
            required_original_self_value=not substituted.words.isdisjoint((ORIGINAL_PRIMAL, ORIGINAL_TANGENT)),
            is_reusing_outplace_formula=not own_entry,
        ),
    ), []


#: Code that copies a formula into the existing tangent of ``self``.
COPIED = f"{SELF_TANGENT}_raw.defined() ? {SELF_TANGENT}_raw.copy_("
OTHERWISE = ") : "


def copied_formula(text: str) -> str | None:
    """Extract the formula from such code, or return None for other code."""
    length = (len(text) - len(COPIED) - len(OTHERWISE)) // 2
    formula = text[len(COPIED) : len(COPIED) + length]
    return formula if text == f"{COPIED}{formula}{OTHERWISE}{formula}" else None


def _modify_tangent_in_place(text: str, operator: str) -> str:
    """Make a formula write to the existing tangent of ``self``.

    ``self_t.mul(x)`` for the operator ``mul`` becomes ``self_t.mul_(x)``; any other formula is copied into the tangent.
    """
    # a cheap test that rejects most formulas
    arguments = None
    if text.startswith(SELF_TANGENT):
        arguments = _arguments_of_same_method(parse_formula(text), operator)
    if arguments is not None:
        return f"self_t_raw.defined() ? self_t_raw.{operator}_({arguments}) : {text}"
    return f"{COPIED}{text}{OTHERWISE}{text}"


def _arguments_of_same_method(formula: Formula, operator: str) -> str | None:
    """The text of the arguments if the formula is ``self_t.<operator>(<arguments>)``, else None."""
    call = formula.tree
    if not isinstance(call, Call) or (call.start, call.end) != (0, len(formula.text)):
        return None
    callee = call.callee
    if not isinstance(callee, Member) or callee.arrow or callee.name != operator:
        return None
    receiver = callee.object
    if not isinstance(receiver, Name) or receiver.simple != SELF_TANGENT:
        return None
    opening = f"{SELF_TANGENT}.{operator}("
    if formula.text[: len(opening)] != opening:
        return None
    return formula.text[len(opening) : call.end - 1]
