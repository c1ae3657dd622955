"""The plan of an entry's Function: gradients, tangents and saved values as Python expressions."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from derivlint.analysis.differentiability.operators import is_refusal
from derivlint.analysis.typed import TypedFormula, typed_formulas
from derivlint.cpp.cpp_type import types
from derivlint.cpp.expressions.conversion import element_of
from derivlint.emit.python.expression import PythonExpression, Typing, Untranslatable, translate
from derivlint.emit.python.spelling import LIBRARY, literal
from derivlint.emit.selection import ATEN, unreadable_reason
from derivlint.formula import Expr, parse_formula
from derivlint.model import Derivative, DifferentiabilityInfo, Entry, ForwardDerivative, Model, SavedAttribute
from derivlint.model.differentiable import Differentiability, is_tensor_list
from derivlint.model.generated.evaluation import is_guarded
from derivlint.model.generated.saved import TYPE_AND_SIZE
from derivlint.model.keys import DEFAULT
from derivlint.operators.special import NOT_IMPLEMENTED
from derivlint.schema import Argument, NativeFunction, SchemaKind

GRADS = "grads"


class PlannedGradient(Struct, frozen=True):
    """A backward formula in Python.

    Attributes:
        names: the arguments whose gradient it computes.
        value: the expression.
        guarded: whether it is evaluated only if some incoming gradient is defined.
        line: the line of the formula in the file, or of the entry if there is no formula.
        raises: whether it only raises when autograd requests it.
    """

    names: tuple[str, ...]
    value: PythonExpression
    guarded: bool
    line: int
    raises: bool = False


class Tangent(Struct, frozen=True):
    """A forward formula in Python.

    Attributes:
        names: the outputs whose tangent it computes.
        value: the expression.
        needs: the arguments whose tangents it depends on.
        line: the line of the formula in the file.
        is_total: whether no other argument can have a tangent, so that one of them has when it is called.
    """

    names: tuple[str, ...]
    value: PythonExpression
    needs: tuple[str, ...]
    line: int
    is_total: bool


class Saved(Struct, frozen=True):
    """A value saved for backward.

    Attributes:
        name: its name in formulas.
        value: its expression in ``setup_context``.
        kind: ``tensor``, ``tensors`` or ``value``.
        is_output: whether it is an output.
    """

    name: str
    value: PythonExpression
    kind: str
    is_output: bool


class Plan(Struct, frozen=True):
    """The parts of an entry's Function.

    Attributes:
        entry: the entry.
        function: the operator.
        outputs: the names of its outputs in formulas.
        differentiable: the positions of the differentiable outputs.
        flattened: the arguments that are lists of tensors with a gradient; their tensors come last.
        gradients: the backward formulas.
        tangents: the forward formulas.
        no_tangents: the reason why there are no tangents, or None.
        saved: the values saved for backward.
        gradient_names: the incoming gradients that formulas use, by name, with the position of the output.
    """

    entry: Entry
    function: NativeFunction
    outputs: tuple[str, ...]
    differentiable: tuple[int, ...]
    flattened: tuple[str, ...]
    gradients: tuple[PlannedGradient, ...]
    tangents: tuple[Tangent, ...]
    no_tangents: str | None
    saved: tuple[Saved, ...]
    gradient_names: dict[str, int]

    @property
    def is_inplace(self) -> bool:
        """Whether the operator writes to its first argument."""
        return self.function.schema.kind is SchemaKind.inplace

    @property
    def returns_list(self) -> bool:
        """Whether the only output is a list of tensors."""
        returns = self.function.schema.returns
        return len(returns) == 1 and is_tensor_list(returns[0].type)


class SkippedEntry(Struct, frozen=True):
    """An entry with formulas that has no Function, with the reason."""

    entry: Entry
    reason: str


#: The element types of lists of tensors.
TENSORS = types("Tensor optional<Tensor>")


class _NoFunctionError(Exception):
    pass


def plan(
    model: Model, entry: Entry, helpers: Mapping[str, str], unrecorded: frozenset[str] = frozenset()
) -> Plan | SkippedEntry | None:
    """The plan of the Function of an entry, or None if it has no formula to evaluate.

    Args:
        model: the model.
        entry: the entry.
        helpers: the helpers available in Python, with their modules.
        unrecorded: the operators, by full name, that may lack an autograd kernel.
    """
    bodies = entry.bodies if entry.function is not None else ()
    differentiability = next((model.canonical_differentiability(body) for body in bodies if body.key == DEFAULT), None)
    if differentiability is None:
        return None
    info = differentiability.info
    # a Function that only raises is needed for custom operators; PyTorch's own operators raise without it
    is_own = differentiability.function.namespace != ATEN and bool(info.derivatives)
    if not (
        is_own or differentiability.forwards or any(NOT_IMPLEMENTED not in item.formula for item in info.derivatives)
    ):
        return None
    try:
        return _plan(model, entry, differentiability, Translation(model, helpers, unrecorded))
    except _NoFunctionError as error:
        return SkippedEntry(entry, str(error))


class Translation(Struct, frozen=True):
    """The arguments of :func:`derivlint.emit.python.expression.translate` that all formulas of a module share."""

    model: Model
    helpers: Mapping[str, str]
    unrecorded: frozenset[str]

    def of(
        self, tree: Expr, typing: Typing | None = None, elements: frozenset[str] = frozenset()
    ) -> PythonExpression | Untranslatable:
        """Translate a tree."""
        return translate(tree, self.model.natives, self.helpers, typing, elements, self.unrecorded)


def _plan(model: Model, entry: Entry, differentiability: Differentiability, translation: Translation) -> Plan:
    function, info = differentiability.function, differentiability.info
    assert entry.function is not None
    if not info.derivatives or (
        function.namespace == ATEN and all(NOT_IMPLEMENTED in item.formula for item in info.derivatives)
    ):
        raise _NoFunctionError("it has no backward formula")
    if function.name.is_foreach and differentiability.is_inplace:
        raise _NoFunctionError("it writes to the tensors of a list")
    if info.output_differentiability_conditions is not None:
        raise _NoFunctionError("whether its output is differentiable depends on a condition in C++")
    indices = differentiability.output_indices
    if not indices:
        raise _NoFunctionError("it has no differentiable output")
    outputs = tuple(output.name for output in entry.function.outputs)
    lists = [index for index, item in enumerate(function.schema.returns) if is_tensor_list(item.type)]
    if lists and len(outputs) > 1:
        raise _NoFunctionError("it returns a list of tensors among others")
    typed = {
        (formula.written.value_span.start, formula.is_backward): formula
        for formula in typed_formulas(model, entry)
        if formula.evaluation.dispatch == DEFAULT
    }
    gradients = tuple(_gradient(translation, info, item, typed) for item in info.derivatives)
    if function.name.is_foreach:
        gradients = tuple(_of_each_tensor(gradient, differentiability) for gradient in gradients)
    gradients += tuple(_refused(model, entry, item.name, function) for item in differentiability.refused_inputs)
    saved = tuple(_saved(translation, item, is_output) for item, is_output in _attributes(info))
    if differentiability.is_inplace:
        _require_nothing_of_before(function, saved)
    tangents: tuple[Tangent, ...] = ()
    no_tangents: str | None = None
    try:
        tangents = tuple(_tangent(translation, item, typed, differentiability) for item in differentiability.forwards)
    except _NoFunctionError as error:
        no_tangents = str(error)
    positions = {"grad": indices[0]} if indices else {}
    positions |= {
        f"grad_{output.declared_name}": output.index
        for output in entry.function.outputs
        if output.declared_name is not None
    }
    used = {name for gradient in gradients for name in gradient.value.names}
    return Plan(
        entry,
        function,
        outputs,
        indices,
        tuple(
            value.name
            for value in differentiability.inputs
            if is_tensor_list(value.type) and str(value.type) == "Tensor[]"
        ),
        gradients,
        tangents,
        no_tangents,
        saved,
        {name: position for name, position in positions.items() if name in used},
    )


def _require_nothing_of_before(function: NativeFunction, saved: tuple[Saved, ...]) -> None:
    """Reject an in-place operator whose gradient needs the overwritten value, which ``setup_context`` cannot see.

    Raises:
        _NoFunctionError: the gradient needs it.
    """
    for item in saved:
        if item.is_output or "self" not in item.value.names:
            continue
        if item.kind != "value":
            raise _NoFunctionError('its gradient needs "self" as it was before')
        if "inplace_view" in function.tags:
            raise _NoFunctionError('its gradient needs the sizes of "self" as they were before')


def _gradient(
    translation: Translation,
    info: DifferentiabilityInfo,
    derivative: Derivative,
    typed: dict[tuple[int, bool], TypedFormula],
) -> PlannedGradient:
    assert derivative.written is not None
    start = derivative.written.value_span.start
    line = translation.model.source.position(start).line
    value = _translated(translation, derivative.formula, typed.get((start, True)), line)
    raises = is_refusal(derivative.written.parsed.tree)
    return PlannedGradient(derivative.var_names, value, is_guarded(info, derivative), line, raises)


def _refused(model: Model, entry: Entry, argument: str, function: NativeFunction) -> PlannedGradient:
    """The gradient of an argument without a formula, which raises."""
    text = f"{LIBRARY}.{NOT_IMPLEMENTED}({literal(f'{function.name}: {argument}')})"
    value = PythonExpression(text, frozenset({NOT_IMPLEMENTED}), frozenset(), frozenset())
    line = model.source.position(entry.span.start).line
    return PlannedGradient((argument,), value, guarded=False, line=line, raises=True)


def _tangent(
    translation: Translation,
    forward: ForwardDerivative,
    typed: dict[tuple[int, bool], TypedFormula],
    differentiability: Differentiability,
) -> Tangent:
    assert forward.written is not None
    if NOT_IMPLEMENTED in forward.formula:
        raise _NoFunctionError("the tangent is not implemented")
    if forward.required_original_self_value:
        raise _NoFunctionError('the tangent needs "self" as it was before')
    start = forward.written.value_span.start
    line = translation.model.source.position(start).line
    elements = _elements(differentiability)
    value = _translated(translation, forward.formula, typed.get((start, False)), line, elements)
    if differentiability.is_foreach:
        if not value.names & elements:
            raise _NoFunctionError("it takes lists element by element, and its tangent is not of their tensors")
        value = replace(value, text=f"[{value.text} for i in range(len({min(value.names & elements)}))]")
    if (
        function_is_view(differentiability.function)
        and value.text in {f"{name}_t" for name in value.names} | value.names
    ):
        # the tangent of a view must be a view, not the tangent itself
        value = replace(value, text=f"aten.alias.default({value.text})")
    needs = forward.required_inputs_fw_grad or tuple(item.name for item in differentiability.inputs)
    is_total = set(needs).issuperset(item.name for item in differentiability.inputs)
    return Tangent(forward.var_names, value, needs, line, is_total)


def _of_each_tensor(gradient: PlannedGradient, differentiability: Differentiability) -> PlannedGradient:
    """The gradient of a list, for an operator whose formulas are for one tensor ``i``."""
    lists = {item.name for item in differentiability.inputs if is_tensor_list(item.type)}
    if not lists.issuperset(gradient.names) or len(gradient.names) != 1:
        raise _NoFunctionError("it takes lists element by element, and has a gradient that is not of one list")
    text = f"[{gradient.value.text} if grads[i] is not None else None for i in range(len(grads))]"
    value = replace(gradient.value, text=text, names=gradient.value.names | {GRADS})
    return replace(gradient, value=value)


def _elements(differentiability: Differentiability) -> frozenset[str]:
    """Return the variables for element ``i`` of lists in forward formulas of a foreach operator."""
    lists = (
        (item.name for item in differentiability.inputs if is_tensor_list(item.type))
        if differentiability.is_foreach
        else ()
    )
    return frozenset(f"{name}_{kind}" for name in lists for kind in "tp")


def function_is_view(function: NativeFunction) -> bool:
    """Whether an operator returns a view of an argument."""
    return function.schema.kind is SchemaKind.functional and any(
        item.annotation is not None for item in function.schema.returns
    )


def _translated(
    translation: Translation,
    text: str,
    typed: TypedFormula | None,
    line: int,
    elements: frozenset[str] = frozenset(),
) -> PythonExpression:
    tree = typed.tree if typed is not None and typed.text == text else parse_formula(text).tree
    if tree is None:
        raise _NoFunctionError(unreadable_reason(parse_formula(text), line))
    typing = Typing(typed.values, typed.callees) if typed is not None and tree is typed.tree else None
    value = translation.of(tree, typing, elements)
    if isinstance(value, Untranslatable):
        raise _NoFunctionError(value.reason)
    return value


def _attributes(info: DifferentiabilityInfo) -> list[tuple[SavedAttribute, bool]]:
    """Collect the saved values of formulas, each once, without accidental ones."""
    attributes: dict[str, tuple[SavedAttribute, bool]] = {}
    for derivative in info.derivatives:
        for item in derivative.saved_inputs:
            if not item.accidental:
                attributes.setdefault(item.name, (item, False))
        for item in derivative.saved_outputs:
            if not item.accidental:
                attributes.setdefault(item.name, (item, True))
    return list(attributes.values())


def _saved(translation: Translation, item: SavedAttribute, is_output: bool) -> Saved:
    tree = parse_formula(item.expr).tree
    value = Untranslatable("") if tree is None else translation.of(tree)
    if isinstance(value, Untranslatable):
        raise _NoFunctionError(f'there is no Python for the saved "{item.expr}"')
    if item.type is TYPE_AND_SIZE:
        text = f"F.TensorInfo.of({value.text})"
        value = PythonExpression(text, frozenset({"TensorInfo"}), frozenset(), value.names)
    kind = "value"
    if item.is_tensor:
        kind = "tensor"
    elif element_of(item.type.canonical) in TENSORS:
        kind = "tensors"
    return Saved(item.name, value, kind, is_output)


def arguments_of(function: NativeFunction) -> tuple[Argument, ...]:
    """The arguments of an operator in schema order."""
    return function.schema.arguments.flat_non_out
