"""Suggestions for wrong or missing formulas: ``derivlint suggest`` and :func:`derivlint.suggest`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from derivlint.analysis.differentiability.coverage import Aspect
from derivlint.api.inputs import OperatorsLike, SettingsLike, TextOrPath, load
from derivlint.formats.suggestions import FormulaSuggestions, described
from derivlint.lint.wording import quoted_list, unknown_name
from derivlint.model import Entry
from derivlint.project.errors import InputError
from derivlint.project.loading import Loaded
from derivlint.repair.candidates import Target
from derivlint.repair.judge import Judge
from derivlint.repair.missing import write_missing
from derivlint.repair.suggest import Suggestion, targets_in
from derivlint.repair.suggest import suggest as suggest_for
from derivlint.rules import load_rules

Missing = Literal["backward", "forward", "double-backward"]


def suggest(
    text_or_path: TextOrPath,
    *,
    formulas: Sequence[str] = (),
    missing: Missing | None = None,
    settings: SettingsLike | None = None,
    operators: OperatorsLike | None = None,
) -> tuple[FormulaSuggestions, ...]:
    """Suggest formulas in place of wrong ones; nothing is written or run.

    Args:
        text_or_path: a path, or the text of a file: a string with a line break.
        formulas: operators (``add.Tensor``) or base names (``add``), each with or without a key (``add:self``); by
            default all wrong formulas.
        missing: the kind of missing formulas to suggest; None for wrong formulas.
        settings: as for :func:`derivlint.check`.
        operators: as for :func:`derivlint.check`.

    Raises:
        InputError: the file, the settings or the operators cannot be used, or there is no such formula.
        TypeError: an argument has another type.
    """
    if isinstance(formulas, str):
        raise TypeError("formulas are a list of strings")
    if missing is not None and missing not in get_args(Missing):
        raise InputError(f'"{missing}" is not a kind of formulas; choose {quoted_list(get_args(Missing), "or")}')
    loaded = load(text_or_path, settings, operators)
    return tuple(described(loaded.source.path, item) for item in suggestions_in(loaded, formulas, missing))


def suggestions_in(loaded: Loaded, formulas: Sequence[str], missing: str | None) -> Iterator[Suggestion]:
    """Yield the suggestions for formulas of a file.

    Args:
        loaded: the file.
        formulas: the names of operators, with or without a key; empty for all.
        missing: the kind of missing formulas (``Aspect``), or None for wrong formulas.

    Raises:
        InputError: there is no such entry or key.
    """
    settings = loaded.settings
    judge = Judge(loaded.source, loaded.model, settings.selected(load_rules()), settings.shows)
    if missing is None:
        for target in _targets(judge, formulas):
            yield suggest_for(judge, target)
        return
    entries = [entry for name in formulas for entry in _entries(judge, name.partition(":")[0])]
    yield from write_missing(judge, Aspect(missing), {entry.operator or "" for entry in entries} if formulas else None)


def _entries(judge: Judge, operator: str) -> list[Entry]:
    """Return the entries of an operator.

    Raises:
        InputError: the operator has no entry.
    """
    entries = [entry for entry in judge.model.entries if operator in _names(entry)]
    if not entries:
        names = {name for entry in judge.model.entries for name in _names(entry)}
        raise InputError(unknown_name(f'no entry for "{operator}"', operator, names))
    return entries


def _targets(judge: Judge, formulas: Sequence[str]) -> Iterator[Target]:
    """Yield the wrong formulas among the named ones, or all.

    Raises:
        InputError: there is no such entry or key.
    """
    if not formulas:
        yield from targets_in(judge, judge.wrong_entries())
        return
    for name in formulas:
        operator, _, key = name.partition(":")
        entries = _entries(judge, operator)
        keys = [
            item
            for entry in entries
            for formula in entry.formulas
            for item in (formula.key_text, *_parts(formula.key_text))
        ]
        if key and key not in keys:
            raise InputError(unknown_name(f'"{operator}" has no formula for "{key}"', key, keys))
        yield from (item for item in targets_in(judge, entries) if not key or key in (item.key, *_parts(item.key)))


def _names(entry: Entry) -> tuple[str, ...]:
    operator = entry.operator or ""
    return (operator, operator.partition(".")[0])


def _parts(key: str) -> list[str]:
    return [name.strip() for name in key.split(",")]
