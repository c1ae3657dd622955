"""Checks and fixes: :func:`derivlint.check` and :func:`derivlint.fix`."""

from __future__ import annotations

from msgspec import Struct

from derivlint.api.inputs import OperatorsLike, SettingsLike, TextOrPath, load
from derivlint.formats import Report
from derivlint.lint import Diagnostic
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.fixing import checker_of, fix_source, repair_of
from derivlint.project.loading import Loaded
from derivlint.rules import load_rules


class FixedText(Struct, frozen=True):
    """A fixed text; nothing is written.

    Attributes:
        text: the text with all possible fixes applied.
        fixed: the findings with applied fixes; their spans are in the original text.
        rejected: the findings whose fixes would have caused another error.
        report: the report on the fixed text.
    """

    text: str
    fixed: tuple[Diagnostic, ...]
    rejected: tuple[Diagnostic, ...]
    report: Report


def report_on(loaded: Loaded, checked: CheckedFile) -> Report:
    """Return the report on one checked file."""
    source = checked.model.source
    return Report(
        diagnostics=checked.shown,
        sources={source.path: source},
        entries=checked.model.n_entries,
        formulas=checked.model.n_formulas,
        suppressed=checked.suppressed,
        hidden=checked.hidden,
        baselined=checked.baselined,
        unchanged=checked.unchanged,
        unknown_functions=tuple(sorted(checked.model.unknown_functions)),
        related_sources={file.path: file for file in loaded.operators.sources},
        fail_levels={source.path: loaded.settings.fail_level},
        exit_status=3 if checked.crashes else int(checked.fails),
    )


def check(
    text_or_path: TextOrPath, *, settings: SettingsLike | None = None, operators: OperatorsLike | None = None
) -> Report:
    """Check a derivatives file.

    Args:
        text_or_path: a path, or the text of a file: a string with a line break.
        settings: settings by the keys of ``[tool.derivlint]``, on top of the configuration nearest to the file; or the
            path of the configuration to read instead. A text has no configuration.
        operators: a release (``"2.13"``), ``"installed"``, or the paths of native_functions.yaml files. The default is
            that of the command line.

    Raises:
        InputError: the file, the settings or the operators cannot be used.
        TypeError: an argument has another type.
    """
    loaded = load(text_or_path, settings, operators)
    rules = loaded.settings.selected(load_rules())
    return report_on(
        loaded, check_source(loaded.source, loaded.operators.natives, loaded.settings, rules, explains=True)
    )


def fix(
    text_or_path: TextOrPath,
    *,
    unsafe: bool = False,
    settings: SettingsLike | None = None,
    operators: OperatorsLike | None = None,
) -> FixedText:
    """Fix a derivatives file and return the text; nothing is written.

    Args:
        text_or_path: as for :func:`check`.
        unsafe: whether to apply fixes that may change the meaning, and suggestions that are certain.
        settings: as for :func:`check`.
        operators: as for :func:`check`.

    Raises:
        InputError: the file, the settings or the operators cannot be used.
        TypeError: an argument has another type.
    """
    loaded = load(text_or_path, settings, operators)
    rules = loaded.settings.selected(load_rules())
    run = checker_of(loaded.operators.natives, loaded.settings, rules)
    fixed = fix_source(loaded.source, run, unsafe=unsafe, repair=repair_of(loaded.settings, rules))
    return FixedText(fixed.text, fixed.fixed, fixed.dropped, report_on(loaded, run(fixed.result)))
