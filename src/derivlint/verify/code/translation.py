"""Formulas translated to Python, for where there is no compiler."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from derivlint.cpp.expressions.consumer import Use
from derivlint.emit.python.expression import Typing, Untranslatable, python_name, translate
from derivlint.emit.python.helpers import helper_modules
from derivlint.formula import parse_formula
from derivlint.model import Model
from derivlint.model.generated.evaluation import ORIGINAL_SELF
from derivlint.model.generated.gradients import incoming_gradients
from derivlint.model.generated.saved import TYPE_AND_SIZE
from derivlint.verify.code.functions import BACKWARD, FormulaFunction
from derivlint.verify.code.interpreter import PythonFormula


class Interpreted(Struct, frozen=True):
    """The formulas that could be translated.

    Attributes:
        formulas: what they became.
        functions: their functions.
        refused: why others could not, by the number of the function.
    """

    formulas: tuple[PythonFormula, ...]
    functions: tuple[FormulaFunction, ...]
    refused: dict[int, str]


def interpreted(model: Model, functions: Sequence[FormulaFunction]) -> Interpreted:
    """Translate formulas."""
    formulas, done, refused = [], [], {}
    for function in functions:
        found = _formula(model, function)
        if isinstance(found, str):
            refused[function.described.number] = found
        else:
            formulas.append(found)
            done.append(function)
    return Interpreted(tuple(formulas), tuple(done), refused)


def _formula(model: Model, function: FormulaFunction) -> PythonFormula | str:
    """The formula in Python, or why there is none."""
    described, evaluation = function.described, function.evaluation
    typed = model.typing.typed(evaluation, evaluation.text)
    if typed is None or typed.tree is None:
        return "it cannot be parsed"
    found = translate(typed.tree, model.natives, helper_modules(), Typing(typed.typer.found, typed.typer.callees))
    if isinstance(found, Untranslatable):
        return found.reason
    if described.kind != BACKWARD:
        known = ({**evaluation.primals, ORIGINAL_SELF: ORIGINAL_SELF}, evaluation.tangents)
        primals, tangents = ({name: of for name, of in each.items() if name in found.names} for each in known)
        on_lists = function.differentiability.is_foreach
        return PythonFormula(described.number, found.text, primals=primals, tangents=tangents, each=on_lists)
    info = function.differentiability.info
    saved = {}
    for each in (*info.all_saved_inputs, *info.all_saved_outputs):
        if each.name not in found.names or each.expr == each.name:
            continue
        value = _saved(model, each.expr)
        if value is None:
            return f'there is no Python for "{each.expr}"'
        # what the kernel keeps of a tensor whose numbers are not needed
        saved[python_name(each.name)] = f"F.TensorInfo.of({value})" if each.type is TYPE_AND_SIZE else value
    derivative = next(each for each in info.derivatives if each.written is function.written)
    use = evaluation.consumer.use
    return PythonFormula(
        described.number,
        found.text,
        saved,
        {python_name(name): position for name, position in incoming_gradients(info).items()},
        tuple(described.with_gradients.index(name) for name in derivative.var_names),
        guarded=use is Use.GRADIENT,
        each=use is Use.ELEMENT_GRADIENT,
    )


def _saved(model: Model, text: str) -> str | None:
    """What a kernel saves, in Python; None where there is none."""
    parsed = parse_formula(text)
    if parsed.tree is None:
        return None
    found = translate(parsed.tree, model.natives, helper_modules(), Typing())
    return None if isinstance(found, Untranslatable) else found.text
