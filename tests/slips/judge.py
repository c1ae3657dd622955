"""What a check says of slips: of the edited entry, and of those that no one touched.

Several slips in entries that have nothing to do with each other are made in one file and checked together. Where what
is found is more than one diagnostic for each, or stands elsewhere, each slip of it is checked again on its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from derivlint.lint import Diagnostic, Severity
from derivlint.model import Model, build_model
from derivlint.model.memos import Memos
from derivlint.project.check import check_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.slips.generate import MERGING, STRUCTURAL, Slip, parts

#: How many slips are checked in one file, and how many of them in schemas: four unknown ones are another release.
TOGETHER = 16
SCHEMAS = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is found because of a slip.

    Attributes:
        slip: the slip.
        here: the new diagnostics in the edited entry.
        elsewhere: the new diagnostics in all others.
        beside: those of the edited entry at other formulas than the edited one.
    """

    slip: Slip
    here: tuple[Diagnostic, ...]
    elsewhere: tuple[Diagnostic, ...]
    beside: tuple[Diagnostic, ...] = ()

    @property
    def found(self) -> tuple[Diagnostic, ...]:
        """All new diagnostics."""
        return (*self.here, *self.elsewhere)

    @property
    def innocents(self) -> tuple[Diagnostic, ...]:
        """Errors and warnings at entries that no one touched."""
        return tuple(item for item in self.elsewhere if item.severity is not Severity.INFO)

    @property
    def is_clean(self) -> bool:
        """Whether there is at most one diagnostic, in the edited entry."""
        return not self.elsewhere and len(self.here) <= 1


class Judge:
    """Checks a file with slips in it."""

    def __init__(self, source: SourceFile, natives: NativeFunctions) -> None:
        self.source = source
        self._natives = natives
        self._settings = Settings()
        self._rules = self._settings.selected(load_rules())
        self.checks = 0

    @cached_property
    def model(self) -> Model:
        """The file without slips."""
        return build_model(self.source, self._natives)

    @cached_property
    def before(self) -> Counter[tuple[int, str, str]]:
        """What is found without slips, by entry, rule and message."""
        return self._by_part(self.check(self.source.text), parts(self.source.text))

    def check(self, text: str) -> tuple[Diagnostic, ...]:
        """What is shown of a text; what no slip can have changed is taken over, as after an edit in an editor."""
        self.checks += 1
        source = SourceFile(self.source.path, text)
        return check_source(source, self._natives, self._settings, self._rules, memos=self._memos).shown

    @cached_property
    def _memos(self) -> Memos:
        """What is found in the entries of the file without slips."""
        memos = Memos()
        check_source(self.source, self._natives, self._settings, self._rules, memos=memos)
        return memos

    @staticmethod
    def _by_part(found: Iterable[Diagnostic], bounds: Sequence[tuple[int, int]]) -> Counter[tuple[int, str, str]]:
        return Counter((_part_of(item, bounds), item.rule, item.message) for item in found)

    def verdicts(self, slips: Sequence[Slip]) -> list[Verdict]:
        """What is found because of each slip."""
        found: dict[int, Verdict] = {}
        for together in self._groups(slips):
            verdicts = self._checked([slips[index] for index in together])
            if verdicts is None:
                verdicts = [self.alone(slips[index]) for index in together]
            found.update(zip(together, verdicts, strict=True))
        return [found[index] for index in range(len(slips))]

    def alone(self, slip: Slip) -> Verdict:
        """What is found because of a slip in a file of its own."""
        found = self._attributed([slip])
        assert found is not None
        here, elsewhere = found
        return self._verdict(slip, here[0], elsewhere)

    def _groups(self, slips: Sequence[Slip]) -> list[list[int]]:
        """Slips that are checked in one file."""
        groups: list[list[int]] = []
        todo = list(range(len(slips)))
        while todo:
            group: list[int] = []
            families: set[str] = set()
            schemas = 0
            left = []
            for index in todo:
                slip = slips[index]
                family = slip.operator.partition(".")[0].strip("_").removesuffix("_backward")
                is_schema = slip.kind.startswith(("schema", "operator", "overload"))
                if slip.kind in STRUCTURAL and group:
                    left.append(index)
                elif slip.kind in STRUCTURAL:
                    groups.append([index])
                elif len(group) == TOGETHER or family in families or (is_schema and schemas == SCHEMAS):
                    left.append(index)
                else:
                    group.append(index)
                    families.add(family)
                    schemas += is_schema
            if group:
                groups.append(group)
            todo = left
        return groups

    def _checked(self, slips: Sequence[Slip]) -> list[Verdict] | None:
        attributed = self._attributed(slips)
        if attributed is None:
            return None
        here, elsewhere = attributed
        if elsewhere and len(slips) > 1:
            return None
        return [
            verdict if verdict.is_clean or len(slips) == 1 else self.alone(slip)
            for slip, found in zip(slips, here, strict=True)
            for verdict in (self._verdict(slip, found, elsewhere),)
        ]

    def _attributed(self, slips: Sequence[Slip]) -> tuple[list[list[Diagnostic]], list[Diagnostic]] | None:
        """The new diagnostics in each edited entry, and in all others; None where the YAML is broken by several."""
        text = self.source.text
        bounds = parts(text)
        ordered = sorted(range(len(slips)), key=lambda index: slips[index].start)
        for index in reversed(ordered):
            text = slips[index].applied(text)
        found = self.check(text)
        if len(slips) > 1 and any(item.rule.startswith("yaml") for item in found):
            return None
        owners = {bounds.index(slips[index].part): index for index in ordered}
        for position, index in list(owners.items()):
            if slips[index].kind == MERGING:
                # without its name an entry belongs to the one before, and the first one to nothing
                owners.setdefault(position - 1 if position else 1, index)
        moved: list[tuple[int, int]] = []
        shift = 0
        for position, (start, end) in enumerate(bounds):
            slip = slips[owners[position]] if position in owners else None
            begin = start + shift
            shift += slip.delta if slip is not None and slip.part == (start, end) else 0
            moved.append((begin, end + shift))
        here: list[list[Diagnostic]] = [[] for _ in slips]
        elsewhere: list[Diagnostic] = []
        known = Counter(self.before)
        for item in found:
            part = _part_of(item, moved)
            if known[part, item.rule, item.message] > 0:
                known[part, item.rule, item.message] -= 1
            elif part in owners:
                here[owners[part]].append(item)
            else:
                elsewhere.append(item)
        return here, elsewhere

    def _verdict(self, slip: Slip, here: Sequence[Diagnostic], elsewhere: Sequence[Diagnostic]) -> Verdict:
        beside: tuple[Diagnostic, ...] = ()
        if slip.key is not None:
            beside = tuple(item for item in here if item.key is not None and item.key != slip.key)
        return Verdict(slip, tuple(here), tuple(elsewhere), beside)


def _part_of(item: Diagnostic, bounds: Sequence[tuple[int, int]]) -> int:
    """The entry that a diagnostic is at: the last one that begins before it."""
    low, high = 0, len(bounds)
    while low < high:
        middle = (low + high) // 2
        if bounds[middle][0] <= item.span.start:
            low = middle + 1
        else:
            high = middle
    return low - 1


def clashes(verdicts: Sequence[Verdict], text: str) -> str:
    """Which rules report the same slip, the most frequent ones first, each with an example."""
    together: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in verdicts:
        if len(verdict.found) > 1:
            together.setdefault(tuple(sorted({item.rule for item in verdict.found})), []).append(verdict)
    lines = []
    for rules, members in sorted(together.items(), key=lambda item: (-len(item[1]), item[0])):
        lines += [f"{len(members):4} {', '.join(rules)}", f"     {members[0].slip.shown(text)}"]
    return "\n".join(lines)


def report(verdicts: Sequence[Verdict], text: str, *, every: bool = False) -> str:
    """What is to be counted, and the slips that are not blamed as they should be."""
    found = [verdict for verdict in verdicts if verdict.found]
    innocent = [verdict for verdict in verdicts if verdict.innocents]
    several = [verdict for verdict in found if len(verdict.found) > 1]
    away = [verdict for verdict in found if not verdict.here]
    beside = [verdict for verdict in verdicts if verdict.beside]
    lines = []
    together = Counter(tuple(sorted({item.rule for item in verdict.found})) for verdict in several)
    for verdict in verdicts:
        if not verdict.is_clean or (every and verdict.found):
            lines.append(verdict.slip.shown(text))
            for where, items in (("", verdict.here), ("ELSEWHERE ", verdict.elsewhere)):
                for item in items:
                    aside = "BESIDE " if item in verdict.beside else ""
                    place = f"{where}{aside}{item.severity.name} [{item.rule}] {item.entry}, {item.key}"
                    lines.append(f"      {place}: {item.message}")
    lines += [f"{count:4} {', '.join(rules)}" for rules, count in together.most_common()]
    total = max(len(found), 1)
    innocents = sum(len(verdict.innocents) for verdict in verdicts)
    lines.append(
        f"{len(verdicts)} slips, {len(found)} found; {innocents} innocents of {len(innocent)} slips; "
        f"{1 - len(several) / total:.1%} with one diagnostic, {1 - len(away) / total:.1%} in the edited entry; "
        f"{len(beside)} at another formula of it"
    )
    return "\n".join(lines)
