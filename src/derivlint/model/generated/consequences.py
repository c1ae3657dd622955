"""Which formulas have types that mean something: those under sound keys that are expressions."""

from __future__ import annotations

from derivlint.formula import SyntaxProblemKind
from derivlint.model.entry import DerivativeFormula, Role
from derivlint.model.generated.forward import base_name_uses, misread_base_name
from derivlint.model.keywords import near_keyword
from derivlint.model.resolve import NameKind
from derivlint.model.scope import undeclared_names
from derivlint.source.lazy import memoized


@memoized
def is_checkable(written: DerivativeFormula) -> bool:
    """Whether the types of a formula mean something: it is an expression, for a key that makes sense."""
    formula = written.parsed
    if formula.tree is None or any(
        problem.kind is not SyntaxProblemKind.COMMA_OPERATOR for problem in formula.problems
    ):
        return False
    return near_keyword(written) is None and has_sound_key(written) and not _is_misused_automatic(written)


def has_sound_key(formula: DerivativeFormula) -> bool:
    """Whether the names of a key are distinct tensors, all arguments or all outputs, and no other key has them."""
    names = [name.text for name in formula.names]
    if len(set(names)) != len(names) or any(formula.body.keys_with[name] > 1 for name in names):
        return False
    expected = NameKind.ARGUMENT if formula.role is Role.BACKWARD else NameKind.OUTPUT
    for _, resolved in formula.resolved_names:
        if resolved.kind is not expected:
            return False
        if resolved.argument is not None and not resolved.argument.is_tensor_like:
            return False
    return True


def _is_misused_automatic(formula: DerivativeFormula) -> bool:
    """Whether an automatic forward formula is where torchgen's expansion makes no sense."""
    info = formula.body.info
    if formula.auto is None or info is None:
        return False
    return len(formula.names) > 1 or any(binding.is_tensor_list for binding in info.args_with_derivatives)


def is_known_wrong(formula: DerivativeFormula) -> bool:
    """Whether something else is wrong with the formula, so that what is made of it need not be looked at."""
    if undeclared_names(formula) or base_name_uses(formula) or misread_base_name(formula):
        return True
    return formula.forward is not None and not formula.forward.required_inputs_fw_grad
