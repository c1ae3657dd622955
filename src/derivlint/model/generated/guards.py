"""Calls of ``wrap_opt_if``, which make saving a tensor conditional in a formula for several arguments.

Follows gen_variable_type.py, ``guard_for``, which extracts the condition from the formula's text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.cpp.cpp_type import TENSOR
from derivlint.formula import Call, Name
from derivlint.model.differentiable import is_tensor_list
from derivlint.model.words import mentions
from derivlint.operators.special import WRAP_OPT_IF

if TYPE_CHECKING:
    from derivlint.model.entry import DerivativeFormula, DifferentiabilityInfo


class WrapOptIf(Struct, frozen=True):
    """One call of ``wrap_opt_if``.

    Attributes:
        call: the call.
        variable: the first argument if it is a variable.
        is_hidden: whether torchgen finds the variable but not the comma that it expects right after it.
        comma: the offset of the comma after a hidden variable, if only blanks come before it.
    """

    call: Call
    variable: str | None
    is_hidden: bool
    comma: int | None = None


def wrap_opt_if_calls(written: DerivativeFormula, info: DifferentiabilityInfo) -> list[WrapOptIf]:
    """The calls of ``wrap_opt_if`` in a backward formula, from left to right."""
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
    """Whether torchgen looks for a condition under which the variable is saved."""
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
