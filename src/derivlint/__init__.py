"""Linter, static checker and code generator for PyTorch's derivatives.yaml.

These names are the public API (docs/guides/python-api.md); all modules are private but ``derivlint.formula``, with the
nodes of syntax trees, ``derivlint.functional`` and ``derivlint.runtime``. They are imported when they are used, so that
the import of the package costs nothing.
"""

from __future__ import annotations

import sys
from types import ModuleType

from derivlint.version import __version__

#: As type checkers know it; the import of typing would take a third of the time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from derivlint.api.checking import FixedText, check, fix
    from derivlint.api.code import EmittedCode, ErrorsInFileError, derive, emit, load_model
    from derivlint.api.derivation import DerivedGraph
    from derivlint.api.inputs import OperatorsLike, SettingsLike, TextOrPath
    from derivlint.api.suggesting import suggest
    from derivlint.formats import Report
    from derivlint.formats.suggestions import FormulaSuggestions, SuggestedFormula
    from derivlint.formula import Formula, Node
    from derivlint.lint import Confidence, Diagnostic, Fix, Related, Severity, TextEdit
    from derivlint.model import (
        Derivative,
        DerivativeFormula,
        DifferentiabilityInfo,
        DispatchBody,
        Entry,
        ForwardDerivative,
        Model,
        SavedAttribute,
    )
    from derivlint.project.errors import InputError
    from derivlint.project.settings import ConfigurationError
    from derivlint.source import Position, SourceFile, Span

_HOMES = {
    "api.checking": "FixedText check fix",
    "api.code": "EmittedCode ErrorsInFileError derive emit load_model",
    "api.derivation": "DerivedGraph",
    "api.inputs": "OperatorsLike SettingsLike TextOrPath",
    "api.suggesting": "suggest",
    "formats": "Report",
    "formats.suggestions": "FormulaSuggestions SuggestedFormula",
    "formula": "Formula Node",
    "lint": "Confidence Diagnostic Fix Related Severity TextEdit",
    "model": (
        "Derivative DerivativeFormula DifferentiabilityInfo DispatchBody Entry ForwardDerivative Model SavedAttribute"
    ),
    "project.errors": "InputError",
    "project.settings": "ConfigurationError",
    "source": "Position SourceFile Span",
}

__all__ = [
    "Confidence",
    "ConfigurationError",
    "Derivative",
    "DerivativeFormula",
    "DerivedGraph",
    "Diagnostic",
    "DifferentiabilityInfo",
    "DispatchBody",
    "EmittedCode",
    "Entry",
    "ErrorsInFileError",
    "Fix",
    "FixedText",
    "Formula",
    "FormulaSuggestions",
    "ForwardDerivative",
    "InputError",
    "Model",
    "Node",
    "OperatorsLike",
    "Position",
    "Related",
    "Report",
    "SavedAttribute",
    "SettingsLike",
    "Severity",
    "SourceFile",
    "Span",
    "SuggestedFormula",
    "TextEdit",
    "TextOrPath",
    "__version__",
    "check",
    "derive",
    "emit",
    "fix",
    "load_model",
    "suggest",
]


def _load(name: str) -> object:
    home = next((module for module, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # for type checkers any name would be there
    __getattr__ = _load


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """The package itself. Its function ``emit`` has the name of a subpackage, which imports would put in its place."""

    @property
    def emit(self) -> object:
        return _load("emit")

    @emit.setter
    def emit(self, _: object) -> None:
        pass


sys.modules[__name__].__class__ = _Package
