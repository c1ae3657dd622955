"""Forward formulas: the expansion of ``auto_linear`` and ``auto_element_wise``, and the values that a formula needs.

Follows torchgen/packaged/autograd/load_derivatives.py, ``postprocess_forward_derivatives``.
"""

from __future__ import annotations

from collections.abc import Sequence

from derivlint.cpp import Binding
from derivlint.cpp.operator_signatures import with_symint
from derivlint.formula import Word, parse_formula
from derivlint.model.entry import Derivative, DerivativeFormula, DifferentiabilityInfo, ForwardDerivative
from derivlint.model.keys import AUTO_ELEMENT_WISE, AUTO_LINEAR
from derivlint.model.resolve import EntryFunction, NameKind
from derivlint.model.words import mentions, occurrences, substitute, variable_uses
from derivlint.schema import NativeFunction, Type
from derivlint.schema.native_function import DEFAULT_NAMESPACE

TANGENT = "_t"
PRIMAL = "_p"


def forward_output_types(formula: DerivativeFormula, function: EntryFunction) -> tuple[Type, ...] | None:
    """The types of the outputs that a forward key names, or None if it names none.

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
    """The differentiable arguments whose tangent or primal a formula mentions, in schema order.

    Functions over tensor lists unpack their tangents themselves; of these only foreach functions are listed.
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
    """The JVP of a linear function: the function itself, called with tangents for differentiable arguments."""
    differentiable = {binding.name for binding in args}
    actual = [
        binding.name + TANGENT if binding.name in differentiable else binding.name for binding in function.arguments
    ]
    if function.canonical.namespace != DEFAULT_NAMESPACE:
        # torchgen looks up the function only in its own namespace
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
    """Build the forward derivative of one key, or return None if its outputs or formula do not resolve."""
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
        # torchgen requires the tangents of all arguments; only differentiable ones have any
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
    """The differentiable arguments without primal and tangent variables in forward formulas: lists of tensors.

    Kernels of foreach operators do unpack them.
    """
    if info.func.name.is_foreach:
        return []
    return [binding.name for binding in info.args_with_derivatives if binding.is_tensor_list]


def base_name_uses(formula: DerivativeFormula) -> list[tuple[Binding, tuple[Word, ...]]]:
    """The differentiable arguments that a forward formula names without ``_p`` or ``_t``, with their uses.

    A forward formula has primal and tangent variables of these arguments. Helpers unpack lists of tensors, except in
    formulas of foreach operators. Follows ``find_required_inputs``.
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
    """The arguments that torchgen's pattern finds unsuffixed in a formula that only uses primals and tangents.

    Each comes with the misread word, or None if the expansion of ``auto_element_wise`` leaves the name in place: in
    ``self*self`` the pattern replaces only one occurrence. Follows ``find_required_inputs``.
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
