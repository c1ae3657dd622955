"""Checking a text, as a whole: with the function that the command line uses, and a way to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from threading import Event

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint import Diagnostic, Finding, Rule
from derivlint.lsp.analysis import Analysis
from derivlint.lsp.regions import Edit
from derivlint.lsp.workspace import Project, result_id
from derivlint.model import Entry, Model
from derivlint.project.check import CheckedFile, check_source
from derivlint.source import SourceFile
from derivlint.yaml_reader import Document


class Cancelled(BaseException):
    """A check that nobody waits for any more; no rule may take it for an error of its own."""


class Checked(Struct, frozen=True):
    """What is known of a text.

    Attributes:
        source: the text.
        project: what it was checked with.
        analysis: what features work with; of an earlier text while this one is no YAML.
        shown: the diagnostics.
        result_id: what the result is known by.
        base: the check of an earlier text that this one was made from; None where the whole text was checked.
        edit: what became of that text.
    """

    source: SourceFile
    project: Project
    analysis: Analysis
    shown: tuple[Diagnostic, ...]
    result_id: str
    base: Checked | None = None
    edit: Edit | None = None

    @property
    def is_final(self) -> bool:
        """Whether the whole text was checked, not only what an edit can have changed."""
        return self.base is None


def check_whole(
    source: SourceFile, project: Project, before: Checked | None = None, stop: Event | None = None
) -> Checked:
    """Check a text as the command line does.

    Args:
        source: the text.
        project: what it is checked with.
        before: the check of an earlier text.
        stop: ends the check when it is set.

    Raises:
        Cancelled: the check was stopped.
        InputError: changes are wanted, and they cannot be found out.
    """
    rules = project.rules if stop is None else tuple(_stoppable(rule, stop) for rule in project.rules)
    checked = check_source(source, project.loaded.natives, project.settings, rules, narrowing=project.narrowing)
    return Checked(
        source,
        project,
        analysis_of(source, project, checked.model, checked, before),
        checked.shown,
        result_id(source, project, checked.shown),
    )


def analysis_of(
    source: SourceFile, project: Project, model: Model, checked: CheckedFile | None, before: Checked | None
) -> Analysis:
    """What features work with: the model of the text, or of the last one that was YAML."""
    if is_broken(model.document) and before is not None:
        known = before.analysis
        if known.natives is project.loaded.natives and not is_broken(known.model.document):
            return replace(known, settings=project.settings)
    return Analysis(
        source=source,
        model=model,
        checked=checked,
        natives=project.loaded.natives,
        native_sources=project.loaded.sources,
        headers=project.headers,
        settings=project.settings,
    )


def is_broken(document: Document) -> bool:
    """Whether a part of a text could not be read: a value with an odd tag can, half a mapping cannot."""
    return any(problem.kind != "tag" for problem in document.problems)


class _Stoppable(tuple[Entry, ...]):
    """The entries of a model; going through them ends where nobody waits for the result any more."""

    stop: Event

    def __iter__(self) -> Iterator[Entry]:
        stop = self.stop
        for entry in super().__iter__():
            if stop.is_set():
                raise Cancelled
            yield entry


def _stoppable(rule: Rule, stop: Event) -> Rule:
    check: Callable[..., Iterable[Finding]] = rule.check

    def checked(target: object, *options: object) -> Iterable[Finding]:
        if stop.is_set():
            raise Cancelled
        if isinstance(target, Model) and not isinstance(target.entries, _Stoppable):
            target.entries = _Stoppable(target.entries)
            target.entries.stop = stop
        return check(target, *options)

    return replace(rule, check=checked)
