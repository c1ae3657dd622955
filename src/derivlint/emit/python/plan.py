"""What the Function of an entry does, as Python expressions: gradients, tangents, and what is kept for them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from derivlint.analysis.differentiability.coverage import Aspect, coverage_of
from derivlint.analysis.differentiability.operators import Answer
from derivlint.analysis.typed import TypedFormula, typed_formulas
from derivlint.cpp.cpp_type import types
from derivlint.cpp.expressions.conversion import element_of
from derivlint.emit.python.expression import PythonExpression, Typing, Untranslatable, translate
from derivlint.emit.selection import unread
from derivlint.formula import parse_formula
from derivlint.model import Derivative, DifferentiabilityInfo, Entry, ForwardDerivative, Model, SavedAttribute
from derivlint.model.differentiable import Differentiability, is_tensor_list
from derivlint.model.generated.saved import TYPE_AND_SIZE
from derivlint.model.read import DEFAULT
from derivlint.operators.special import NOT_IMPLEMENTED
from derivlint.schema import Argument, NativeFunction, SchemaKind

GRADS = "grads"


class PlannedGradient(Struct, frozen=True):
    """A backward formula in Python.

    Attributes:
        names: the arguments whose gradient it computes.
        value: the expression.
        guarded: whether it is evaluated only where some incoming gradient is there.
        line: the line of the formula in the file.
    """

    names: tuple[str, ...]
    value: PythonExpression
    guarded: bool
    line: int


class Tangent(Struct, frozen=True):
    """A forward formula in Python.

    Attributes:
        names: the outputs whose tangent it computes.
        value: the expression.
        needs: the arguments; at least one must have a tangent.
        line: the line of the formula in the file.
    """

    names: tuple[str, ...]
    value: PythonExpression
    needs: tuple[str, ...]
    line: int


class Saved(Struct, frozen=True):
    """A value that is kept for backward.

    Attributes:
        name: its name in formulas.
        value: the expression that gives it in ``setup_context``.
        kind: ``tensor``, ``tensors`` or ``value``.
        is_output: whether it is an output.
    """

    name: str
    value: PythonExpression
    kind: str
    is_output: bool


class Plan(Struct, frozen=True):
    """All that the Function of an entry is made of.

    Attributes:
        entry: the entry.
        function: the operator.
        outputs: the names of its outputs in formulas.
        differentiable: the positions of the differentiable outputs.
        flattened: the arguments that are lists of tensors with a gradient; their tensors come last.
        gradients: the backward formulas.
        tangents: the forward formulas.
        no_tangents: why there are no tangents where formulas exist; None where there are.
        saved: what is kept for backward.
        gradient_names: the incoming gradients that formulas use, by name, with the position of the output.
        once: whether the gradient cannot be differentiated again.
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
    once: bool

    @property
    def is_inplace(self) -> bool:
        """Whether the operator writes to its first argument."""
        return self.function.schema.kind is SchemaKind.inplace

    @property
    def returns_list(self) -> bool:
        """Whether the one output is a list of tensors."""
        returns = self.function.schema.returns
        return len(returns) == 1 and is_tensor_list(returns[0].type)


class LeftOut(Struct, frozen=True):
    """An entry that has formulas and becomes no Function, with the reason."""

    entry: Entry
    reason: str


#: The elements of lists of tensors.
TENSORS = types("Tensor optional<Tensor>")


class _NoFunctionError(Exception):
    pass


def plan(model: Model, entry: Entry, helpers: Mapping[str, str]) -> Plan | LeftOut | None:
    """How an entry becomes a Function; None where it has no formula that could be evaluated.

    Args:
        model: the model.
        entry: the entry.
        helpers: the helper functions that there are in Python, with their modules.
    """
    found = _differentiability(model, entry)
    if found is None:
        return None
    info = found.info
    written = [item for item in info.derivatives if NOT_IMPLEMENTED not in item.formula]
    if not written and not found.forwards:
        return None
    try:
        return _plan(model, entry, found, written, helpers)
    except _NoFunctionError as error:
        return LeftOut(entry, str(error))


def _differentiability(model: Model, entry: Entry) -> Differentiability | None:
    if entry.function is None:
        return None
    for body in entry.bodies:
        if body.key == DEFAULT:
            return model.canonical_differentiability(body)
    return None


def _plan(
    model: Model, entry: Entry, found: Differentiability, written: list[Derivative], helpers: Mapping[str, str]
) -> Plan:
    function, info = found.function, found.info
    assert entry.function is not None
    if not written:
        raise _NoFunctionError("it has no backward formula")
    if function.name.is_foreach and found.is_inplace:
        raise _NoFunctionError("it writes to the tensors of a list")
    if info.output_differentiability_conditions is not None:
        raise _NoFunctionError("whether its output is differentiable depends on a condition in C++")
    indices = found.output_indices
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
    gradients = tuple(_gradient(model, info, item, typed, helpers) for item in written)
    if function.name.is_foreach:
        gradients = tuple(_of_each_tensor(each, found) for each in gradients)
    saved = tuple(_saved(model, item, is_output, helpers) for item, is_output in _attributes(info, written))
    if found.is_inplace:
        _require_nothing_of_before(function, saved)
    tangents: tuple[Tangent, ...] = ()
    no_tangents: str | None = None
    try:
        tangents = tuple(_tangent(model, item, typed, helpers, found) for item in found.forwards)
    except _NoFunctionError as error:
        no_tangents = str(error)
    positions = {"grad": indices[0]} if indices else {}
    positions |= {
        f"grad_{output.declared_name}": output.index
        for output in entry.function.outputs
        if output.declared_name is not None
    }
    used = {name for each in gradients for name in each.value.names}
    return Plan(
        entry,
        function,
        outputs,
        indices,
        tuple(value.name for value in found.inputs if is_tensor_list(value.type) and str(value.type) == "Tensor[]"),
        gradients,
        tangents,
        no_tangents,
        saved,
        {name: position for name, position in positions.items() if name in used},
        _is_once(model, function),
    )


def _require_nothing_of_before(function: NativeFunction, saved: tuple[Saved, ...]) -> None:
    """Refuse an operator in place whose gradient needs what it overwrites: ``setup_context`` sees what is there after.

    Raises:
        _NoFunctionError: it does.
    """
    for item in saved:
        if item.is_output or "self" not in item.value.names:
            continue
        if item.kind != "value":
            raise _NoFunctionError('its gradient needs "self" as it was before')
        if "inplace_view" in function.tags:
            raise _NoFunctionError('its gradient needs the sizes of "self" as they were before')


def _is_once(model: Model, function: NativeFunction) -> bool:
    """Whether the gradient cannot be differentiated at all: nothing is said where only a part of it cannot."""
    rows = coverage_of(model).of(function)
    return any(row.verdicts[Aspect.DOUBLE_BACKWARD].answer is Answer.NO for row in rows if row.key == DEFAULT)


def _gradient(
    model: Model,
    info: DifferentiabilityInfo,
    derivative: Derivative,
    typed: dict[tuple[int, bool], TypedFormula],
    helpers: Mapping[str, str],
) -> PlannedGradient:
    assert derivative.written is not None
    start = derivative.written.value_span.start
    line = model.source.position(start).line
    value = _translated(model, derivative.formula, typed.get((start, True)), helpers, line)
    types = {b.name: str(b.argument.type) for b in info.args_with_derivatives if b.argument is not None}
    one = len(derivative.var_names) == 1
    guarded = one and types.get(derivative.var_names[0]) in ("Tensor", "Tensor?")
    return PlannedGradient(derivative.var_names, value, guarded, line)


def _tangent(
    model: Model,
    forward: ForwardDerivative,
    typed: dict[tuple[int, bool], TypedFormula],
    helpers: Mapping[str, str],
    found: Differentiability,
) -> Tangent:
    assert forward.written is not None
    if NOT_IMPLEMENTED in forward.formula:
        raise _NoFunctionError("the tangent is not implemented")
    if forward.required_original_self_value:
        raise _NoFunctionError('the tangent needs "self" as it was before')
    start = forward.written.value_span.start
    line = model.source.position(start).line
    elements = _elements(found)
    value = _translated(model, forward.formula, typed.get((start, False)), helpers, line, elements)
    if found.is_foreach:
        if not value.names & elements:
            raise _NoFunctionError("it takes lists element by element, and its tangent is not of their tensors")
        value = replace(value, text=f"[{value.text} for i in range(len({min(value.names & elements)}))]")
    if function_is_view(found.function) and value.text in {f"{name}_t" for name in value.names} | value.names:
        # the tangent of a view has to be a view, not the tangent itself
        value = replace(value, text=f"aten.alias.default({value.text})")
    needs = forward.required_inputs_fw_grad or tuple(item.name for item in found.inputs)
    return Tangent(forward.var_names, value, needs, line)


def _of_each_tensor(gradient: PlannedGradient, found: Differentiability) -> PlannedGradient:
    """The gradient of a list in an operator whose formulas are those of one tensor ``i``."""
    lists = {item.name for item in found.inputs if is_tensor_list(item.type)}
    if not lists.issuperset(gradient.names) or len(gradient.names) != 1:
        raise _NoFunctionError("it takes lists element by element, and has a gradient that is not of one list")
    text = f"[{gradient.value.text} if grads[i] is not None else None for i in range(len(grads))]"
    value = replace(gradient.value, text=text, names=gradient.value.names | {GRADS})
    return replace(gradient, value=value)


def _elements(found: Differentiability) -> frozenset[str]:
    """What stands for the tensor ``i`` of a list in the forward formulas of an operator on lists."""
    lists = (item.name for item in found.inputs if is_tensor_list(item.type)) if found.is_foreach else ()
    return frozenset(f"{name}_{kind}" for name in lists for kind in "tp")


def function_is_view(function: NativeFunction) -> bool:
    """Whether an operator returns a view of an argument."""
    return function.schema.kind is SchemaKind.functional and any(
        item.annotation is not None for item in function.schema.returns
    )


def _translated(
    model: Model,
    text: str,
    typed: TypedFormula | None,
    helpers: Mapping[str, str],
    line: int,
    elements: frozenset[str] = frozenset(),
) -> PythonExpression:
    tree = typed.tree if typed is not None and typed.text == text else parse_formula(text).tree
    if tree is None:
        raise _NoFunctionError(unread(parse_formula(text), line))
    typing = Typing(typed.values, typed.callees) if typed is not None and tree is typed.tree else None
    value = translate(tree, model.natives, helpers, typing, elements)
    if isinstance(value, Untranslatable):
        raise _NoFunctionError(value.reason)
    return value


def _attributes(info: DifferentiabilityInfo, written: list[Derivative]) -> list[tuple[SavedAttribute, bool]]:
    """What the formulas that are written out save, each once; what they save by accident is left out."""
    known: dict[str, tuple[SavedAttribute, bool]] = {}
    for derivative in written:
        for item in derivative.saved_inputs:
            if not item.accidental:
                known.setdefault(item.name, (item, False))
        for item in derivative.saved_outputs:
            if not item.accidental:
                known.setdefault(item.name, (item, True))
    return list(known.values())


def _saved(model: Model, item: SavedAttribute, is_output: bool, helpers: Mapping[str, str]) -> Saved:
    tree = parse_formula(item.expr).tree
    value = Untranslatable("") if tree is None else translate(tree, model.natives, helpers)
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
