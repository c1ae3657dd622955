"""Signatures of functions for evaluation, and the variables of formulas: gradients and tangents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from derivlint.analysis.scalar_evaluation.values import DualList, NotFiniteError, UnknownValueError, Value, is_finite
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp import return_names
from derivlint.model import Differentiability
from derivlint.model.generated.evaluation import INDEX
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRAD, GRAD_INPUT_MASK, GRADS, NAMED_PREFIX, gradients_of
from derivlint.model.keys import RESULT
from derivlint.operators.reference.evaluators import Evaluator
from derivlint.source.lazy import memoized

#: The name of the output of an in-place function in formulas. The name of an in-place function's input before it is
#: overwritten, in forward formulas.
ORIGINAL_SELF = "original_self"

Values = Mapping[str, Value]


class EvaluationSignature(Struct, frozen=True):
    """The inputs and outputs of a function.

    Attributes:
        inputs: the single tensors with a backward formula.
        outputs: the outputs by their names in formulas.
        differentiable: the outputs with a gradient, in the order of ``grads``.
        is_inplace: whether the function overwrites its first argument.
        mask_size: the length of ``grad_input_mask``.
        lists: the list arguments and outputs of a foreach function; the lists have one element.
        joined: the list inputs of other functions; the lists have one element and carry its tangent.
        symmetric: the inputs that are symmetric matrices and remain so.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    differentiable: tuple[str, ...]
    is_inplace: bool
    mask_size: int
    lists: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    symmetric: frozenset[str] = frozenset()

    def gradients(self, formula: TypedFormula) -> frozenset[str]:
        """The outputs whose gradients a backward formula uses."""
        names = formula.variables
        used = {output for output in self.differentiable if NAMED_PREFIX + output in names}
        if GRAD in names:
            used |= set(self.differentiable[:1])
        if GRADS in names:
            gradients = gradients_of(formula.written.body)
            indices = [item.index for written, item in gradients.indexed if written is formula.written]
            is_whole = len(indices) < sum(written is formula.written for written, _ in gradients.grads)
            used |= {name for at, name in enumerate(self.differentiable) if is_whole or at in indices}
        return frozenset(used)

    def used(self, formulas: Iterable[TypedFormula]) -> frozenset[str]:
        """The outputs whose gradients the backward formulas use, by default that of ``grad``."""
        used = [self.gradients(formula) for formula in formulas if formula.is_backward]
        return frozenset().union(*used) or frozenset(self.differentiable[:1])

    def backward(self, arguments: Values, outputs: Values, gradients: Values) -> dict[str, Value]:
        """The variables of a backward formula, given gradients of the outputs."""
        variables = {NAMED_PREFIX + name: value for name, value in gradients.items()}
        grads = tuple([gradients.get(name, 0.0) for name in self.differentiable])
        variables[GRADS] = grads
        variables[GRAD] = grads[0] if grads else None
        variables[GRAD_INPUT_MASK] = (True,) * self.mask_size
        variables.update(outputs)
        variables.update(arguments)
        return self._listed(variables)

    def forward(self, arguments: Values, outputs: Values, tangents: Values) -> dict[str, Value]:
        """The variables of a forward formula, given tangents of the inputs."""
        variables = {**outputs, **arguments}
        for name in self.inputs:
            variables[name + TANGENT] = tangents.get(name)
            variables[name + PRIMAL] = arguments.get(name)
        if self.is_inplace and "self" in self.inputs:
            variables[ORIGINAL_SELF + PRIMAL] = arguments["self"]
            variables["self" + PRIMAL] = outputs[RESULT]
            variables[ORIGINAL_SELF + TANGENT] = tangents.get("self")
        variables = self._listed(variables)
        for name in self.joined:
            variables[name] = DualList.of(arguments.get(name), tangents.get(name))
        return variables

    def _listed(self, variables: dict[str, Value]) -> dict[str, Value]:
        if self.lists:
            variables[INDEX] = 0
        for name in (*self.lists, *self.joined):
            variables[name] = (variables.get(name),)
        return variables


@memoized
def signature_of(differentiability: Differentiability) -> EvaluationSignature:
    """The signature of a function."""
    info = differentiability.info
    function = differentiability.function
    # a number represents a tensor, or the only one of a list
    inputs = tuple(
        binding.name
        for binding in info.args_with_derivatives
        if binding.argument is not None and binding.argument.type.is_tensor_like and binding.name != GRAD
    )
    outputs = (RESULT,) if differentiability.is_inplace else return_names(function)
    differentiable = tuple(value.name for value in differentiability.outputs or ())
    if differentiability.is_inplace:
        differentiable = (RESULT,)
    lists: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    listed = [item.name for item in function.schema.arguments.flat_non_out if item.type.is_list_like is not None]
    if function.name.is_foreach:
        lists = (*listed, *outputs)
    else:
        joined = tuple(name for name in listed if name in inputs)
    mask_size = len(info.args_with_derivatives)
    return EvaluationSignature(inputs, outputs, differentiable, differentiability.is_inplace, mask_size, lists, joined)


def components(evaluator: Evaluator, environment: Values, count: int) -> tuple[Value, ...]:
    """The gradients or tangents in the value of a formula; None for undefined ones.

    Raises:
        NotFiniteError: a value is infinite or NaN.
        UnknownValueError: the value is unknown.
    """
    values = evaluator(environment)
    if values is None:
        # "std::tuple<Tensor, Tensor>()"
        return (None,) * count
    if count == 1 and not isinstance(values, tuple):
        values = (values,)
    if not isinstance(values, tuple) or len(values) < count:
        raise UnknownValueError
    for item in values[:count]:
        if item is not None and not is_finite(item):
            raise NotFiniteError if type(item) in (float, complex) else UnknownValueError
    return values[:count]
