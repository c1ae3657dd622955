"""Addition of suppressions to a file for all of its findings."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from derivlint.lint import Diagnostic
from derivlint.lint.suppressions.suppression import NEVER_SILENCED
from derivlint.lint.suppressions.suppression_edits import ignore_edits
from derivlint.project.check import CheckedFile
from derivlint.project.errors import InputError
from derivlint.source import SourceFile

#: Checks a text.
Checker = Callable[[SourceFile], CheckedFile]


class IgnoredFile(Struct, frozen=True):
    """A file with suppressions for its findings.

    Attributes:
        source: the new text.
        checked: its check.
        silenced: the suppressed findings.
    """

    source: SourceFile
    checked: CheckedFile
    silenced: tuple[Diagnostic, ...]


def add_ignores(checked: CheckedFile, check: Checker, reason: str = "") -> IgnoredFile:
    """Add a suppression for every shown finding that can be suppressed.

    Only comments are added; a check ensures that the result has the same values and none of the findings.

    Args:
        checked: the check of the file.
        check: checks a text in the same way.
        reason: the text after the names, one line.

    Raises:
        InputError: the file is not YAML, or a finding cannot be suppressed.
    """
    model = checked.model
    path = model.source.path
    if model.document.problems:
        raise InputError(f'"{path}" is not valid YAML, so no comments are added to it')
    ignorable = tuple(item for item in checked.shown if item.rule not in NEVER_SILENCED)
    if not ignorable:
        return IgnoredFile(model.source, checked, ())
    text = model.source.text
    for edit in reversed(ignore_edits(model, ignorable, reason)):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    source = SourceFile(path, text)
    after = check(source)
    remaining = [item for item in after.shown if item.rule not in NEVER_SILENCED]
    if remaining or not has_equal_values(checked, after):
        where = remaining[0] if remaining else ignorable[0]
        line, _ = (after if remaining else checked).model.source.position(where.span.start)
        raise InputError(f'no comment can silence "{where.rule}" in line {line} of "{path}"; nothing was written')
    return IgnoredFile(source, after, ignorable)


def has_equal_values(before: CheckedFile, after: CheckedFile) -> bool:
    """Whether two texts have the same YAML values."""
    from derivlint.lint.changes import node_value

    first, second = before.model.document, after.model.document
    if first.root is None or second.root is None or second.problems:
        return first.root is second.root
    return node_value(first.root) == node_value(second.root)
