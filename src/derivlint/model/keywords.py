"""Formulas that are probably a misspelt keyword, such as ``auto_liner``."""

from __future__ import annotations

from derivlint.model.entry import DerivativeFormula, DispatchBody, Role
from derivlint.model.generated.gradients import out_of_range_masks
from derivlint.model.keys import AUTO_ELEMENT_WISE, AUTO_LINEAR, NON_DIFFERENTIABLE
from derivlint.model.resolve import NameKind
from derivlint.model.scope import NotDeclared, undeclared_names, visible_names

#: The keywords by their letters, including common shorter and longer forms.
_BY_LETTERS = {
    "autolinear": AUTO_LINEAR,
    "linear": AUTO_LINEAR,
    "autoelementwise": AUTO_ELEMENT_WISE,
    "elementwise": AUTO_ELEMENT_WISE,
    "autopointwise": AUTO_ELEMENT_WISE,
    "nondifferentiable": NON_DIFFERENTIABLE,
    "notdifferentiable": NON_DIFFERENTIABLE,
    "undifferentiable": NON_DIFFERENTIABLE,
    "nondiff": NON_DIFFERENTIABLE,
}
_BETWEEN = str.maketrans("", "", " -_;\t\n")
_LONGEST = 30
#: The minimum similarity of letters: allows two typos in "autolinear", three in "nondifferentiable".
_ALIKE = 0.8


def near_keyword(formula: DerivativeFormula) -> str | None:
    """The keyword that a formula probably means although torchgen reads C++, or None.

    Matches ``Auto_linear``, ``auto linear`` and ``elementwise``, and ``auto_linear`` itself in a backward formula, but
    no name that the formula can use.
    """
    text = formula.text
    if text is None or len(text) > _LONGEST or not formula.is_expression or formula.says_non_differentiable:
        return None
    letters = text.lower().translate(_BETWEEN)
    if not letters.isalpha() or text.strip() in visible_names(formula):
        return None
    keyword = _BY_LETTERS.get(letters)
    if keyword is None and len(letters) > 6:
        from difflib import get_close_matches

        close = get_close_matches(letters, _BY_LETTERS, n=1, cutoff=_ALIKE)
        keyword = _BY_LETTERS[close[0]] if close else None
    return keyword


def is_clear(body: DispatchBody) -> bool:
    """Whether every key and keyword of the body resolves.

    Otherwise it is unknown which arguments have backward formulas, for example with ``slef: grad``, ``dim: grad``,
    ``self, self: grad``, ``mask: nondifferentiable``, ``self: f(grad_input_mask[1])`` or keys next to ``dispatch``.
    """
    if not body.is_resolved:
        return False
    if any(near_keyword(formula) is not None or _lacks_name(formula) for formula in body.formulas):
        return False
    seen: set[str] = set()
    for formula in body.formulas:
        for name, resolved in formula.resolved_names:
            if name.text in seen:
                return False
            seen.add(name.text)
            if formula.role is Role.FORWARD:
                if resolved.kind not in (NameKind.OUTPUT, NameKind.GENERIC_OUTPUT) or resolved.output is None:
                    return False
            elif resolved.argument is None or not resolved.argument.is_tensor_like:
                return False
    return True


def _lacks_name(formula: DerivativeFormula) -> bool:
    """Whether a backward formula indexes ``grad_input_mask`` beyond the names of its key."""
    if formula.role is not Role.BACKWARD or not formula.is_expression:
        return False
    if len(formula.names) == 1:
        return any(name.reason is NotDeclared.MASK_IN_SINGLE for name in undeclared_names(formula))
    return bool(out_of_range_masks(formula))
