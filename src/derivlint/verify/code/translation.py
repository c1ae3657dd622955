"""Translates formulas to Python, for systems without a compiler."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from derivlint.cpp.expressions.consumer import Use
from derivlint.emit.python.calls import helper_modules
from derivlint.emit.python.expression import Typing, Untranslatable, python_name, translate
from derivlint.formula import parse_formula
from derivlint.model import Model
from derivlint.model.generated.evaluation import ORIGINAL_SELF
from derivlint.model.generated.gradients import incoming_gradients
from derivlint.model.generated.saved import TYPE_AND_SIZE
from derivlint.verify.code.functions import BACKWARD, FormulaFunction
from derivlint.verify.code.interpreter import PythonFormula


class TranslatedFormulas(Struct, frozen=True):
    """The translated formulas.

    Attributes:
        formulas: the translations.
        functions: their functions.
        refused: the reasons why others were not translated, by the number of the function.
    """

    formulas: tuple[PythonFormula, ...]
    functions: tuple[FormulaFunction, ...]
    refused: dict[int, str]


def translate_formulas(model: Model, functions: Sequence[FormulaFunction]) -> TranslatedFormulas:
    """Translate formulas."""
    formulas, done, refused = [], [], {}
    for function in functions:
        formula = _formula(model, function)
        if isinstance(formula, str):
            refused[function.spec.number] = formula
        else:
            formulas.append(formula)
            done.append(function)
    return TranslatedFormulas(tuple(formulas), tuple(done), refused)


def _formula(model: Model, function: FormulaFunction) -> PythonFormula | str:
    """The formula in Python, or the reason why there is none."""
    spec, evaluation = function.spec, function.evaluation
    typed = model.typing.typed(evaluation, evaluation.text)
    if typed is None or typed.tree is None:
        return "it cannot be parsed"
    translated = translate(typed.tree, model.natives, helper_modules(), Typing(typed.typer.found, typed.typer.callees))
    if isinstance(translated, Untranslatable):
        return translated.reason
    if spec.kind != BACKWARD:
        sources = ({**evaluation.primals, ORIGINAL_SELF: ORIGINAL_SELF}, evaluation.tangents)
        primals, tangents = (
            {name: of for name, of in source.items() if name in translated.names} for source in sources
        )
        on_lists = function.differentiability.is_foreach
        return PythonFormula(spec.number, translated.text, primals=primals, tangents=tangents, per_element=on_lists)
    info = function.differentiability.info
    saved = {}
    for saved_value in (*info.all_saved_inputs, *info.all_saved_outputs):
        if saved_value.name not in translated.names or saved_value.expr == saved_value.name:
            continue
        value = _saved(model, saved_value.expr)
        if value is None:
            return f'there is no Python for "{saved_value.expr}"'
        # the kernel saves only the metadata of a tensor whose values are not needed
        saved[python_name(saved_value.name)] = (
            f"F.TensorInfo.of({value})" if saved_value.type is TYPE_AND_SIZE else value
        )
    derivative = next(derivative for derivative in info.derivatives if derivative.written is function.written)
    use = evaluation.consumer.use
    return PythonFormula(
        spec.number,
        translated.text,
        saved,
        {python_name(name): position for name, position in incoming_gradients(info).items()},
        tuple(spec.with_gradients.index(name) for name in derivative.var_names),
        guarded=use is Use.GRADIENT,
        per_element=use is Use.ELEMENT_GRADIENT,
    )


def _saved(model: Model, text: str) -> str | None:
    """Translate the expression of a saved variable to Python, or return None."""
    parsed = parse_formula(text)
    if parsed.tree is None:
        return None
    translated = translate(parsed.tree, model.natives, helper_modules(), Typing())
    return None if isinstance(translated, Untranslatable) else translated.text
