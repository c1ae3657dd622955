"""The differentiability of foreach functions, derived from the function that they apply to each element.

Follows torchgen/api/autograd.py, ``is_reference_for_foreach`` and ``gen_foreach_derivativeinfo``. torchgen rewrites the
reference's formulas by textual replacement; this module replaces words, which reveals replacements that split an
identifier.
"""

from __future__ import annotations

from msgspec import Struct

from derivlint.cpp import Binding, value_type
from derivlint.cpp.types import TENSOR_LIST
from derivlint.formula import Word, parse_formula
from derivlint.model.entry import Derivative, DifferentiabilityInfo, ForwardDerivative, InfoSource
from derivlint.model.generated.forward import PRIMAL, TANGENT, MatchProblemKind
from derivlint.model.generated.saved import SavedAttribute
from derivlint.model.keys import RESULT
from derivlint.model.words import WordReplacer, mentions, replace_in_words, rewrite_words
from derivlint.operators import Book
from derivlint.schema import Argument, FunctionSchema, ListType, NativeFunction, OptionalType, SchemaKind

#: The foreach functions whose reference is an in-place function.
WITH_INPLACE_REFERENCE = Book.by_hand("inplace-reference")
#: The foreach functions that lack the ``alpha`` of their reference.
OTHER_ARITY = Book.by_hand("fewer-arguments")


class ForeachProblem(Struct, frozen=True):
    """The reason why a reference's formulas cannot be rewritten for a foreach function.

    Attributes:
        kind: the reason.
        derivative: the formula.
        name: the saved expression or name.
        becomes: the broken identifier that results, if any.
        word: the word in the written formula, if any.
        cause: the name whose replacement breaks another one.
    """

    kind: MatchProblemKind
    derivative: Derivative | ForwardDerivative
    name: str
    becomes: str | None = None
    word: Word | None = None
    cause: str | None = None


def is_reference(function: NativeFunction, schema: FunctionSchema) -> bool:
    """Whether the foreach function applies the function of ``schema`` to each element."""
    name = str(function.name)
    if function.name.element_base != schema.name.base:
        return False
    if schema.name.inplace and name not in WITH_INPLACE_REFERENCE:
        return False
    mine = function.schema.arguments.flat_non_out
    theirs = schema.arguments.flat_non_out
    if name not in OTHER_ARITY and len(mine) != len(theirs):
        return False
    return all(_fits(argument, reference) for argument, reference in zip(mine, theirs, strict=False))


def _fits(argument: Argument, reference: Argument) -> bool:
    kind = argument.type
    if reference.type == kind:
        return True
    return isinstance(kind, ListType | OptionalType) and reference.type == kind.elem


def foreach_info(
    function: NativeFunction, reference: DifferentiabilityInfo
) -> tuple[DifferentiabilityInfo | None, list[ForeachProblem]]:
    """Build the info of an out-of-place foreach function from that of its reference.

    Args:
        function: the foreach function.
        reference: the info of the function that it applies to each element.

    Returns:
        The info, or None if a formula cannot be rewritten, and the problems.
    """
    mine = function.schema.arguments.flat_non_out
    arguments = reference.func.schema.arguments.flat_non_out
    foreach_name = {theirs.name: own.name for own, theirs in zip(mine, arguments, strict=False)}
    own_argument = {argument.name: argument for argument in mine}
    problems: list[ForeachProblem] = []
    derivatives = [
        _foreach_derivative(function, derivative, foreach_name, own_argument, problems)
        for derivative in reference.derivatives
    ]
    forwards = [
        _foreach_forward(function, derivative, reference, problems) for derivative in reference.forward_derivatives
    ]
    if any(derivative is None for derivative in derivatives):
        return None, problems
    built = [derivative for derivative in derivatives if derivative is not None]
    with_derivatives = {name for derivative in built for name in derivative.var_names}
    structured = function.part_of_structured_group
    info = DifferentiabilityInfo(
        name=function.name.base,
        key=reference.key,
        func=function,
        prefix="Foreach",
        derivatives=tuple(built),
        forward_derivatives=tuple(forwards),
        all_saved_inputs=_distinct([item for derivative in built for item in derivative.saved_inputs]),
        all_saved_outputs=_distinct([item for derivative in built for item in derivative.saved_outputs]),
        available_named_gradients=(),
        used_named_gradients=frozenset(),
        args_with_derivatives=tuple(
            Binding(argument.name, value_type(argument.type, symint=False, structured=structured), argument)
            for argument in mine
            if argument.name in with_derivatives
        ),
        non_differentiable_arg_names=(),
        output_differentiability=None,
        output_differentiability_conditions=None,
        source=InfoSource("foreach", reference.source.index),
        made_of=reference,
    )
    return info, problems


def _distinct(attributes: list[SavedAttribute]) -> tuple[SavedAttribute, ...]:
    """Remove duplicate saved attributes and sort the rest; torchgen's set has no stable order."""
    return tuple(sorted(dict.fromkeys(attributes), key=lambda item: (item.name, str(item.type), item.expr)))


def _foreach_derivative(
    function: NativeFunction,
    derivative: Derivative,
    foreach_name: dict[str, str],
    own_argument: dict[str, Argument],
    problems: list[ForeachProblem],
) -> Derivative | None:
    text, changed = rewrite_words(
        derivative.formula, lambda word: word.replace("grad", "grads[i]").replace(RESULT, "result[i]")
    )
    for word, became in changed:
        if word.text not in ("grad", RESULT) and word.role not in ("string", "comment"):
            cause = "grad" if "grad" in word.text else RESULT
            problems.append(
                ForeachProblem(MatchProblemKind.BROKEN_IDENTIFIER, derivative, word.text, became, cause=cause)
            )
    saved_inputs = []
    complete = True
    words = WordReplacer(text)
    for saved in derivative.saved_inputs:
        argument_name = saved.expr.split(".")[0]
        own_name = foreach_name.get(argument_name)
        if own_name is None:
            problems.append(ForeachProblem(MatchProblemKind.SAVED_INPUT, derivative, saved.expr, word=saved.word))
            complete = False
            continue
        argument = own_argument[own_name]
        element = f"{own_name}[i]" if isinstance(argument.type, ListType) else own_name
        expression = replace_in_words(saved.expr, argument_name, element)
        problems.extend(
            ForeachProblem(MatchProblemKind.BROKEN_IDENTIFIER, derivative, word, became, cause=saved.name)
            for word, became in words.replace(saved.name, expression)
        )
        structured = function.part_of_structured_group
        cpp_type = value_type(argument.type, symint=False, structured=structured)
        saved_inputs.append(SavedAttribute(own_name, cpp_type, own_name, saved.accidental, saved.word))
    saved_outputs = []
    for saved in derivative.saved_outputs:
        if saved.name != RESULT:
            problems.append(ForeachProblem(MatchProblemKind.SAVED_OUTPUT, derivative, saved.name, word=saved.word))
            complete = False
            continue
        saved_outputs.append(SavedAttribute(RESULT, TENSOR_LIST, RESULT, saved.accidental, saved.word))
    var_names = []
    for name in derivative.var_names:
        own_name = foreach_name.get(name)
        if own_name is None:
            problems.append(ForeachProblem(MatchProblemKind.KEY_NAME, derivative, name))
            complete = False
        else:
            var_names.append(own_name)
    if not complete:
        return None
    text = words.text
    _find_double_index(text, derivative, foreach_name, problems)
    return Derivative(
        formula=text,
        original_formula=derivative.formula,
        var_names=tuple(var_names),
        saved_inputs=tuple(saved_inputs),
        saved_outputs=tuple(saved_outputs),
        named_gradients=frozenset(),
        uses_grad=mentions(parse_formula(text), "grad"),
        written=derivative.written,
    )


def _find_double_index(
    text: str, derivative: Derivative, foreach_name: dict[str, str], problems: list[ForeachProblem]
) -> None:
    """Report a value that is indexed twice, ``self[i][i]``: a name in an already replaced expression."""
    formula = parse_formula(text)
    for word in formula.words:
        if formula.text[word.end : word.end + 6] == "[i][i]":
            written = next((name for name, own in foreach_name.items() if own == word.text), word.text)
            problems.append(ForeachProblem(MatchProblemKind.INDEXED_TWICE, derivative, written, f"{word.text}[i][i]"))
            return


def _foreach_forward(
    function: NativeFunction,
    derivative: ForwardDerivative,
    reference: DifferentiabilityInfo,
    problems: list[ForeachProblem],
) -> ForwardDerivative:
    var_names = list(derivative.var_names)
    var_types = list(derivative.var_types)
    tangents = list(derivative.required_inputs_fw_grad or ())
    primals = list(derivative.required_inputs_primal or ())
    words = WordReplacer(derivative.formula)

    def replace(old: str, new: str) -> None:
        problems.extend(
            ForeachProblem(MatchProblemKind.BROKEN_IDENTIFIER, derivative, word, became, cause=old)
            for word, became in words.replace(old, new)
        )

    replace(RESULT, "result[i]")
    arguments = function.schema.arguments.flat_non_out
    for own, theirs in zip(arguments, reference.func.schema.arguments.flat_non_out, strict=False):
        if isinstance(own.type, ListType) and not own.type.is_tensor_like:
            replace(theirs.name, f"{own.name}[i]")
        elif own.type.is_tensor_like:
            for suffix in (PRIMAL, TANGENT):
                replace(theirs.name + suffix, own.name + suffix)
        elif own.name != theirs.name:
            replace(theirs.name, own.name)
        for index, name in enumerate(var_names):
            # names other than outputs have no type
            if name == theirs.name and index < len(var_types):
                var_names[index] = own.name
                var_types[index] = own.type
        tangents = [own.name if name == theirs.name else name for name in tangents]
        primals = [own.name if name == theirs.name else name for name in primals]
    return ForwardDerivative(
        formula=words.text,
        var_names=tuple(var_names),
        var_types=tuple(var_types),
        required_inputs_fw_grad=tuple(tangents),
        required_inputs_primal=tuple(primals),
        required_original_self_value=derivative.required_original_self_value,
        is_reusing_outplace_formula=derivative.is_reusing_outplace_formula,
        written=derivative.written,
    )


def kernel_text(function: NativeFunction, reference: FunctionSchema, text: str) -> str:
    """The forward formula in the kernel of a foreach function, after torchgen's second textual replacement.

    Follows gen_variable_type.py, ``emit_fw_derivatives``: an in-place kernel has the non-tensor arguments under the
    names of its own schema, indexed by element if they are lists.
    """
    if function.schema.kind is not SchemaKind.inplace:
        return text if "result[i]" in text else text.replace(RESULT, "result[i]")
    for own, theirs in zip(function.schema.arguments.flat_non_out, reference.arguments.flat_non_out, strict=False):
        if not own.type.is_tensor_like:
            element = f"{own.name}[i]" if isinstance(own.type, ListType) else own.name
            text = text.replace(theirs.name, element)
    return text
