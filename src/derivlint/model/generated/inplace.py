"""Forward formulas of in-place functions, derived from those of the out-of-place function.

Follows the in-place part of torchgen/api/autograd.py, ``match_differentiability_info``: in an in-place kernel the
result is ``self`` itself, its original value is a clone, and the tangent of ``self`` is modified in place.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from derivlint.formula import Call, Formula, Member, Name, parse_formula
from derivlint.model.entry import DifferentiabilityInfo, ForwardDerivative
from derivlint.model.keys import RESULT
from derivlint.model.match_problem import MatchProblemKind
from derivlint.model.words import mentions, substitute

SELF_PRIMAL = "self_p"
SELF_TANGENT = "self_t"
ORIGINAL_PRIMAL = "original_self_p"
ORIGINAL_TANGENT = "original_self_t"


class InplaceProblem(Struct, frozen=True):
    """The reason why an in-place function cannot have the forward formulas of its info.

    Attributes:
        kind: the reason.
        derivative: the forward formula, if the problem concerns one.
    """

    kind: MatchProblemKind
    derivative: ForwardDerivative | None = None


def inplace_forwards(
    info: DifferentiabilityInfo, *, own_entry: bool
) -> tuple[tuple[ForwardDerivative, ...], list[InplaceProblem]]:
    """The forward formulas of an in-place function, with the problems that prevent some.

    Args:
        info: the info that applies to the function.
        own_entry: whether the entry is for the in-place function itself.
    """
    forwards = info.forward_derivatives
    if not forwards:
        return (), []
    if len(forwards) != 1:
        return (), [InplaceProblem(MatchProblemKind.SEVERAL_FORMULAS, forwards[1])]
    written = forwards[0]
    replacements = {RESULT: SELF_PRIMAL}
    if mentions(parse_formula(written.formula), SELF_PRIMAL):
        if own_entry:
            return (), [InplaceProblem(MatchProblemKind.PRIMAL_OF_SELF, written)]
        replacements |= {SELF_PRIMAL: ORIGINAL_PRIMAL, SELF_TANGENT: ORIGINAL_TANGENT}
    substituted = substitute(written.formula, replacements)
    text = substituted.text
    primals = written.required_inputs_primal
    if SELF_PRIMAL in substituted.words:
        primals = (*(primals or ()), "self")
    if not own_entry:
        text = _modify_tangent_in_place(text, info.name)
    return (
        replace(
            written,
            formula=text,
            var_names=("self",),
            required_inputs_primal=primals,
            required_original_self_value=not substituted.words.isdisjoint((ORIGINAL_PRIMAL, ORIGINAL_TANGENT)),
            is_reusing_outplace_formula=not own_entry,
        ),
    ), []


#: The code that copies a formula into the existing tangent of ``self``, and the code before it otherwise.
COPIED = f"{SELF_TANGENT}_raw.defined() ? {SELF_TANGENT}_raw.copy_("
OTHERWISE = ") : "


def copied_formula(text: str) -> str | None:
    """Extract the formula from code that copies it into the tangent of ``self``, or return None for other code."""
    length = (len(text) - len(COPIED) - len(OTHERWISE)) // 2
    formula = text[len(COPIED) : len(COPIED) + length]
    return formula if text == f"{COPIED}{formula}{OTHERWISE}{formula}" else None


def _modify_tangent_in_place(text: str, operator: str) -> str:
    """Make the formula write into the existing tangent of ``self``.

    ``self_t.mul(x)`` for the operator ``mul`` becomes ``self_t.mul_(x)``; any other formula is copied into the tangent.
    """
    # rejects most formulas without parsing
    arguments = None
    if text.startswith(SELF_TANGENT):
        arguments = _arguments_of_same_method(parse_formula(text), operator)
    if arguments is not None:
        return f"self_t_raw.defined() ? self_t_raw.{operator}_({arguments}) : {text}"
    return f"{COPIED}{text}{OTHERWISE}{text}"


def _arguments_of_same_method(formula: Formula, operator: str) -> str | None:
    """The text of the arguments if the whole formula is ``self_t.<operator>(<arguments>)``, else None."""
    call = formula.tree
    if not isinstance(call, Call) or (call.start, call.end) != (0, len(formula.text)):
        return None
    callee = call.callee
    if not isinstance(callee, Member) or callee.arrow or callee.name != operator:
        return None
    receiver = callee.object
    if not isinstance(receiver, Name) or receiver.simple != SELF_TANGENT:
        return None
    opening = f"{SELF_TANGENT}.{operator}("
    if formula.text[: len(opening)] != opening:
        return None
    return formula.text[len(opening) : call.end - 1]
