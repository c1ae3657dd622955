"""Integral and boolean outputs of operators with floating-point inputs.

Such an output cannot require grad: setting its history fails with an internal assertion. The operator book lists them,
without in-place operators: the dtype of ``self`` is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from derivlint.analysis.dependence.arguments import is_discrete
from derivlint.formula.vocabulary import words
from derivlint.model import DispatchBody, Model, Output
from derivlint.model.generated.gradients import body_gradients
from derivlint.operators import Book
from derivlint.schema import NativeFunction, SchemaKind

BOOLEAN, INTEGRAL = "boolean", "integral"

#: The names of returns that are always integral.
INTEGRAL_NAMES = words("""
    indices rank info pivots rng_state philox_seed philox_offset cum_seq_q cum_seq_k
""")

#: The names of outputs of custom operators that do not depend on the inputs; neither do discrete outputs.
CONSTANT_NAMES = words("rank noise")

COPY = "_copy"


class DiscreteOutput(Struct, frozen=True):
    """An integral or boolean output.

    Attributes:
        output: the output.
        kind: ``boolean`` or ``integral``.
        is_first: whether it is the first differentiable one, whose gradient is ``grad``.
    """

    output: Output
    kind: str
    is_first: bool


def discrete_kind(function: NativeFunction, index: int) -> str | None:
    """Whether an output is always ``boolean`` or ``integral``; None if neither or unknown."""
    if function.schema.kind is SchemaKind.inplace or function.namespace != "aten":
        return None
    output = f"{function.name.base.removesuffix(COPY)}({index})"
    if output in Book.by_hand("boolean-output"):
        return BOOLEAN
    if output in Book.by_hand("integral-output"):
        return INTEGRAL
    returns = function.schema.returns
    return INTEGRAL if index < len(returns) and returns[index].name in INTEGRAL_NAMES else None


def is_piecewise_constant(function: NativeFunction, index: int) -> bool:
    """Whether a floating-point output is piecewise constant.

    For custom operators, judged by the name of the output.
    """
    if function.namespace != "aten":
        returns = function.schema.returns
        name = returns[index].name if index < len(returns) else None
        return name is not None and (is_discrete(name) or name in CONSTANT_NAMES)
    return f"{function.name.base}({index})" in Book.by_hand("constant-output")


def differentiable_discrete_outputs(model: Model, body: DispatchBody) -> Iterator[DiscreteOutput]:
    """The integral and boolean outputs that the generated kernel makes differentiable."""
    function, info = body.entry.function, body.info
    if function is None or info is None or info.output_differentiability_conditions or not body.is_resolved:
        return
    differentiability = model.canonical_differentiability(body)
    if differentiability is None or not differentiability.is_generated or not differentiability.requires_derivative:
        return
    for position, index in enumerate(differentiability.output_indices or ()):
        kind = discrete_kind(function.canonical, index)
        if kind is not None and function.outputs[index].type.is_tensor_like:
            yield DiscreteOutput(function.outputs[index], kind, position == 0)


def takes_first_gradient_only(body: DispatchBody) -> bool:
    """Whether the only gradient in the formulas is ``grad``, that of the first differentiable output."""
    uses = body_gradients(body)
    return any(use.grad for use in uses) and not any(use.grads or use.named for use in uses)


#: Operators that compute in the dtype of their argument ``dtype``, possibly an integral one.
COMPUTE_IN_DTYPE = Book.by_hand("computes-in-dtype")
DTYPE = "dtype"


def has_unconditional_dtype(model: Model, body: DispatchBody) -> bool:
    """Whether the kernel makes an output differentiable whose dtype an argument may make integral."""
    function, info = body.entry.function, body.info
    if function is None or info is None or info.output_differentiability_conditions or not body.is_resolved:
        return False
    canonical = function.canonical
    if canonical.name.base not in COMPUTE_IN_DTYPE or canonical.schema.kind is not SchemaKind.functional:
        return False
    differentiability = model.canonical_differentiability(body)
    return (
        function.argument(DTYPE) is not None
        and differentiability is not None
        and differentiability.is_generated
        and differentiability.requires_derivative
    )
