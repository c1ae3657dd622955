"""Uses of output gradients in the backward formulas of an entry.

The gradient of an output is ``grad`` (of the first output, when it is the only differentiable one), ``grads[i]`` or
``grad_<return>``; a formula may use one of these three forms, see the top of derivatives.yaml. torchgen counts textual
matches (load_derivatives.py, ``check_grad_usage``); this module computes those and the uses as C++ variables.

Calls of ``wrap_opt_if`` state the condition under which a tensor is saved, for formulas for several arguments. Follows
gen_variable_type.py, ``guard_for``, which extracts the condition from the formula's text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.cpp.cpp_type import TENSOR
from derivlint.formula import Call, Formula, Index, Name, Node, Number, Word, parse_formula, whole_number
from derivlint.model.differentiable import is_tensor_list
from derivlint.model.words import mentions, occurrences, replaced_occurrences, variable_uses
from derivlint.operators.special import WRAP_OPT_IF
from derivlint.source.lazy import memoized

if TYPE_CHECKING:
    from derivlint.model.entry import Derivative, DerivativeFormula, DifferentiabilityInfo, DispatchBody


GRAD = "grad"
GRADS = "grads"
NAMED_PREFIX = "grad_"
GRAD_INPUT_MASK = "grad_input_mask"


#: torchgen's rules against: grad with grads, only grads[0], a named gradient with another form.
MIXED, ONLY_FIRST, MIXED_NAMED = "mixed", "only-first", "mixed-named"


def incoming_gradients(info: DifferentiabilityInfo) -> dict[str, int]:
    """The positions of incoming gradients, by variable of the node."""
    if any(derivative.uses_grad for derivative in info.derivatives):
        return {GRAD: 0}
    return {name: info.available_named_gradients.index(name) for name in sorted(info.used_named_gradients)}


class IndexedGradient(Struct, frozen=True):
    """An expression ``grads[i]`` with a literal index.

    Attributes:
        node: the whole expression.
        index: the index.
    """

    node: Index
    index: int


class GradientUses(Struct, frozen=True):
    """The gradient variables that a backward formula uses.

    Attributes:
        written: the formula.
        grad: uses of ``grad``.
        grads: uses of ``grads``, indexed or not.
        indexed: the indexed ones with a literal index.
        named: uses of an available ``grad_<return>``.
    """

    written: DerivativeFormula
    grad: tuple[Word, ...]
    grads: tuple[Word, ...]
    indexed: tuple[IndexedGradient, ...]
    named: tuple[Word, ...]


def gradient_uses(written: DerivativeFormula, available: tuple[str, ...]) -> GradientUses:
    """The gradients that a backward formula uses."""
    formula = written.parsed
    indexed = []
    if formula.tree is not None and mentions(formula, GRADS):
        for node in formula.nodes:
            if not isinstance(node, Index) or len(node.args) != 1:
                continue
            base, position = node.object, node.args[0]
            if isinstance(base, Name) and base.simple == GRADS and isinstance(position, Number):
                digits = formula.text[position.start : position.end]
                value = whole_number(digits)
                if value is not None:
                    indexed.append(IndexedGradient(node, value))
    return GradientUses(
        written,
        variable_uses(formula, GRAD),
        variable_uses(formula, GRADS),
        tuple(indexed),
        tuple(word for name in available for word in variable_uses(formula, name)),
    )


def body_gradients(body: DispatchBody) -> list[GradientUses]:
    """The gradient uses of every backward formula of one dispatch key."""
    info = body.info
    if info is None:
        return []
    return [
        gradient_uses(derivative.written, info.available_named_gradients)
        for derivative in info.derivatives
        if derivative.written is not None
    ]


class CountedGradients(Struct, frozen=True):
    """The textual matches that torchgen counts in all formulas of a dispatch key.

    Attributes:
        uses_grad: whether it finds ``grad``.
        grads: the number of ``grads`` that it finds.
        indices: the literal indices that it finds.
        uses_named: whether it finds a named gradient.
    """

    uses_grad: bool
    grads: int
    indices: tuple[int, ...]
    uses_named: bool

    @property
    def refusal(self) -> str | None:
        """The first of torchgen's three rules that the counts violate, or None."""
        if self.uses_grad and self.grads > 0:
            return MIXED
        if self.grads == len(self.indices) and set(self.indices) == {0}:
            return ONLY_FIRST
        if self.uses_named and (self.uses_grad or self.grads > 0):
            return MIXED_NAMED
        return None


def counted_gradients(derivatives: tuple[Derivative, ...]) -> CountedGradients:
    """Count gradients as torchgen does; follows ``check_grad_usage`` and ``used_gradient_indices``."""
    uses_grad = False
    grads = 0
    indices: list[int] = []
    uses_named = False
    for derivative in derivatives:
        formula = parse_formula(derivative.formula)
        uses_grad = uses_grad or mentions(formula, GRAD)
        grads += len(replaced_occurrences(formula, GRADS))
        indices.extend(adjacent_indices(formula))
        uses_named = uses_named or bool(derivative.named_gradients)
    return CountedGradients(uses_grad, grads, tuple(indices), uses_named)


def adjacent_indices(formula: Formula) -> list[int]:
    """The indices in ``grads[<digits>]`` without blanks, including a member named ``grads``."""
    indices = []
    if formula.tree is not None and mentions(formula, GRADS):
        ends = {word.end for word in occurrences(formula, GRADS)}
        for node in formula.nodes:
            if isinstance(node, Index) and len(node.args) == 1 and isinstance(node.args[0], Number):
                digits = formula.text[node.args[0].start : node.args[0].end]
                value = whole_number(digits)
                if value is not None and node.object.end in ends and node.end == node.object.end + len(digits) + 2:
                    indices.append(value)
    return indices


class BodyGradients(Struct, frozen=True):
    """The gradient uses in all backward formulas of a dispatch key, in file order.

    Attributes:
        uses: what each formula uses.
        grad: each use of ``grad`` with its formula.
        grads: each use of ``grads`` with its formula.
        indexed: each ``grads[i]`` with a literal index with its formula.
        named: each use of an available ``grad_<return>`` with its formula.
    """

    uses: tuple[GradientUses, ...]
    grad: tuple[tuple[DerivativeFormula, Word], ...]
    grads: tuple[tuple[DerivativeFormula, Word], ...]
    indexed: tuple[tuple[DerivativeFormula, IndexedGradient], ...]
    named: tuple[tuple[DerivativeFormula, Word], ...]

    @property
    def conflict(self) -> str | None:
        """The first of torchgen's three rules that the uses violate as C++, or None."""
        if self.grad and self.grads:
            return MIXED
        if self.grads and len(self.grads) == len(self.indexed) and all(item.index == 0 for _, item in self.indexed):
            return ONLY_FIRST
        return MIXED_NAMED if self.named and (self.grad or self.grads) else None


@memoized
def gradients_of(body: DispatchBody) -> BodyGradients:
    """The gradient uses in all backward formulas of a dispatch key."""
    uses = tuple(sorted(filter(_can_have_gradient, body_gradients(body)), key=lambda item: item.written.index))
    return BodyGradients(
        uses,
        tuple((item.written, word) for item in uses for word in item.grad),
        tuple((item.written, word) for item in uses for word in item.grads),
        tuple((item.written, node) for item in uses for node in item.indexed),
        tuple((item.written, word) for item in uses for word in sorted(item.named, key=lambda word: word.start)),
    )


def _can_have_gradient(uses: GradientUses) -> bool:
    """Whether the key names a differentiable or unknown argument; ``dim: grad`` is for another rule."""
    resolved = [resolved.argument for _, resolved in uses.written.resolved_names]
    return any(argument is None or argument.is_tensor_like for argument in resolved)


def misread_gradients(body: DispatchBody) -> tuple[str, DerivativeFormula, Word] | None:
    """A rule that torchgen mistakenly considers violated, with the misread word.

    torchgen's patterns match ``grad`` in string literals and after a dot, and only one ``grads`` in
    ``f(grads,grads[0])``.
    """
    info = body.info
    if info is None:
        return None
    formulas = [item.written for item in info.derivatives if item.written is not None]
    if not info.used_named_gradients and not any(mentions(formula.parsed, GRADS) for formula in formulas):
        # "grad" alone violates no rule
        return None
    refusal = counted_gradients(info.derivatives).refusal
    if refusal is None or gradients_of(body).conflict is not None:
        return None
    if not all(map(_can_have_gradient, body_gradients(body))):
        return None
    formulas.sort(key=lambda formula: formula.index)
    names = [GRADS] if refusal == ONLY_FIRST else [GRAD, GRADS, *info.available_named_gradients]
    seen = [(formula, word) for formula in formulas for name in names for word in occurrences(formula.parsed, name)]
    if not seen:
        return None
    misread = [(formula, word) for formula, word in seen if word not in variable_uses(formula.parsed, word.text)]
    formula, word = (misread or seen)[0]
    return refusal, formula, word


def mask_index(node: Node) -> int | None:
    """The literal index of ``grad_input_mask[i]``."""
    if not isinstance(node, Index) or len(node.args) != 1 or not isinstance(node.args[0], Number):
        return None
    is_mask = isinstance(node.object, Name) and node.object.simple == GRAD_INPUT_MASK
    return whole_number(node.args[0].text) if is_mask else None


def out_of_range_masks(written: DerivativeFormula) -> list[tuple[Index, int]]:
    """The uses of ``grad_input_mask[i]`` whose literal index exceeds the arguments in the key."""
    formula = written.parsed
    masks: list[tuple[Index, int]] = []
    if formula.tree is None or not mentions(formula, GRAD_INPUT_MASK):
        return masks
    for node in formula.nodes:
        position = mask_index(node)
        if isinstance(node, Index) and position is not None and position >= len(written.names):
            masks.append((node, position))
    return masks


def named_gradient_of(body: DispatchBody, index: int) -> str | None:
    """The ``grad_<return>`` that is an alias of ``grads[index]``."""
    info = body.info
    if info is None:
        return None
    returns = info.func.schema.returns
    flags = info.output_differentiability or tuple(item.type.may_be_tensor_like for item in returns)
    outputs = [item for item, differentiable in zip(returns, flags, strict=False) if differentiable]
    name = outputs[index].name if 0 <= index < len(outputs) else None
    gradient = f"{NAMED_PREFIX}{name}"
    return gradient if name is not None and gradient in info.available_named_gradients else None


class WrapOptIf(Struct, frozen=True):
    """A call of ``wrap_opt_if``.

    Attributes:
        call: the call.
        variable: the first argument if it is a variable.
        is_hidden: whether torchgen finds the variable, but not the comma that it expects directly after it.
        comma: the offset of the comma after a hidden variable, if only blanks are between.
    """

    call: Call
    variable: str | None
    is_hidden: bool
    comma: int | None = None


def wrap_opt_if_calls(written: DerivativeFormula, info: DifferentiabilityInfo) -> list[WrapOptIf]:
    """The calls of ``wrap_opt_if`` in a backward formula, in source order."""
    formula = written.parsed
    if formula.tree is None or not mentions(formula, WRAP_OPT_IF):
        return []
    calls: list[WrapOptIf] = []
    seen: set[str] = set()
    for node in formula.nodes:
        if isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.simple == WRAP_OPT_IF:
            first = node.args[0] if node.args else None
            variable = first.simple if isinstance(first, Name) else None
            is_hidden = False
            if first is not None and variable is not None and variable not in seen:
                start = formula.text[node.callee.end : first.end + 1]
                is_found = start[: 1 + len(variable)] == f"({variable}"
                is_hidden = is_found and start[-1] != "," and _is_guarded(variable, written, info)
                # torchgen only matches the first occurrence
                seen.update([variable] if is_found else [])
            comma = None
            if is_hidden and first is not None:
                behind = formula.text[first.end : node.end]
                if behind.lstrip().startswith(","):
                    comma = first.end + len(behind) - len(behind.lstrip())
            calls.append(WrapOptIf(node, variable, is_hidden, comma))
    return calls


def _is_guarded(name: str, formula: DerivativeFormula, info: DifferentiabilityInfo) -> bool:
    """Whether torchgen looks for a saving condition of the variable."""
    args = info.args_with_derivatives
    if len(args) < 2 or len(formula.names) == 1 or "backward" in info.name:
        return False
    if any(binding.argument is not None and is_tensor_list(binding.argument.type) for binding in args):
        return False
    savers = [
        derivative
        for derivative in info.derivatives
        if any(saved.name == name and saved.type.canonical is TENSOR for saved in derivative.saved_inputs)
    ]
    return len(savers) == 1 and savers[0].written is formula
