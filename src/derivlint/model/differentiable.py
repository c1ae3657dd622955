"""The differentiable inputs and outputs of a function's generated kernel.

Follows torchgen/packaged/autograd/gen_variable_type.py (``emit_body``), torchgen/api/autograd.py
(``gen_differentiable_outputs``, ``dispatch_strategy``) and gen_inplace_or_view_type.py. Where the generator raises,
this module states the fact and a rule reports it.
"""

from __future__ import annotations

from msgspec import Struct

from derivlint.cpp import return_names
from derivlint.model.entry import DifferentiabilityInfo, ForwardDerivative
from derivlint.model.match import FunctionMatch, How
from derivlint.schema import Argument, ListType, SchemaKind, Type
from derivlint.source.lazy import cached_property

#: The name of a backward operator's argument that has no derivative but may require grad: the returned tensor.
OUTPUT_ARGUMENT = "output"
#: Schema types that view functions can capture by value (gen_inplace_or_view_type.py).
VIEW_ARGUMENT_TYPES = frozenset({"int", "int?", "SymInt", "SymInt?", "bool", "int[]", "SymInt[]", "Tensor", "Tensor?"})


class DifferentiableValue(Struct, frozen=True):
    """A differentiable argument or return: its name in the kernel and its schema type."""

    name: str
    type: Type


def has_generated_kernel(match: FunctionMatch) -> bool:
    """Whether the generator writes an autograd kernel for the function; follows ``use_derived``."""
    if match.book.has_manual_kernel(match.function):
        return False
    return match.function.is_abstract or any(info.has_derivatives for info in match.infos.values())


def is_list(kind: Type) -> bool:
    """Whether a type is a list, possibly an optional one."""
    return isinstance(kind, ListType) or isinstance(getattr(kind, "elem", None), ListType)


def is_tensor_list(kind: Type) -> bool:
    """Whether a type is a list of tensors."""
    return kind.is_tensor_like and is_list(kind)


def fits_view_function(kind: Type) -> bool:
    """Whether a view function can capture an argument of this type; list sizes do not matter."""
    return (f"{kind.elem}[]" if isinstance(kind, ListType) else str(kind)) in VIEW_ARGUMENT_TYPES


class Differentiability:
    """The differentiability of one function under one dispatch key.

    Attributes:
        match: the function and the infos that apply.
        key: the dispatch key.
        info: its info under that key.
        forwards: the forward formulas.
        inputs: the differentiable arguments, under the names that formulas use.
        returns: all returns under their kernel names.
        outputs: the differentiable returns; None if ``output_differentiability`` has another length.
    """

    def __init__(self, match: FunctionMatch, key: str) -> None:
        self.match = match
        self.key = key
        self.function = match.function
        self.info: DifferentiabilityInfo = match.infos[key]
        self.forwards: tuple[ForwardDerivative, ...] = (match.forwards or {}).get(key, ())
        schema = self.function.schema
        self.is_inplace = schema.kind is SchemaKind.inplace
        self.is_out = schema.kind is SchemaKind.out
        self.is_foreach = self.function.name.is_foreach
        self.is_inplace_foreach = self.is_foreach and self.is_inplace
        self.inputs = self._inputs()
        self.returns = tuple(
            [
                DifferentiableValue(name, item.type)
                for name, item in zip(return_names(self.function), schema.returns, strict=True)
            ]
        )
        self.outputs = self._outputs()

    def _inputs(self) -> tuple[DifferentiableValue, ...]:
        arguments = [argument for argument in self.function.schema.arguments.non_out if isinstance(argument, Argument)]
        if self.is_inplace_foreach:
            # the kernel calls the reference's node for each element, so names and types are the reference's
            reference = self.info.func.schema.arguments.flat_non_out
            arguments = [*reference[: len(arguments)], *arguments[len(reference) :]]
        excluded = self.info.non_differentiable_arg_names
        # only a formula reveals that an unknown type holds tensors
        named = {name for derivative in self.info.derivatives for name in derivative.var_names}
        return tuple(
            [
                DifferentiableValue(argument.name, argument.type)
                for argument in arguments
                if argument.name not in excluded
                and (argument.type.is_tensor_like or (argument.name in named and argument.type.may_be_tensor_like))
            ]
        )

    @cached_property
    def inputs_with_derivatives(self) -> tuple[DifferentiableValue, ...]:
        """The inputs that are edges of the node, in order: those with a formula, or all if none has one."""
        if not self.info.has_derivatives:
            return self.inputs
        names = {name for derivative in self.info.derivatives for name in derivative.var_names}
        return tuple(value for value in self.inputs if value.name in names)

    @property
    def refused_inputs(self) -> tuple[DifferentiableValue, ...]:
        """The inputs without a formula if others have one; the kernel raises if they require grad."""
        return tuple(
            value
            for value in self.inputs
            if value not in self.inputs_with_derivatives and value.name != OUTPUT_ARGUMENT
        )

    @cached_property
    def undifferentiable_names(self) -> tuple[str, ...]:
        """The names in backward keys that are not differentiable arguments."""
        names = [name for derivative in self.info.derivatives for name in derivative.var_names]
        inputs = {value.name for value in self.inputs}
        return tuple(name for name in dict.fromkeys(names) if name not in inputs)

    def _outputs(self) -> tuple[DifferentiableValue, ...] | None:
        declared = self.info.output_differentiability
        if declared is not None:
            if len(declared) != len(self.returns):
                return None
            return tuple(value for value, flag in zip(self.returns, declared, strict=True) if flag)
        excluded = self.info.non_differentiable_arg_names
        possible = [value for value in self.returns if value.type.may_be_tensor_like and value.name not in excluded]
        outputs = tuple([value for value in possible if value.type.is_tensor_like])
        if not outputs and self.info.has_derivatives:
            # a formula reveals that an unknown type holds tensors
            outputs = tuple([value for value in possible if value.type == possible[0].type])
        return outputs[:1] if self.uses_single_grad else outputs

    @cached_property
    def output_indices(self) -> tuple[int, ...] | None:
        """The positions of the differentiable returns, or None if they are unknown."""
        if self.outputs is None:
            return None
        # by identity: all returns of an in-place function are named "self"
        return tuple(
            index for index, value in enumerate(self.returns) if any(value is output for output in self.outputs)
        )

    @cached_property
    def is_generated(self) -> bool:
        """Whether the generator writes an autograd kernel for the function."""
        return has_generated_kernel(self.match)

    @property
    def is_ignored(self) -> bool:
        """Whether formulas exist that the kernel would not use, which the generator refuses."""
        unused = self.info.has_derivatives and not self.requires_derivative
        return unused and self.is_generated and not self.is_void and self.outputs is not None

    @cached_property
    def uses_single_grad(self) -> bool:
        """Whether torchgen finds ``grad`` in a formula, so that only the first output is differentiable."""
        return any(derivative.uses_grad for derivative in self.info.derivatives)

    @property
    def is_declared_undifferentiable(self) -> bool:
        """Whether PyTorch lists the function as never requiring a derivative."""
        return self.match.book.is_declared_undifferentiable(self.function)

    @cached_property
    def requires_derivative(self) -> bool:
        """Whether the kernel sets up differentiation; also false if the outputs are unknown."""
        has_outputs = bool(self.outputs) or self.is_inplace_foreach
        return not self.is_declared_undifferentiable and bool(self.inputs) and has_outputs

    @property
    def takes_single_tensor_list(self) -> bool:
        """Whether the only differentiable argument is a tensor list, whose tangents the forward formula unpacks."""
        return len(self.inputs) == 1 and is_tensor_list(self.inputs[0].type)

    @property
    def is_own_inplace_foreach_entry(self) -> bool:
        """Whether the entry is for an in-place foreach function, which the generator does not support."""
        return self.is_inplace_foreach and self.match.how is How.EXACT

    @property
    def is_void(self) -> bool:
        """Whether the function returns nothing."""
        return not self.returns
