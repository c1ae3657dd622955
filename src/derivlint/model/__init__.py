"""The model of a derivatives file, in torchgen's terms; it states facts and is independent of diagnostics.

entry
    One item of the file: an operator and its formulas, by dispatch key (``entry``, ``read``, ``keys``).
entry function
    The native function of an entry, and the meaning of the names in its keys (``resolve``).
info
    Torchgen's ``DifferentiabilityInfo`` of an entry under one dispatch key (``info``).
match
    A native function with the infos that apply to it (``match``); ``differentiable`` has the resulting inputs and
    outputs.
evaluation
    An expression in generated code, with the variables declared there (``generated.evaluation``).
query
    A fact computed on demand, with the dependencies that incremental checks compare (``query``, ``memos``, ``index``).

Begin with :func:`derivlint.model.model.build_model`. ``scope`` has the names that a formula can use, ``words``
torchgen's textual reading of names, ``layout`` the files of back ends that serve several versions.
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

# lazy: settings import this package for the layout only
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
