"""Wrong values that come of a slip which is known more exactly: a swapped argument, a tangent that is left out.

One slip is reported once, and by the rule that can underline it.
"""

from __future__ import annotations

from derivlint.cpp.problem import ACCEPTED, TypeProblemKind
from derivlint.meaning.aliasing import aliased_tangents
from derivlint.meaning.conjugation import mistakes
from derivlint.meaning.degree import Degree
from derivlint.meaning.dropping import dropped_arguments
from derivlint.meaning.facts import Fact
from derivlint.meaning.key_order import reordered_key
from derivlint.meaning.meaning import Meaning
from derivlint.meaning.missing import miscasts, missing_factors, missing_tangents, uncast_gradients
from derivlint.meaning.one_element.compare import Disagreement
from derivlint.meaning.passing import passed_wrongly
from derivlint.model import DispatchBody


def is_explained(meaning: Meaning, body: DispatchBody, item: Disagreement) -> bool:
    """Whether what is wrong with a formula is known more exactly."""
    formula = item.formula
    for problem in meaning.model.type_problems(body.entry):
        kind = problem.problem.kind
        if kind not in ACCEPTED or (kind is TypeProblemKind.INTEGER_DIVISION and problem.line is formula.line):
            return True
    interpretation = meaning.interpretation(formula)
    # a factor that is not conjugated does not make the values of real numbers wrong
    is_complex = any(type(value) is complex for _, value in item.at)
    if is_complex and any(True for _ in mistakes(interpretation)):
        return True
    if interpretation.facts.get(formula.tree, Fact()).degree is Degree.CONSTANT:
        return True
    if any(interpretation is other for other in uncast_gradients(meaning, body)):
        return True
    if any(line is formula.line for line, _ in missing_tangents(meaning, body)):
        return True
    if aliased_tangents(interpretation) or reordered_key(formula.line) is not None:
        return True
    facts = (passed_wrongly, missing_factors, miscasts, dropped_arguments)
    return any(True for fact in facts for _ in fact(interpretation))
