"""The model of a derivatives file, in torchgen's own terms. States facts; knows nothing about diagnostics.

Begin with :mod:`derivlint.model.read` (``build_model``) and :mod:`derivlint.model.entry` (entries and formulas).

    entry, resolve       entries, and the function that each is about
    info, match          torchgen's DifferentiabilityInfo, and which functions share an entry
    scope, words         which names a formula can see; torchgen's textual reading of names
    generated            what generated code makes of formulas: where it evaluates them, types there, what is saved
    query, index         facts computed on demand, recording what they read, for incremental checks
    layout               files of back ends that serve several versions
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from derivlint.source.lazy import lazy_exports

if TYPE_CHECKING:
    from derivlint.model.differentiable import Differentiability, DifferentiableValue
    from derivlint.model.entry import (
        Derivative,
        DerivativeFormula,
        DifferentiabilityInfo,
        DispatchBody,
        Entry,
        ForwardDerivative,
        InfoSource,
        Role,
    )
    from derivlint.model.entry_syntax import FormProblem, KeyName, OutputDifferentiability
    from derivlint.model.generated.saved import SavedAttribute
    from derivlint.model.keys import AUTO_ELEMENT_WISE, AUTO_LINEAR, NON_DIFFERENTIABLE
    from derivlint.model.layout import LAYOUTS, PLAIN, Layout
    from derivlint.model.match import FunctionMatch, How, Matcher, MatchProblem
    from derivlint.model.model import Model, build_model, build_models
    from derivlint.model.read import called_functions, entry_names, read_file
    from derivlint.model.resolve import EntryFunction, NameKind, Output, ResolvedName, SchemaProblem, SchemaProblemKind

# what needs a layout only, such as settings, must not wait for all the others
__getattr__ = lazy_exports(
    __name__,
    {
        "differentiable": "Differentiability DifferentiableValue",
        "entry": (
            "Derivative DifferentiabilityInfo DispatchBody Entry ForwardDerivative InfoSource DerivativeFormula Role"
        ),
        "entry_syntax": "FormProblem KeyName OutputDifferentiability",
        "keys": "AUTO_ELEMENT_WISE AUTO_LINEAR NON_DIFFERENTIABLE",
        "layout": "LAYOUTS PLAIN Layout",
        "match": "FunctionMatch How Matcher MatchProblem",
        "model": "Model build_model build_models",
        "read": "called_functions entry_names read_file",
        "resolve": "EntryFunction NameKind Output ResolvedName SchemaProblem SchemaProblemKind",
        "generated.saved": "SavedAttribute",
    },
)

__all__ = [
    "AUTO_ELEMENT_WISE",
    "AUTO_LINEAR",
    "LAYOUTS",
    "NON_DIFFERENTIABLE",
    "PLAIN",
    "Derivative",
    "DerivativeFormula",
    "Differentiability",
    "DifferentiabilityInfo",
    "DifferentiableValue",
    "DispatchBody",
    "Entry",
    "EntryFunction",
    "FormProblem",
    "ForwardDerivative",
    "FunctionMatch",
    "How",
    "InfoSource",
    "KeyName",
    "Layout",
    "MatchProblem",
    "Matcher",
    "Model",
    "NameKind",
    "Output",
    "OutputDifferentiability",
    "ResolvedName",
    "Role",
    "SavedAttribute",
    "SchemaProblem",
    "SchemaProblemKind",
    "build_model",
    "build_models",
    "called_functions",
    "entry_names",
    "read_file",
]
