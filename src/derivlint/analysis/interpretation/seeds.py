"""The variables that a formula is to be linear in: output gradients, or tangents."""

from __future__ import annotations

from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.types import TENSOR
from derivlint.formula import Expr, Index, Name, Number, unparenthesized
from derivlint.model.generated.forward import TANGENT, packed_lists
from derivlint.model.generated.gradients import GRAD, GRADS
from derivlint.source.lazy import memoized

#: What the kernel keeps of a tangent beside the tangent itself.
RAW = "_raw"


@memoized
def seed_names(formula: TypedFormula) -> frozenset[str]:
    """The names of all gradients, or of all tangents, that are declared where a formula is evaluated."""
    variables = formula.evaluation.variables
    if formula.is_backward:
        info = formula.written.body.info
        named = info.available_named_gradients if info is not None else ()
        return frozenset({GRAD, GRADS, *named}) & (variables.keys() | {GRAD, GRADS})
    function = formula.written.entry.function
    if function is None:
        return frozenset()
    # a name ending like a tangent is none where an argument or an output is called like that
    taken = {*(binding.name for binding in function.arguments), *(output.name for output in function.outputs)}
    return frozenset(
        name
        for name, type in variables.items()
        if type is TENSOR and name.removesuffix(RAW).endswith(TANGENT) and name not in taken
    )


def dual_lists(formula: TypedFormula) -> frozenset[str]:
    """The lists of tensors in a forward formula whose tangents the called functions unpack themselves."""
    info = formula.written.body.info
    return frozenset() if formula.is_backward or info is None else frozenset(packed_lists(info))


def seed_of(node: Expr, names: frozenset[str]) -> str | None:
    """The seed that an expression is: ``grad``, ``(grads[1])``, ``self_t``; None where it is none."""
    node = unparenthesized(node)
    if isinstance(node, Name) and node.simple in names:
        return node.simple
    if isinstance(node, Index) and isinstance(node.object, Name) and node.object.simple == GRADS and GRADS in names:
        index = node.args[0] if len(node.args) == 1 else None
        if isinstance(index, (Number, Name)):
            return f"{GRADS}[{index.spelling}]"
    return None
