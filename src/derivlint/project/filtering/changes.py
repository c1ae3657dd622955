"""Selection of findings about changes since a revision, for reviews.

An entry has changed if its values have, or if one of its functions in a file of native functions has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from derivlint.lint import Diagnostic
from derivlint.lint.changes import changed_entries, changed_functions, changed_lines
from derivlint.lint.engine.ownership import EntryFinder
from derivlint.model import Model
from derivlint.project.errors import InputError
from derivlint.project.git import Revision
from derivlint.source import SourceFile, read_input


class ChangeFilter:
    """Selects the findings of a file that are about changes."""

    def __init__(self, name: str) -> None:
        """Compare with a revision, which is resolved at the first use."""
        self._find: Callable[[Path], Revision] = cache(lambda folder: Revision(name, folder))
        self._changed_functions: Callable[[Path], frozenset[str]] = cache(self._functions_of)
        self._is_changed: Callable[[Path], bool] = cache(self._differs)

    def about_changed(
        self, model: Model, diagnostics: Sequence[Diagnostic], path: Path, native_functions: Iterable[Path] = ()
    ) -> tuple[Diagnostic, ...]:
        """Return the findings in changed entries, and findings outside of entries on changed lines.

        A finding in a header counts if that file changed.

        Args:
            model: the current file.
            diagnostics: its findings.
            path: the file.
            native_functions: its files of native functions.

        Raises:
            InputError: there is no git, no repository, or no such revision.
        """
        before = self._find(path.resolve().parent).text_of(path)
        if before is None:
            return tuple(diagnostics)
        old = SourceFile.from_bytes(model.source.path, before)
        changed = set(map(id, changed_entries(model, old)))
        functions = frozenset[str]().union(*map(self._changed_functions, native_functions))
        finder = EntryFinder(model)
        lines: frozenset[int] | None = None
        about_changed = []
        for diagnostic in diagnostics:
            if diagnostic.elsewhere:
                if self._is_changed(Path(diagnostic.path)):
                    about_changed.append(diagnostic)
                continue
            owner = finder.owner(diagnostic)
            if owner is not None:
                served = model.functions_of(owner) if functions else ()
                names = {owner.operator, *(str(match.function.schema.name) for match in served)}
                if id(owner) in changed or not functions.isdisjoint(names):
                    about_changed.append(diagnostic)
                continue
            if lines is None:
                lines = changed_lines(old, model.source)
            if model.source.position(diagnostic.span.start).line in lines:
                about_changed.append(diagnostic)
        return tuple(about_changed)

    def _functions_of(self, path: Path) -> frozenset[str]:
        """Return the changed functions of a file; none for a file outside of the revision.

        For example, an installed file of native functions is in no revision.
        """
        try:
            before = self._find(path.resolve().parent).text_of(path)
        except InputError:
            return frozenset()
        if before is None:
            return frozenset()
        return changed_functions(SourceFile.from_bytes(str(path), before), SourceFile.read(path))

    def _differs(self, path: Path) -> bool:
        """Whether a file is new or changed; False for files outside of the repository."""
        try:
            before = self._find(path.resolve().parent).text_of(path)
        except InputError:
            return False
        return before is None or before != read_input(path)
