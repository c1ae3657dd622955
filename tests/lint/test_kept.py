"""What is kept of the check of one text for the next: after any edit the findings are those of a check from scratch."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest
from msgspec import msgpack

from derivlint.lint import Finding, Rule, RuleMeta, Severity
from derivlint.lint.baseline import Baseline
from derivlint.lint.engine import readers
from derivlint.lint.engine.kept import CheckedText, Kept, Stopped, check_text, models_of
from derivlint.lint.engine.run import Checker
from derivlint.model import Entry, Model
from derivlint.model.index import SPACING, EntryIndex
from derivlint.model.query import Read
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.filtering.baselines import BaselineFile
from derivlint.project.filtering.finding_filter import FindingFilter
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from derivlint.yaml_reader.pieces import Pieces
from derivlint.yaml_reader.reader import PlacedNode
from tests.random_edits import edited


@pytest.fixture(scope="module")
def rules() -> tuple[Rule, ...]:
    return Settings().selected(load_rules())


@pytest.fixture(scope="module")
def text(derivatives_path: Path) -> str:
    return derivatives_path.read_text(encoding="utf-8")


def checked(text: str, natives: NativeFunctions, rules: tuple[Rule, ...], kept: Kept | None = None) -> CheckedFile:
    # what the rules judged is asked for where there is a baseline
    with_baseline = FindingFilter(baseline=BaselineFile(Path("baseline.json"), Baseline()))
    source = SourceFile("d.yaml", text)
    return check_source(source, natives, Settings(), rules, finding_filter=with_baseline, kept=kept)


def everything(found: CheckedFile) -> list[object]:
    """All that a check says."""
    diagnostics = [(item, item.severity, item.help, item.fix, item.related) for item in found.findings.diagnostics]
    findings = found.findings
    return [*diagnostics, findings.silenced, findings.unjudged, findings.entries, findings.formulas, found.crashes]


#: The operators of all entries, under one key.
NAMES = EntryIndex(f"{__name__}:NAMES", lambda entry: [("", entry.operator or "")])


def of_entries(text: str, count: int) -> str:
    """The first entries of a file."""
    return "\n- name:".join(text.split("\n- name:")[:count]) + "\n"


def follow(text: str, edits: int, seed: int, natives: NativeFunctions, rules: tuple[Rule, ...]) -> None:
    """Check that many texts in turn, each made of the one before or of the first one."""
    random = Random(seed)
    now, kept = text, checked(text, natives, rules).kept
    texts = [text]
    for number in range(edits):
        # now and then what was broken is repaired, or someone undoes the last edits
        chance = random.random()
        now = random.choice(texts[-4:]) if chance > 0.85 else edited(now if chance < 0.6 else text, random)
        texts.append(now)
        found = checked(now, natives, rules, kept)
        assert everything(found) == everything(checked(now, natives, rules)), (seed, number, now)
        # what cannot be kept is left over from an earlier text; kept on disk it is the same
        kept = found.kept or kept
        if kept is not None and number % 3 == 0:
            kept = msgpack.decode(msgpack.encode(kept), type=Kept)
        if kept is not None and number % 5 == 0:
            # entries are found by what they looked up, instead of being looked through
            assert kept.readers.numbers


@pytest.mark.parametrize("seed", range(8))
def test_after_edits_of_a_part_of_the_file_all_is_found_as_from_scratch(
    text: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...], seed: int
) -> None:
    first = Random(seed).randrange(600)
    part = "\n- name:".join(["", *text.split("\n- name:")[first : first + 30]]).lstrip("\n") + "\n"
    follow(part, 40, seed, bundled_natives, rules)


@pytest.mark.long
def test_after_edits_of_the_whole_file_all_is_found_as_from_scratch(
    text: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    follow(text, 25, 1, bundled_natives, rules)


SMALL = """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()

# derivlint: ignore[undefined-name] why not
- name: neg(Tensor self) -> Tensor
  self: gard.neg()

- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("abs(Tensor self)", "abs(Tensor slef)"),
        ("gard", "grad"),
        ("[undefined-name]", "[undefined-nam]"),
        ("# derivlint: ignore[undefined-name] why not\n", ""),
        ("name: sin", "name: abs"),
        ("self.sgn()", "(self.sgn()"),
        ("  self: gard.neg()", "  self: gard.neg()\n  self: grad"),
        ("- name: neg", "- nmae: neg"),
        ("  self: grad * self.sgn()\n", ""),
        ("gard.neg()\n", "gard.neg()\n# why\n  result: auto_linear\n"),
        ("gard.neg()", '"gard.neg()'),
        ("gard.neg()", "&a grad\n  result: *a"),
        ("- name: abs", "backward:\n- name: abs"),
        ("  self: grad * self.sgn()\n", "  self: grad * self.sgn();\n  view_autograd: true\n"),
        ("- name: abs", "---\n- name: abs"),
        (SMALL, ""),
    ],
)
def test_an_edit_of_a_small_file_is_judged_like_the_whole(
    old: str, new: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    """There, and back again."""
    kept = checked(SMALL, bundled_natives, rules).kept
    after = SMALL.replace(old, new, 1)
    found = checked(after, bundled_natives, rules, kept)
    assert everything(found) == everything(checked(after, bundled_natives, rules))
    back = checked(SMALL, bundled_natives, rules, found.kept or kept)
    assert everything(back) == everything(checked(SMALL, bundled_natives, rules))


def test_a_file_that_gets_versions_is_judged_for_each_of_them(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    versions = (
        "all_version: [v2.1, v2.2]\nbackward:\n"
        "- name: abs(Tensor self) -> Tensor\n  self: gard\n  version: v2.1\n"
        "- name: abs(Tensor self) -> Tensor\n  self: grda\n  version: v2.2\n"
    )
    kept = checked(SMALL, bundled_natives, rules).kept
    found = checked(versions, bundled_natives, rules, kept)
    assert everything(found) == everything(checked(versions, bundled_natives, rules))
    assert len([item for item in found.found if item.rule == "undefined-name"]) == 2


def n_checked(before: str, after: str, natives: NativeFunctions, rules: tuple[Rule, ...]) -> int:
    """How many entries are checked again after an edit."""
    kept = text_checked(SourceFile("d.yaml", before), natives, rules).kept
    return text_checked(SourceFile("d.yaml", after), natives, rules, kept=kept).checked


def test_what_is_not_yaml_between_entries_may_change_together_with_others(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    """The entries before and after it are the same, but not as far from each other."""
    whole = SMALL.replace("# derivlint: ignore[undefined-name] why not\n", "- name: cos\n\n")
    text = whole.replace("name: cos", "name: cos: cos")
    before = checked(text, bundled_natives, rules, checked(whole, bundled_natives, rules).kept)
    (undefined,) = (item for item in before.shown if item.rule == "undefined-name")
    after = text.replace("cos: cos", "acos: acos").replace("conj()", "conj() ")
    found = checked(after, bundled_natives, rules, before.kept)
    assert undefined.span.shift(2) in [item.span for item in found.shown]
    assert everything(found) == everything(checked(after, bundled_natives, rules))


def text_checked(
    source: SourceFile,
    natives: NativeFunctions,
    rules: tuple[Rule, ...],
    kept: Kept | None = None,
    stop: Callable[[], bool] | None = None,
) -> CheckedText:
    (model,) = models_of(source, natives, kept=kept)
    return check_text(model, rules, kept=kept, stop=stop)


def test_only_what_an_edit_can_have_changed_is_checked_again(
    text: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    ordinary = tuple(rule for rule in rules if rule.target != "suppressions")

    def after(old: str, new: str) -> int:
        changed = text.replace(old, new, 1)
        assert changed != text
        return n_checked(text, changed, bundled_natives, ordinary)

    assert after("grad * self.sgn()", "grad * self.sgn() * 2") == 1
    assert n_checked(text, text, bundled_natives, ordinary) == 0
    assert n_checked(text, text.replace("\n\n", "\n\n\n", 1), bundled_natives, ordinary) <= 1
    # other overloads have other schemas
    scalar = "- name: mul.Scalar(Tensor self, Scalar other) -> Tensor\n  self: "
    assert after(scalar, f"{scalar}2 * ") == 1
    # what calls an operator reads its entry
    assert after("name: sinh(", "name: sinhh(") < 10
    assert after("- name: sinh(Tensor self) -> Tensor\n  self: grad * self.cosh().conj()\n", "") < 10


@pytest.mark.parametrize(
    "comment", ["", "# derivlint: ignore[undefined-name]", "# derivlint: ignore-file[undefined-name]"]
)
def test_an_edit_reads_few_entries(
    text: str,
    bundled_natives: NativeFunctions,
    rules: tuple[Rule, ...],
    comment: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Comments and a baseline are judged by what is known of the other entries."""
    text = f"{comment}\n{text[text.index('- name: acos(') :]}"
    kept = checked(text, bundled_natives, rules).kept
    positions: set[int] = set()
    item = Pieces.item

    def noted(pieces: Pieces, index: int) -> PlacedNode:
        positions.add(index)
        return item(pieces, index)

    monkeypatch.setattr(Pieces, "item", noted)
    found = checked(text.replace("grad * self.sinh()", "grad * self.sinh() * 2", 1), bundled_natives, rules, kept)
    assert 0 < len(positions) < 20 < len(found.model.entries)


def test_a_check_that_is_stopped_goes_on_where_it_stood(
    text: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    ordinary = tuple(rule for rule in rules if rule.target != "suppressions")
    source = SourceFile("d.yaml", of_entries(text, 60))
    asked = 0
    kept: Kept | None = None

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked % 10 == 0

    rounds = 0
    while True:
        try:
            found = text_checked(source, bundled_natives, ordinary, kept=kept, stop=stop)
            break
        except Stopped as stopped:
            kept, rounds = stopped.kept, rounds + 1
    assert rounds > 4
    whole = text_checked(source, bundled_natives, ordinary)
    assert found.result == whole.result
    assert found.checked < 15


@pytest.mark.parametrize("is_sorted", [False, True])
def test_an_entry_that_moves_changes_the_order(bundled_natives: NativeFunctions, is_sorted: bool) -> None:
    """Who looked it up has seen it, although what the index has of each entry is the same."""

    def check(entry: Entry, model: Model) -> Iterable[Finding]:
        yield Finding(entry.name_span, ", ".join(model.values_in(NAMES, "")))

    rule = Rule("order", "", "", RuleMeta(Severity.INFO, "style"), "entry", check, (), (), needs=("model",))
    entries = [
        "- name: abs(Tensor self) -> Tensor\n",
        "- name: neg(Tensor self) -> Tensor\n",
        "- name: sin(Tensor self) -> Tensor\n",
    ]
    before = text_checked(SourceFile("d.yaml", "".join(entries)), bundled_natives, (rule,)).kept
    assert before is not None
    if is_sorted:
        assert before.readers.numbers
    after = text_checked(
        SourceFile("d.yaml", "".join([*entries[1:], entries[0]])), bundled_natives, (rule,), kept=before
    )
    assert {item.message for item in after.result.diagnostics} == {"neg, sin, abs"}


def test_who_looked_up_what_is_noted_anew_when_most_of_it_is_of_entries_that_are_gone(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "SPARE", 0)
    kept = checked(SMALL, bundled_natives, rules).kept
    assert kept is not None
    for text in (SMALL.replace("gard", "grad"), SMALL.replace("gard", "gard2"), SMALL):
        assert [*kept.readers.numbers] == [0, SPACING, 2 * SPACING]
        found = checked(text, bundled_natives, rules, kept)
        assert found.shown == checked(text, bundled_natives, rules).shown
        assert found.kept is not None
        assert found.kept.known_readers is None
        kept = found.kept


@pytest.mark.usefixtures("collector_off")
def test_nothing_is_left_of_earlier_texts(bundled_natives: NativeFunctions, rules: tuple[Rule, ...]) -> None:
    """The editor takes their models apart, and does not search for cycles while someone types."""
    ordinary = tuple(rule for rule in rules if rule.target != "suppressions")
    text = SMALL
    found = text_checked(SourceFile("d.yaml", text), bundled_natives, ordinary)
    edits = (("gard", "grad"), ("neg(", "negg("), ("negg(", "neg(("), ("neg((", "neg("), ("- name: neg", "- nmae: neg"))
    for old, new in edits:
        before = found
        text = text.replace(old, new, 1)
        found = text_checked(SourceFile("d.yaml", text), bundled_natives, ordinary, kept=before.kept)
        gone = weakref.ref(before.model)
        before.model.discard()
        del before
        assert gone() is None, (old, new)


@pytest.mark.long
def test_what_a_rule_reads_does_not_depend_on_what_was_asked_before(
    text: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    """An answer that is kept has to say what it rests on whoever asks for it, the first and every other one."""
    ordinary = tuple(rule for rule in rules if rule.target != "suppressions")
    source = SourceFile("d.yaml", text)
    together = text_checked(source, bundled_natives, ordinary).kept
    assert together is not None
    for index in range(Random(7).randrange(120), len(together.entries), 120):
        found = together.entries[index]
        assert found is not None
        reads = {ordinary[position].name: each.reads for each in found.asked for position in each.rules}
        for position, rule in enumerate(ordinary):
            (model,) = models_of(source, bundled_natives, kept=together)
            # what indexes have of the other entries depends on nothing else
            model.indexed.update(together.indexed)
            alone = Checker(model, ordinary, [position]).entry(model.entries[index])
            expected = frozenset[Read]().union(*(each.reads for each in alone.asked))
            assert reads.get(rule.name, frozenset()) == expected, (model.entries[index].operator, rule.name)
