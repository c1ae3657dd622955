"""Checking one derivatives file: what every face of derivlint shows of it, the command line and the editor alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from derivlint.lint import Diagnostic, Rule, run_rules
from derivlint.model import Model, build_model
from derivlint.project.settings import Settings
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

#: Finds more in a model, given what the rules found.
Check = Callable[[Model, tuple[Diagnostic, ...]], Iterable[Diagnostic]]


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """What there is to say of one file.

    Attributes:
        model: its model.
        shown: the diagnostics that the settings show, sorted.
        hidden: how many diagnostics lie below the wanted severity or confidence.
        fails: whether something shown is at the fail level or above.
        crashes: how many checks of rules crashed; each is a diagnostic as well.
    """

    model: Model
    shown: tuple[Diagnostic, ...]
    hidden: int
    fails: bool
    crashes: int


def check_source(
    source: SourceFile,
    natives: NativeFunctions,
    settings: Settings,
    rules: tuple[Rule, ...],
    *,
    besides: Check | None = None,
) -> CheckedFile:
    """Check a text against operators.

    Args:
        source: the text.
        natives: the operators.
        settings: what is shown and what counts.
        rules: the rules to run, see :meth:`Settings.selected`.
        besides: what finds more than the rules do.
    """
    model = build_model(source, natives)
    result = run_rules(model, rules)
    found = result.diagnostics
    if besides is not None:
        found = tuple(sorted((*found, *besides(model, found))))
    shown = tuple(item for item in found if settings.shows(item))
    fails = any(item.severity >= settings.fail_level for item in shown)
    return CheckedFile(model, shown, len(found) - len(shown), fails, result.internal_errors)
