"""Build torchgen's ``DifferentiabilityInfo`` from an entry and its function.

Follows torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info``; formulas for which torchgen
raises are omitted from the info and reported by rules.
"""

from __future__ import annotations

from msgspec import Struct

from derivlint.cpp import return_type
from derivlint.formula import Word
from derivlint.model.entry import (
    Derivative,
    DerivativeFormula,
    DifferentiabilityInfo,
    DispatchBody,
    Entry,
    InfoSource,
    Role,
)
from derivlint.model.generated.forward import build_forward
from derivlint.model.generated.saved import SavedAttribute, SavedVariables, without_repetition
from derivlint.model.keys import DEFAULT
from derivlint.model.resolve import EntryFunction


def named_gradients(function: EntryFunction, differentiability: tuple[bool, ...] | None) -> tuple[str, ...]:
    """The ``grad_<return>`` that formulas may use: of named, tensor-like, differentiable returns."""
    returns = function.schema.returns
    flags = differentiability or (True,) * len(returns)
    return tuple(
        f"grad_{item.name}"
        for item, differentiable in zip(returns, flags, strict=False)
        if differentiable and item.name is not None and item.type.may_be_tensor_like
    )


def build_derivative(formula: DerivativeFormula, function: EntryFunction, gradients: tuple[str, ...]) -> Derivative:
    """Build the derivative for one backward key."""
    saved = SavedVariables(formula.parsed)
    inputs = saved.save([(binding.name, binding.cpp_type) for binding in function.arguments])
    outputs = saved.save([(output.name, return_type(output.type)) for output in function.outputs])
    return Derivative(
        formula=saved.text,
        original_formula=formula.parsed.text,
        var_names=tuple(name.text for name in formula.names),
        saved_inputs=inputs,
        saved_outputs=outputs,
        named_gradients=frozenset(name for name in gradients if saved.mentions(name)),
        strides_of=tuple(saved.strides_of),
        edits=saved.edits,
        uses_grad=saved.mentions("grad"),
        written=formula,
    )


def build_info(body: DispatchBody, function: EntryFunction) -> DifferentiabilityInfo:
    """Build the info for the formulas of one dispatch key."""
    entry = body.entry
    declared = entry.output_differentiability
    values = declared.values if declared is not None else None
    gradients = named_gradients(function, values)
    formulas = body.sorted_formulas
    non_differentiable: list[str] = []
    derivatives: list[Derivative] = []
    with_derivatives: set[str] = set()
    for formula in formulas:
        if formula.role is Role.NON_DIFFERENTIABLE:
            non_differentiable.extend(name.text for name in formula.names)
        elif formula.role is Role.BACKWARD and formula.text is not None:
            derivative = build_derivative(formula, function, gradients)
            derivatives.append(derivative)
            with_derivatives.update(derivative.var_names)
    args = tuple(binding for binding in function.arguments if binding.name in with_derivatives)
    name = entry_name(entry)
    forwards = []
    for formula in formulas:
        if formula.role is Role.FORWARD:
            forward = build_forward(formula, function, name, derivatives, args)
            if forward is not None:
                forwards.append(forward)
    prefix = node_prefix(name) + (body.key if body.key != DEFAULT else "") if args else None
    return DifferentiabilityInfo(
        name=name,
        key=body.key,
        func=function.canonical,
        prefix=prefix,
        derivatives=tuple(derivatives),
        forward_derivatives=tuple(forwards),
        all_saved_inputs=without_repetition([item for derivative in derivatives for item in derivative.saved_inputs]),
        all_saved_outputs=without_repetition([item for derivative in derivatives for item in derivative.saved_outputs]),
        available_named_gradients=gradients,
        used_named_gradients=frozenset().union(*(derivative.named_gradients for derivative in derivatives)),
        args_with_derivatives=args,
        non_differentiable_arg_names=tuple(non_differentiable),
        output_differentiability=values,
        output_differentiability_conditions=declared.conditions if declared is not None else None,
        source=InfoSource("entry", entry.index),
    )


def entry_name(entry: Entry) -> str:
    """The operator's name without overload, as the entry spells it."""
    return (entry.operator or "").partition(".")[0]


def node_prefix(name: str) -> str:
    """The name of the generated node without number: ``AddmmBackward`` for ``addmm``.

    Follows ``_create_op_prefix``.
    """
    camel_case = "".join(part.title() for part in name.split("_"))
    return f"{camel_case}Backward".replace("ForwardBackward", "Backward")


class AccidentalSave(Struct, frozen=True):
    """A value that is saved although no formula uses it.

    Attributes:
        written: the first formula whose text seems to use it.
        saved: the value.
        word: the word that torchgen mistakes for a use.
    """

    written: DerivativeFormula
    saved: SavedAttribute
    word: Word


def accidental_saves(body: DispatchBody) -> list[AccidentalSave]:
    """The values that the formulas of a dispatch key save unnecessarily, in file order."""
    info = body.info
    if info is None:
        return []
    used: set[str] = set()
    saves: dict[str, AccidentalSave] = {}
    for derivative in sorted(info.derivatives, key=lambda item: item.written.index if item.written is not None else -1):
        for saved in (*derivative.saved_inputs, *derivative.saved_outputs):
            if not saved.accidental:
                used.add(saved.name)
            elif derivative.written is not None and saved.word is not None:
                saves.setdefault(saved.name, AccidentalSave(derivative.written, saved, saved.word))
    return [item for name, item in saves.items() if name not in used]
