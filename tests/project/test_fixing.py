"""Fixing a file: passes, fixes that do harm, and what becomes of PyTorch's own file when it is damaged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from derivlint.lint import Finding, Fix, Rule, RuleMeta, Severity, TextEdit
from derivlint.model import DerivativeFormula, Model
from derivlint.model.memos import Memos
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.fixing import MIN_TRIALS, FixedFile, fix_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, Span

RULES = tuple(rule for rule in load_rules() if rule.meta.status == "stable")
ABS = "- name: abs(Tensor self) -> Tensor\n  self: {}\n"


def checker(
    natives: NativeFunctions, rules: tuple[Rule, ...] = RULES, *, recorded: bool = True
) -> Callable[[SourceFile], CheckedFile]:
    memos = Memos() if recorded else None
    return lambda source: check_source(source, natives, Settings(), rules, memos=memos)


def rule(name: str, severity: Severity, *replacements: tuple[str, str], safe: bool = True) -> Rule:
    """A rule that finds words in formulas and replaces them."""

    def check(formula: DerivativeFormula) -> Iterator[Finding]:
        for old, new in replacements:
            for found in re.finditer(rf"\b{old}\b", formula.text or ""):
                where = formula.range(*found.span())
                yield Finding(where, f'"{old}" is used', fix=Fix("fix it", (TextEdit(where, new),), safe=safe))

    return Rule(
        name, "finds words", "finds words\n", RuleMeta(severity=severity, group="style"), "formula", check, (), ()
    )


def finder(name: str, word: str) -> Rule:
    """A rule that finds a word and has no fix for it."""

    def check(formula: DerivativeFormula) -> Iterator[Finding]:
        if word in (formula.text or ""):
            yield Finding(formula.value_span, f'"{word}" is used')

    return Rule(
        name,
        "finds a word",
        "finds a word\n",
        RuleMeta(severity=Severity.ERROR, group="style"),
        "formula",
        check,
        (),
        (),
    )


def fixed(formula: str, natives: NativeFunctions, *rules: Rule, unsafe: bool = False) -> FixedFile:
    return fix_source(SourceFile("d.yaml", ABS.format(formula)), checker(natives, rules), unsafe=unsafe)


def formula_of(outcome: FixedFile) -> str:
    return outcome.text.removeprefix(ABS.format("").rstrip("\n")).rstrip("\n")


def test_a_fix_may_make_room_for_another(bundled_natives: NativeFunctions) -> None:
    outcome = fixed("one", bundled_natives, rule("a", Severity.WARNING, ("one", "two"), ("two", "three")))
    assert formula_of(outcome) == "three"
    assert [item.message for item in outcome.fixed] == ['"one" is used', '"two" is used']


def test_fixes_that_undo_each_other_end(bundled_natives: NativeFunctions) -> None:
    outcome = fixed("one", bundled_natives, rule("a", Severity.WARNING, ("one", "two"), ("two", "one")))
    assert formula_of(outcome) == "two"


def test_a_text_that_grows_for_ever_is_fixed_a_bounded_number_of_times(bundled_natives: NativeFunctions) -> None:
    outcome = fixed("one", bundled_natives, rule("a", Severity.WARNING, ("one", "more + one")))
    assert formula_of(outcome) == "more + " * 10 + "one"


def test_the_fix_that_makes_an_error_is_left_out_and_the_others_are_kept(bundled_natives: NativeFunctions) -> None:
    harmful = rule("a", Severity.WARNING, ("two", "boom"))
    good = rule("b", Severity.WARNING, *((word, word.upper()) for word in ("one", "three", "four", "five")))
    outcome = fixed("one + two + three + four + five", bundled_natives, harmful, good, finder("c", "boom"))
    assert formula_of(outcome) == "ONE + two + THREE + FOUR + FIVE"
    assert [item.message for item in outcome.dropped] == ['"two" is used']
    assert len(outcome.fixed) == 4


def test_fixes_that_are_harmful_only_together_lose_one_of_them(bundled_natives: NativeFunctions) -> None:
    words = rule("a", Severity.WARNING, ("one", "x"), ("two", "y"))
    outcome = fixed("one + two", bundled_natives, words, finder("c", "x + y"))
    assert formula_of(outcome) == "x + two"
    assert [item.message for item in outcome.dropped] == ['"two" is used']


def test_an_error_that_was_there_before_does_not_count(bundled_natives: NativeFunctions) -> None:
    """Not where its place moves, and not where its words change with what is fixed before it."""

    def check(model: Model) -> Iterator[Finding]:
        formula = model.entries[0].bodies[0].formulas[0]
        yield Finding(formula.value_span, f'"{formula.text}" is bad')
        yield Finding(formula.key_span, f"the formula has {len(formula.text or '')} characters")

    bad = Rule("bad", "is bad", "is bad\n", RuleMeta(severity=Severity.ERROR, group="style"), "model", check, (), ())
    outcome = fixed("one", bundled_natives, rule("a", Severity.WARNING, ("one", "eleven")), bad)
    assert formula_of(outcome) == "eleven"


def test_a_fix_that_breaks_the_yaml_is_left_out(bundled_natives: NativeFunctions) -> None:
    outcome = fixed("one + two", bundled_natives, rule("a", Severity.ERROR, ("one", "'"), ("two", "2")))
    assert formula_of(outcome) == "one + 2"
    assert [item.message for item in outcome.dropped] == ['"one" is used']


def test_the_places_of_new_errors_say_which_fixes_are_to_blame(bundled_natives: NativeFunctions) -> None:
    """One error among hundreds of fixes is not sought by halves, and the fixes of one entry suspect no other."""
    texts = "".join(
        f"- name: op{i}(Tensor self) -> Tensor\n  self: {'two' if i % 9 == 4 else 'one'}\n" for i in range(90)
    )
    words = rule("a", Severity.WARNING, ("one", "ONE"), ("two", "boom"))
    checks: list[SourceFile] = []
    check = checker(bundled_natives, (words, finder("c", "boom")))

    def counted(source: SourceFile) -> CheckedFile:
        checks.append(source)
        return check(source)

    outcome = fix_source(SourceFile("d.yaml", texts), counted)
    assert outcome.text == texts.replace("one", "ONE")
    assert len(outcome.fixed) == 80
    assert len(outcome.dropped) == 10
    assert len(checks) < 30


def test_a_long_text_is_checked_only_so_often_and_what_is_not_fixed_is_said(
    bundled_natives: NativeFunctions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every two fixes together do harm somewhere else, so that each has to be tried."""
    monkeypatch.setattr("derivlint.project.fixing.MAX_TRIED", 1)

    def check(model: Model) -> Iterator[Finding]:
        if sum(formula.text == "ONE" for entry in model.entries for formula in entry.formulas) > 1:
            yield Finding(Span(0, 1), "there are two")

    bad = Rule("bad", "is bad", "is bad\n", RuleMeta(severity=Severity.ERROR, group="style"), "model", check, (), ())
    text = "".join(f"- name: op{i}(Tensor self) -> Tensor\n  self: one\n" for i in range(60))
    checks = 0
    # that rule looks at all entries, which nothing records
    checked = checker(bundled_natives, (rule("a", Severity.WARNING, ("one", "ONE")), bad), recorded=False)

    def counted(source: SourceFile) -> CheckedFile:
        nonlocal checks
        checks += 1
        return checked(source)

    outcome = fix_source(SourceFile("d.yaml", text), counted)
    assert checks == 1 + MIN_TRIALS
    assert len(outcome.fixed) + len(outcome.dropped) + len(outcome.untried) == 60
    assert len(outcome.untried) > 40


def test_unsafe_fixes_have_to_be_asked_for(bundled_natives: NativeFunctions) -> None:
    unsafe = rule("a", Severity.ERROR, ("one", "two"), safe=False)
    assert not fixed("one", bundled_natives, unsafe).changed
    assert formula_of(fixed("one", bundled_natives, unsafe, unsafe=True)) == "two"


@pytest.mark.parametrize(
    "data", [b"- name: abs(Tensor self) -> Tensor\n  self: 'grad;\n", b"- name: \xff\n  self: x;\n"]
)
def test_what_cannot_be_read_is_left_alone(data: bytes, bundled_natives: NativeFunctions) -> None:
    source = SourceFile.from_bytes("d.yaml", data)
    outcome = fix_source(source, checker(bundled_natives))
    assert (outcome.changed, outcome.readable, outcome.fixed) == (False, False, ())


# --- PyTorch's own file, damaged -------------------------------------------------------------------------------------

ENTRY = re.compile(r"^- name: .*?(?=^- name: |\Z)", re.MULTILINE | re.DOTALL)
SLOW = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
VARIANTS = ("plain", "crlf", "bom", "no final line end", "comments", "all")


def varied(text: str, variant: str) -> str:
    """The text in another form, which means the same."""
    text = text.rstrip("\n") + "\n"
    if variant in ("comments", "all"):
        text = re.sub(r"(?m)^- name", "# é 😀 ; grads[0].sizes()\n- name", text)
    if variant in ("no final line end", "all"):
        text = text.rstrip("\n")
    if variant in ("crlf", "all"):
        text = text.replace("\n", "\r\n")
    return "\ufeff" + text if variant in ("bom", "all") else text


@pytest.fixture(scope="module")
def resolved(derivatives_path: Path, installed_natives: NativeFunctions) -> FixedFile:
    """PyTorch's file with everything fixed that can be."""
    return fix_source(SourceFile.read(derivatives_path), checker(installed_natives), unsafe=True)


@pytest.fixture(scope="module")
def real_entries(resolved: FixedFile) -> list[str]:
    """The entries of PyTorch's file, with the comments and blank lines after them; none has anything to fix."""
    return ENTRY.findall(resolved.text)


def errors_of(text: str, natives: NativeFunctions) -> set[tuple[str, str]]:
    found = checker(natives)(SourceFile("d.yaml", text)).unfiltered
    return {(item.rule, item.message) for item in found if item.severity is Severity.ERROR}


#: Slips whose fix has one outcome: the text before.
SAFE_SLIPS = (
    (r"(?m)^(  \w+: (?!auto_|non_diff)[^\n\"']*\))$", r"\1;"),
    (r"(?m)^(  (?!result)\w+: .*)\.sym_sizes\(\)", r"\1.sizes()"),
)


@SLOW
@given(seed=st.integers(0, 2**32), variant=st.sampled_from(VARIANTS))
def test_safe_slips_are_fixed_to_the_very_text_before(
    seed: int, variant: str, real_entries: list[str], bundled_natives: NativeFunctions
) -> None:
    """Of damaged entries of PyTorch's file every byte is as it was, in all forms; a second run changes nothing."""
    random = Random(seed)
    entries = random.sample(real_entries, random.randint(3, 12))
    right = varied("".join(entries), variant)
    wrong = []
    for entry in entries:
        pattern, replacement = random.choice(SAFE_SLIPS)
        wrong.append(re.sub(pattern, replacement, entry, count=1))
    source = SourceFile("d.yaml", varied("".join(wrong), variant))
    outcome = fix_source(source, checker(bundled_natives))
    assert outcome.text == right
    assert outcome.dropped == ()
    again = fix_source(outcome.result, checker(bundled_natives))
    assert not again.changed


WORD = re.compile(r"(?<=\W)[A-Za-z_]{3,}(?=\W)")


@SLOW
@given(seed=st.integers(0, 2**32), variant=st.sampled_from(VARIANTS))
def test_fixes_of_random_slips_touch_damaged_entries_only(
    seed: int, variant: str, real_entries: list[str], bundled_natives: NativeFunctions
) -> None:
    """Whatever is misspelt: YAML stays YAML, no error is added, other entries stay as they are, and once is enough."""
    random = Random(seed)
    entries = random.sample(real_entries, random.randint(2, 6))
    damaged = random.sample(range(len(entries)), random.randint(1, len(entries)))
    for number in damaged:
        text = entries[number]
        word = random.choice(list(WORD.finditer(text)))
        place = random.randrange(word.start(), word.end() - 1)
        first, second = text[place], text[place + 1]
        slip, end = random.choice([("", place + 1), (second + first, place + 2), (first * 2, place + 1)])
        entries[number] = text[:place] + slip + text[end:]
    before = varied("".join(entries), variant)
    outcome = fix_source(SourceFile("d.yaml", before), checker(bundled_natives), unsafe=True)
    after = outcome.text
    assert checker(bundled_natives)(outcome.result).model.document.problems == () or not outcome.changed
    old, new = (re.split(r"(?m)^(?=- )", text.removeprefix("\ufeff")) for text in (before, after))
    assert len(old) == len(new)
    untouched = [number for number in range(len(entries)) if number not in damaged]
    # the piece before the first entry comes first
    assert [old[number + 1] for number in untouched] == [new[number + 1] for number in untouched]
    assert len(errors_of(after, bundled_natives)) <= len(errors_of(before, bundled_natives))
    again = fix_source(outcome.result, checker(bundled_natives), unsafe=True)
    assert not again.changed


def test_the_real_file_is_fixed_line_by_line(resolved: FixedFile, installed_natives: NativeFunctions) -> None:
    """Few fixes apply to it, each within one line; then nothing is left to fix."""
    old, new = resolved.source.text.split("\n"), resolved.text.split("\n")
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    changed = [end - start for kind, start, end, _, _ in matcher.get_opcodes() if kind != "equal"]
    assert len(changed) <= len(resolved.fixed) <= 20
    assert set(changed) == {1}
    assert not fix_source(resolved.result, checker(installed_natives), unsafe=True).changed


TAN = """\
- name: tan(Tensor self) -> Tensor
  self: grad * (1 + result->pow(2)).conj() * (1 / 2) * 2
  result: auto_element_wise
"""


def test_an_error_that_a_fix_uncovers_does_not_keep_it_out(bundled_natives: NativeFunctions) -> None:
    """That the formula is wrong was there before: it did not compile, and so had no value."""
    outcome = fix_source(SourceFile("d.yaml", TAN), checker(bundled_natives))
    assert outcome.text == TAN.replace("->pow", ".pow")
    assert outcome.dropped == ()


def test_unsafe_fixes_come_after_all_safe_ones(bundled_natives: NativeFunctions) -> None:
    outcome = fix_source(SourceFile("d.yaml", TAN), checker(bundled_natives), unsafe=True)
    assert outcome.text == TAN.replace("->pow", ".pow").replace("1 / 2", "1 / 2.0")
    assert [item.rule for item in outcome.fixed] == ["wrong-member-access", "integer-division"]


def test_what_did_harm_is_tried_again_where_its_entry_changed(bundled_natives: NativeFunctions) -> None:
    """Else the next run would make the fix."""
    words = rule("a", Severity.WARNING, ("one", "x")), rule("b", Severity.WARNING, ("two", "y"), ("y", "z"))
    outcome = fixed("one + two", bundled_natives, *words, finder("c", "x + two"), finder("d", "x + y"))
    assert formula_of(outcome) == "x + z"
