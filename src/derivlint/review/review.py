"""Comparison of two versions of a derivatives file: entries, findings, and the generated C++."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from difflib import unified_diff
from typing import Any

from msgspec import Struct

from derivlint.emit.kernels import kernels
from derivlint.emit.nodes import node_classes
from derivlint.emit.places import without_marks
from derivlint.emit.release import UnsupportedRelease
from derivlint.emit.selection import unreadable_formulas
from derivlint.emit.template import yaml_name
from derivlint.lint import Diagnostic, Rule
from derivlint.model import Model
from derivlint.model.memos import Memos
from derivlint.project.check import check_source
from derivlint.project.operators import LoadedOperators
from derivlint.project.settings import Settings
from derivlint.review.entries import Comparison, EntryChange, Status, changed
from derivlint.source import SourceFile

#: The name of a missing file in diffs.
NOTHING = "/dev/null"


def code_diff(before: Model, after: Model, operators: Collection[str]) -> tuple[str, ...]:
    """Return the lines of a unified diff of the operators' nodes and kernels.

    Args:
        before: the older version.
        after: the newer one.
        operators: the full names of functions.

    Raises:
        UnsupportedRelease: no code can be emitted for the release of the operators.
    """
    if not operators:
        return ()
    old, new = (_pieces(model, frozenset(operators)) for model in (before, after))
    lines: list[str] = []
    for name in dict.fromkeys([*new, *old]):
        was, now = (side.get(name, "").splitlines() for side in (old, new))
        if was != now:
            titles = (name if was else NOTHING, name if now else NOTHING)
            lines += unified_diff(was, now, *titles, lineterm="")
    return tuple(lines)


def _pieces(model: Model, operators: frozenset[str]) -> dict[str, str]:
    """Return the classes and kernels of the operators by label; unreadable formulas have none."""
    without = unreadable_formulas(model)
    listed = [
        kernel
        for kernel in kernels(model, operators, only_with_entry=True)
        if str(kernel.function.name) in operators - without.keys()
    ]
    nodes = {kernel.node for kernel in listed if kernel.node is not None}
    # comments name the file, which may have been renamed
    origin = f"// {yaml_name(model.source.path)}: "
    pieces = {
        f"node {node.name}": without_marks(f"{node.header}\n{node.source}").replace(origin, "// ")
        for node in node_classes(model, nodes)
    }
    for kernel in listed:
        text = f"{without_marks(kernel.text).replace(origin, '// ')}\n// {kernel.dispatch_key}: {kernel.registration}"
        pieces[f"kernel {kernel.function.name} [{kernel.dispatch_key}]"] = text
    return pieces


class Version(Struct, frozen=True):
    """One version of a file.

    Attributes:
        label: its name.
        source: its text.
        operators: the sources of its operators.
        settings: its settings.
    """

    label: str
    source: SourceFile
    operators: LoadedOperators
    settings: Settings


class Review(Struct, frozen=True):
    """The differences between two versions of a file.

    Attributes:
        before: the older version.
        after: the newer one.
        entries: the entries that differ.
        new: the new findings.
        gone: the findings of the older version only.
        code: a unified diff of the C++ that is generated for the entries that both versions have.
        no_code: the reason why there is none, or None.
        fails: whether a new finding is at or above the fail level.
    """

    before: Version
    after: Version
    entries: tuple[EntryChange, ...]
    new: tuple[Diagnostic, ...]
    gone: tuple[Diagnostic, ...]
    code: tuple[str, ...]
    no_code: str | None
    fails: bool

    def counts(self) -> dict[Status, int]:
        """Return the number of entries per status."""
        counter = Counter(entry.status for entry in self.entries)
        return {status: counter[status] for status in Status}


def review(before: Version, after: Version, rules: tuple[Rule, ...], *, with_code: bool = True) -> Review:
    """Compare two versions of a file.

    Args:
        before: the older one.
        after: the newer one.
        rules: the rules to run.
        with_code: whether to compare the generated C++.

    Raises:
        InputError: a file does not have the selected version.
    """
    # with equal operators, only affected entries are checked again
    memos = Memos() if before.operators is after.operators and before.settings == after.settings else None
    old = check_source(before.source, before.operators.natives, before.settings, rules, memos=memos)
    new = check_source(after.source, after.operators.natives, after.settings, rules, memos=memos)
    differing = changed(old.model, new.model)
    comparison = Comparison(old.model, new.model)
    names = frozenset(change.name for change in differing)
    entries = tuple(comparison.of(change, names) for change in differing)
    code: tuple[str, ...] = ()
    no_code = None
    if with_code:
        try:
            # the code of added and removed entries would differ as a whole
            kept_on = [entry for entry in entries if entry.status is Status.CHANGED]
            operators = {entry.name for entry in kept_on}.union(*(entry.functions for entry in kept_on))
            code = code_diff(old.model, new.model, operators)
        except UnsupportedRelease as error:
            no_code = str(error)
    new_findings = _without(new.shown, old.shown)
    fails = any(item.severity >= after.settings.fail_level for item in new_findings)
    return Review(before, after, entries, new_findings, _without(old.shown, new.shown), code, no_code, fails)


def _without(items: Sequence[Diagnostic], excluded: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the findings without an equal one in the other version, at any position."""
    counts = Counter(map(_identity, excluded))
    remaining = []
    for item in items:
        identity = _identity(item)
        counts[identity] -= 1
        if counts[identity] < 0:
            remaining.append(item)
    return tuple(remaining)


def _identity(item: Diagnostic) -> tuple[Any, ...]:
    return item.rule, item.message, item.entry, item.dispatch, item.key
