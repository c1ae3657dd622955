"""Which outputs of operators hold integers or booleans by nature, whatever floating-point inputs hold.

Such an output cannot require a gradient: setting it up fails with an internal assertion. The tables are facts of
PyTorch's operators; a test calls the operators and compares. An in-place operator returns ``self``, whose dtype is the
caller's, and is never among them.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from derivlint.formula.vocabulary import words
from derivlint.model import DispatchBody, Model, Output
from derivlint.model.generated.gradients import body_gradients
from derivlint.operators import Book
from derivlint.schema import NativeFunction, SchemaKind

BOOLEAN, INTEGRAL = "boolean", "integral"


def _table(text: str) -> dict[str, frozenset[int]]:
    """The positions of outputs by operator, of ``operator:position,position``."""
    found = {}
    for item in text.split():
        name, _, positions = item.partition(":")
        found[name] = frozenset(map(int, positions.split(",")))
    return found


#: Outputs that are booleans, by base name of the operator and position.
BOOLEAN_OUTPUTS = _table("""
    all:0 any:0 eq:0 ge:0 gt:0 is_pinned:0 isclose:0 isfinite:0 isin:0 isinf:0 isnan:0 isneginf:0 isposinf:0 isreal:0
    le:0 logical_and:0 logical_not:0 logical_or:0 logical_xor:0 lt:0 ne:0 signbit:0
    native_dropout:1 _fused_dropout:1
    fake_quantize_per_tensor_affine_cachemask:1 _fake_quantize_per_tensor_affine_cachemask_tensor_qparams:1
    fake_quantize_per_channel_affine_cachemask:1 _fused_moving_avg_obs_fq_helper:1
""")

#: Outputs that are integers: indices, counts, pivots, error codes, seeds.
INTEGRAL_OUTPUTS = _table("""
    argmax:0 argmin:0 argsort:0 argwhere:0 bucketize:0 count_nonzero:0 hash_tensor:0 multinomial:0 nonzero:0
    nonzero_static:0 searchsorted:0
    bitwise_and:0 bitwise_left_shift:0 bitwise_not:0 bitwise_or:0 bitwise_right_shift:0 bitwise_xor:0 gcd:0 lcm:0
    tril_indices:0 triu_indices:0
    indices:0 _indices:0 crow_indices:0 col_indices:0 ccol_indices:0 row_indices:0
    int_repr:0 q_per_channel_zero_points:0
    cummax:1 cummin:1 kthvalue:1 max:1 median:1 min:1 mode:1 nanmedian:1 sort:1 topk:1 frexp:1
    adaptive_max_pool2d:1 adaptive_max_pool3d:1 fractional_max_pool2d:1 fractional_max_pool3d:1
    max_pool2d_with_indices:1 max_pool3d_with_indices:1 _sparse_mm_reduce_impl:1
    _unique:1 _unique2:1,2 unique_consecutive:1,2 unique_dim:1,2 unique_dim_consecutive:1,2
    _embedding_bag:1,2,3 _embedding_bag_forward_only:1,2,3
    _linalg_det:2 _linalg_slogdet:3 _linalg_solve_ex:2,3 linalg_cholesky_ex:1 linalg_inv_ex:1
    linalg_ldl_factor_ex:1,2 linalg_lstsq:2 linalg_lu_factor_ex:1,2 _lu_with_info:1,2
    _batch_norm_with_update:3 _cudnn_rnn:3 cudnn_batch_norm:3
""")

#: Outputs that are the same around almost every input: permutations as matrices.
PIECEWISE_CONSTANT_OUTPUTS = _table("linalg_lu:0")

#: The names of returns that are integers in every operator that has them.
INTEGRAL_NAMES = words("""
    indices rank info pivots rng_state philox_seed philox_offset cum_seq_q cum_seq_k
""")

#: The names of outputs that are constant around almost every input in operators of one's own, too.
CONSTANT_NAMES = INTEGRAL_NAMES | words("index mask")

COPY = "_copy"


class DiscreteOutput(Struct, frozen=True):
    """An output that holds integers or booleans.

    Attributes:
        output: the output.
        kind: ``boolean`` or ``integral``.
        is_first: whether it is the first differentiable one, whose gradient is ``grad``.
    """

    output: Output
    kind: str
    is_first: bool


def discrete_kind(function: NativeFunction, index: int) -> str | None:
    """Whether an output is ``boolean`` or ``integral`` by nature; None where it is neither, or nothing is known."""
    if function.schema.kind is SchemaKind.inplace or function.namespace != "aten":
        return None
    base = function.name.base.removesuffix(COPY)
    if index in BOOLEAN_OUTPUTS.get(base, ()):
        return BOOLEAN
    if index in INTEGRAL_OUTPUTS.get(base, ()):
        return INTEGRAL
    returns = function.schema.returns
    return INTEGRAL if index < len(returns) and returns[index].name in INTEGRAL_NAMES else None


def is_piecewise_constant(function: NativeFunction, index: int) -> bool:
    """Whether an output is the same around almost every input, although it holds floating-point numbers.

    Of operators of other namespaces than PyTorch's that is only known by the names of outputs.
    """
    if function.namespace != "aten":
        returns = function.schema.returns
        return index < len(returns) and returns[index].name in CONSTANT_NAMES
    return index in PIECEWISE_CONSTANT_OUTPUTS.get(function.name.base, ())


def differentiable_discrete_outputs(model: Model, body: DispatchBody) -> Iterator[DiscreteOutput]:
    """The outputs that the generated kernel makes differentiable although they hold integers or booleans."""
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
    """Whether the formulas know of no gradient but ``grad``, that of the first differentiable output."""
    uses = body_gradients(body)
    return any(each.grad for each in uses) and not any(each.grads or each.named for each in uses)


#: Operators that compute in the dtype of their argument ``dtype``, integral ones included.
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
