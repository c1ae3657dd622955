"""The analysis of an open file: the model and the check of the command line, which features read."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint import Diagnostic
from derivlint.lsp.workspace import Project, result_id
from derivlint.model import Model
from derivlint.model.memos import Memos
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.settings import Settings
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Document
from derivlint.yaml_reader.nodes import YamlProblemKind


class DocumentAnalysis(Struct, frozen=True):
    """The analysis of one text of a file.

    All spans are offsets into ``source``, even while the editor shows a later text that is not YAML.

    Attributes:
        source: the last text that parsed as YAML, or the current one if none has.
        model: its model.
        checked: its check, or None if only the model was built.
        natives: the operators that it is checked against.
        native_sources: their source files; none for the bundled index.
        headers: the C++ headers with functions that formulas call, PyTorch's and the user's, if they are files.
        settings: the settings of the file.
    """

    source: SourceFile
    model: Model
    checked: CheckedFile | None
    natives: NativeFunctions
    native_sources: tuple[SourceFile, ...]
    headers: tuple[Path, ...]
    settings: Settings


class FileSpan(Struct, frozen=True):
    """A range of a file.

    Attributes:
        source: the file.
        span: the range.
        whole: the range of the enclosing declaration or entry; None if it is ``span``.
    """

    source: SourceFile
    span: Span
    whole: Span | None = None

    @property
    def text(self) -> str:
        """The text of the range."""
        return self.source.slice(self.span)


class CheckedDocument(Struct, frozen=True):
    """The check of a text.

    Attributes:
        source: the text.
        project: the settings, rules and operators of the check.
        analysis: the analysis for features, of an earlier text while this one is not YAML.
        shown: the reported diagnostics.
        memos: the memos that later checks of the file reuse.
    """

    source: SourceFile
    project: Project
    analysis: DocumentAnalysis
    shown: tuple[Diagnostic, ...]
    memos: Memos | None = None

    @property
    def result_id(self) -> str:
        """The identifier of the result in pull diagnostics."""
        return result_id(self.source, self.project, self.shown)


def check(
    source: SourceFile,
    project: Project,
    before: CheckedDocument | None = None,
    memos: Memos | None = None,
    stop: Event | None = None,
) -> CheckedDocument:
    """Check a text as the command line does, reusing the memos of an earlier check.

    Args:
        source: the text.
        project: its settings, rules and operators.
        before: the previous result, whose analysis is kept while the text is not valid YAML.
        memos: the memos of earlier texts with the same project.
        stop: cancels the check when it is set.

    Raises:
        Cancelled: the check was cancelled.
        InputError: only changed entries are checked, and the changes cannot be determined.
    """
    checked = check_source(
        source,
        project.loaded.natives,
        project.settings,
        project.rules,
        finding_filter=project.finding_filter,
        memos=memos,
        stop=stop.is_set if stop is not None else None,
    )
    analysis = analysis_of(source, project, checked.model, checked, before)
    return CheckedDocument(source, project, analysis, checked.shown, memos)


def analysis_of(
    source: SourceFile, project: Project, model: Model, checked: CheckedFile | None, before: CheckedDocument | None
) -> DocumentAnalysis:
    """Return the analysis of the text, or of the last one that parsed as YAML."""
    if is_broken(model.document) and before is not None:
        last = before.analysis
        if last.natives is project.loaded.natives and not is_broken(last.model.document):
            return replace(last, settings=project.settings)
    return DocumentAnalysis(
        source=source,
        model=model,
        checked=checked,
        natives=project.loaded.natives,
        native_sources=project.loaded.sources,
        headers=project.headers,
        settings=project.settings,
    )


def is_broken(document: Document) -> bool:
    """Whether a part of the text is not YAML; a value with an unknown tag counts as YAML."""
    return any(problem.kind is not YamlProblemKind.TAG for problem in document.problems)
