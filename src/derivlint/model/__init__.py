"""Floor 4: the model of a derivatives file, in torchgen's own terms. States facts; knows nothing of diagnostics."""

from derivlint.model.derivative import (
    Derivative,
    DifferentiabilityInfo,
    ForwardDerivative,
    InfoSource,
    SavedAttribute,
)
from derivlint.model.differentiable import Differentiability, DifferentiableValue
from derivlint.model.entry import (
    AUTO_ELEMENT_WISE,
    AUTO_LINEAR,
    NON_DIFFERENTIABLE,
    DispatchBody,
    Entry,
    KeyedFormula,
    KeyName,
    OutputDifferentiability,
    Role,
    ShapeProblem,
)
from derivlint.model.layout import LAYOUTS, PLAIN, Layout
from derivlint.model.match import FunctionMatch, How, Matcher, MatchProblem
from derivlint.model.model import Model, build_model, build_models
from derivlint.model.read import read_file
from derivlint.model.resolve import EntryFunction, NameKind, Output, ResolvedName, SchemaProblem, SchemaProblemKind
from derivlint.model.versions import EntryVersions, FileVersions, VersionProblem

__all__ = [
    "AUTO_ELEMENT_WISE",
    "AUTO_LINEAR",
    "LAYOUTS",
    "NON_DIFFERENTIABLE",
    "PLAIN",
    "Derivative",
    "Differentiability",
    "DifferentiabilityInfo",
    "DifferentiableValue",
    "DispatchBody",
    "Entry",
    "EntryFunction",
    "EntryVersions",
    "FileVersions",
    "ForwardDerivative",
    "FunctionMatch",
    "How",
    "InfoSource",
    "KeyName",
    "KeyedFormula",
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
    "ShapeProblem",
    "VersionProblem",
    "build_model",
    "build_models",
    "read_file",
]
