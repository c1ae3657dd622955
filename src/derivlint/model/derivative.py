"""The differentiability of an operator, in torchgen's own terms.

Names and fields follow torchgen/api/autograd.py, so that whoever knows PyTorch's generator knows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from derivlint.cpp.types import TENSOR, TENSOR_VECTOR, optional_of
from derivlint.source.comparison import Compared

if TYPE_CHECKING:
    from derivlint.cpp import Binding
    from derivlint.formula import Edit, Word
    from derivlint.model.entry import KeyedFormula
    from derivlint.schema import NativeFunction, Type


class SavedAttribute(Compared, Struct, frozen=True):
    """A value that the forward call saves for the backward formula.

    Attributes:
        name: the member of the generated node, ``self`` or ``self_sym_sizes``.
        type: its C++ type.
        expr: the expression that is evaluated when it is saved.
        accidental: True when the formula does not use the value: its name occurs only in a string, a comment, as a
            member or as part of a qualified name, and torchgen's text matching saves it all the same.
        word: the first place in the written formula that asks for it.
    """

    name: str
    type: str
    expr: str
    accidental: bool = False
    word: Word | None = None

    def identity(self) -> tuple[Any, ...]:
        """The fields that are compared."""
        return self.name, self.type, self.expr

    @property
    def is_tensor(self) -> bool:
        """Whether it is one tensor, possibly an absent one."""
        return self.type in (TENSOR, optional_of(TENSOR))

    @property
    def is_tensor_vector(self) -> bool:
        """Whether it is a list of tensors that the operator returned."""
        return self.type == TENSOR_VECTOR


class Derivative(Compared, Struct, frozen=True):
    """A backward formula, for one or several arguments.

    Attributes:
        formula: the C++ expression, with expressions over arguments replaced by saved attributes.
        original_formula: the expression as written.
        var_names: the arguments whose gradient it computes.
        saved_inputs: saved arguments and properties of arguments.
        saved_outputs: saved outputs and properties of outputs.
        named_gradients: the ``grad_<return>`` it uses.
        strides_of: arguments or outputs whose ``sym_strides()`` it asks for, with the place.
        edits: the changes that make ``formula`` of ``original_formula``; none of a formula that is derived otherwise.
        uses_grad: whether torchgen finds ``grad`` in the formula.
        line: the pair of key and formula that it comes from.
    """

    formula: str
    original_formula: str
    var_names: tuple[str, ...]
    saved_inputs: tuple[SavedAttribute, ...]
    saved_outputs: tuple[SavedAttribute, ...]
    named_gradients: frozenset[str]
    strides_of: tuple[tuple[str, Word], ...] = ()
    edits: tuple[Edit, ...] = ()
    uses_grad: bool = False
    line: KeyedFormula | None = None

    def identity(self) -> tuple[Any, ...]:
        """The fields that are compared."""
        return (
            self.formula,
            self.original_formula,
            self.var_names,
            self.saved_inputs,
            self.saved_outputs,
            self.named_gradients,
            self.strides_of,
            self.uses_grad,
        )

    @property
    def saves_strides(self) -> bool:
        """Whether it saves the strides of an argument."""
        saved = {f"{name}_sym_strides" for name, _ in self.strides_of}
        return any(item.name in saved for item in self.saved_inputs)


class ForwardDerivative(Compared, Struct, frozen=True):
    """A forward formula, for one or several outputs.

    Attributes:
        formula: the C++ expression; ``auto_linear`` and ``auto_element_wise`` are expanded.
        var_names: the outputs whose tangent it computes.
        var_types: the schema types of those outputs.
        required_inputs_fw_grad: arguments whose tangent it needs.
        required_inputs_primal: arguments whose primal value it needs; None where torchgen leaves it unset.
        required_original_self_value: whether an in-place kernel must keep a copy of ``self``.
        is_reusing_outplace_formula: whether an in-place kernel reuses the out-of-place formula.
        line: the pair of key and formula that it comes from.
    """

    formula: str
    var_names: tuple[str, ...]
    var_types: tuple[Type, ...]
    required_inputs_fw_grad: tuple[str, ...] | None
    required_inputs_primal: tuple[str, ...] | None
    required_original_self_value: bool = False
    is_reusing_outplace_formula: bool = False
    line: KeyedFormula | None = None

    def identity(self) -> tuple[Any, ...]:
        """The fields that are compared."""
        return (
            self.formula,
            self.var_names,
            self.var_types,
            self.required_inputs_fw_grad,
            self.required_inputs_primal,
            self.required_original_self_value,
            self.is_reusing_outplace_formula,
        )


class InfoSource(Struct, frozen=True):
    """Where an info comes from: ``entry`` (with its index), ``view_copy`` or ``foreach``."""

    kind: str
    index: int | None = None


class DifferentiabilityInfo(Struct):
    """All that derivatives.yaml says of one function under one dispatch key.

    Attributes:
        name: the operator's name without its overload.
        key: the dispatch key.
        func: the function whose autograd code this describes (the canonical one of the entry's signature).
        op: the name of the generated autograd node, or None where nothing is differentiable.
        derivatives: the backward formulas, keys in alphabetical order as torchgen reads them.
        forward_derivatives: the forward formulas, in the same order.
        all_saved_inputs: the saved inputs of all derivatives, each once.
        all_saved_outputs: the saved outputs of all derivatives, each once.
        available_named_gradients: the ``grad_<return>`` that formulas may use.
        used_named_gradients: those they do use.
        args_with_derivatives: the arguments with a backward formula, in schema order.
        non_differentiable_arg_names: the arguments declared ``non_differentiable``.
        output_differentiability: one truth value for each return, or None.
        output_differentiability_conditions: the C++ condition under which the output is differentiable, or None.
        source: where it comes from.
    """

    name: str
    key: str
    func: NativeFunction
    op: str | None
    derivatives: tuple[Derivative, ...]
    forward_derivatives: tuple[ForwardDerivative, ...]
    all_saved_inputs: tuple[SavedAttribute, ...]
    all_saved_outputs: tuple[SavedAttribute, ...]
    available_named_gradients: tuple[str, ...]
    used_named_gradients: frozenset[str]
    args_with_derivatives: tuple[Binding, ...]
    non_differentiable_arg_names: tuple[str, ...]
    output_differentiability: tuple[bool, ...] | None
    output_differentiability_conditions: tuple[str, ...] | None
    source: InfoSource

    @property
    def has_derivatives(self) -> bool:
        """Whether any argument has a backward formula."""
        return bool(self.args_with_derivatives)


def without_repetition(attributes: list[SavedAttribute]) -> tuple[SavedAttribute, ...]:
    """Saved attributes, the first of each name."""
    by_name: dict[str, SavedAttribute] = {}
    for attribute in attributes:
        by_name.setdefault(attribute.name, attribute)
    return tuple(by_name.values())
