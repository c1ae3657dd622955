"""Memos of earlier texts: after any edit the findings are those of a check from scratch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from derivlint.lint import Finding, Rule, RuleMeta, Severity
from derivlint.lint.baseline import Baseline
from derivlint.lint.engine.incremental import Cancelled, CheckedText, check_text
from derivlint.lint.engine.run import Checker
from derivlint.model import Entry, Model, build_models
from derivlint.model.index import BY_OPERATOR, BY_SCHEMA, EntryIndex
from derivlint.model.memos import MAX_GONE, Memos
from derivlint.project.caching.memos_on_disk import load_memos, store_memos
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.filtering.baselines import BaselineFile
from derivlint.project.filtering.findings import FindingFilter
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from derivlint.yaml_reader.reader import PlacedNode
from derivlint.yaml_reader.split import SplitDocument
from tests.mutators.edits import edited
from tests.sampling import CAMPAIGN, sample


@pytest.fixture(scope="module")
def rules() -> tuple[Rule, ...]:
    return Settings().selected(load_rules())


@pytest.fixture(scope="module")
def text(derivatives_path: Path) -> str:
    return derivatives_path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shortened(text: str) -> str:
    """A third of the entries; in a campaign the whole file."""
    head, *entries = re.split(r"(?m)^(?=- name: )", text)
    needed = [entry for entry in entries if re.match(r"- name: (abs|a?cosh?|a?sinh?|a?tanh?|mul\.\w+)\(", entry)]
    return head + "".join(sample(entries, 230, always=needed))


def checked(
    text: str,
    natives: NativeFunctions,
    rules: tuple[Rule, ...],
    memos: Memos | None = None,
    stop: Callable[[], bool] | None = None,
) -> CheckedFile:
    # what the rules judged is found out where there is a baseline
    with_baseline = FindingFilter(baseline=BaselineFile(Path("baseline.json"), Baseline()))
    source = SourceFile("d.yaml", text)
    return check_source(source, natives, Settings(), rules, finding_filter=with_baseline, memos=memos, stop=stop)


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


def fails_at(number: int, error: type[BaseException]) -> Callable[[], bool]:
    """Raise at the check of an entry, which stands for any place in a check."""
    left = number

    def stop() -> bool:
        nonlocal left
        left -= 1
        if left < 0:
            raise error
        return False

    return stop


def ask_as_an_editor(model: Model, random: Random) -> None:
    """Work out what hovers, symbols and generated code show, some of it for the first time."""
    entries = random.sample([*model.entries], min(3, len(model.entries)))
    for entry in entries:
        for body in entry.bodies:
            info = model.info_of(body)
            if info is not None:
                model.node_name(info)
        model.evaluations(entry)
        model.type_problems(entry)
        model.values_in(BY_OPERATOR, entry.operator or "")


def follow(text: str, edits: int, seed: int, natives: NativeFunctions, rules: tuple[Rule, ...], file: Path) -> None:
    """Check that many texts in turn, each made of the one before or of the first one.

    Between them memos are kept on disk, checks are cancelled or fail, and editors ask about the last text.
    """
    random = Random(seed)
    now, memos = text, Memos()
    model = checked(text, natives, rules, memos).model
    texts = [text]
    for number in range(edits):
        # now and then what was broken is repaired, or someone undoes the last edits
        chance = random.random()
        now = random.choice(texts[-4:]) if chance > 0.85 else edited(now if chance < 0.6 else text, random)
        texts.append(now)
        match random.randrange(6):
            case 0:
                with suppress(Cancelled):
                    checked(now, natives, rules, memos, fails_at(random.randrange(9), Cancelled))
            case 1:
                with suppress(Cancelled):
                    checked(edited(now, random), natives, rules, memos, fails_at(random.randrange(9), Cancelled))
            case 2:
                with suppress(ZeroDivisionError):
                    checked(now, natives, rules, memos, fails_at(random.randrange(9), ZeroDivisionError))
            case 3:
                ask_as_an_editor(model, random)
            case 4:
                store_memos(file, memos)
                memos = load_memos(file, "d.yaml")
        found = checked(now, natives, rules, memos)
        model = found.model
        assert everything(found) == everything(checked(now, natives, rules)), (seed, number, now)


@pytest.mark.parametrize("seed", sample(range(64), 2))
def test_after_edits_of_a_part_of_the_file_all_is_found_as_from_scratch(
    text: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...], seed: int, tmp_path: Path
) -> None:
    first = Random(seed).randrange(600)
    part = "\n- name:".join(["", *text.split("\n- name:")[first : first + 30]]).lstrip("\n") + "\n"
    follow(part, 40 if CAMPAIGN else 15, seed, bundled_natives, rules, tmp_path / "memos")


@pytest.mark.long
@pytest.mark.parametrize("seed", sample(range(40), 1))
def test_after_edits_of_the_whole_file_all_is_found_as_from_scratch(
    shortened: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...], seed: int, tmp_path: Path
) -> None:
    follow(shortened, 25 if CAMPAIGN else 3, seed, bundled_natives, rules, tmp_path / "memos")


ABS = "- name: abs(Tensor self) -> Tensor\n  self: gard * self.sgn()\n"
NEG = "- name: neg(Tensor self) -> Tensor\n  self: grad.neg()\n"
SIN = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()\n"
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
        ("abs(Tensor self)", "abs(Tensor slef)"), ("gard", "grad"), ("[undefined-name]", "[undefined-nam]"),
        ("# derivlint: ignore[undefined-name] why not\n", ""), ("name: sin", "name: abs"),
        ("self.sgn()", "(self.sgn()"), ("  self: gard.neg()", "  self: gard.neg()\n  self: grad"),
        ("- name: neg", "- nmae: neg"), ("  self: grad * self.sgn()\n", ""),
        ("gard.neg()\n", "gard.neg()\n# why\n  result: auto_linear\n"), ("gard.neg()", '"gard.neg()'),
        ("gard.neg()", "&a grad\n  result: *a"), ("- name: abs", "backward:\n- name: abs"),
        ("  self: grad * self.sgn()\n", "  self: grad * self.sgn();\n  view_autograd: true\n"),
        ("- name: abs", "---\n- name: abs"), (SMALL, ""),
    ],
)  # fmt: skip
def test_an_edit_of_a_small_file_is_judged_like_the_whole(
    old: str, new: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    """There, and back again."""
    memos = Memos()
    checked(SMALL, bundled_natives, rules, memos)
    after = SMALL.replace(old, new, 1)
    found = checked(after, bundled_natives, rules, memos)
    assert everything(found) == everything(checked(after, bundled_natives, rules))
    back = checked(SMALL, bundled_natives, rules, memos)
    assert everything(back) == everything(checked(SMALL, bundled_natives, rules))


MAIN = """\
- name: elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor
  self: elu_backward(grad, alpha, scale, input_scale, /* is_result */ false, self)
"""
IN_PLACE = """\
- name: elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)
  self: elu_backward(grad, alpha, scale, input_scale, /* is_result */ true, result)
"""
GAMMA = """\
- name: _standard_gamma(Tensor self, Generator? generator=None) -> Tensor
  self: grad * _standard_gamma_grad(self, result)
"""
GAMMA_GRAD = """\
- name: _standard_gamma_grad(Tensor self, Tensor output) -> Tensor
  self: not_implemented("_standard_gamma_grad")
"""
WRONG = NEG.replace("grad.neg", "gard.neg")
#: What findings rest on becomes wrong, or right again.
HISTORIES = {
    "the main form is misspelt, and later right": (
        MAIN + IN_PLACE + GAMMA,
        MAIN.replace("elu(", "ell(") + IN_PLACE + GAMMA,
        IN_PLACE + GAMMA,
        GAMMA + IN_PLACE + MAIN,
    ),
    "what a finding rests on breaks": (
        GAMMA + GAMMA_GRAD + WRONG,
        GAMMA + GAMMA_GRAD.replace(': not_implemented("_standard_gamma_grad")', ": gard") + WRONG,
        GAMMA + GAMMA_GRAD.replace("gamma_grad(", "gama_grad(") + WRONG,
        WRONG + GAMMA_GRAD + GAMMA,
        "- name: nge(Tensor self) -> Tensor\n  self: grad\n" + WRONG + GAMMA_GRAD + GAMMA,
        "# one line more\n" + WRONG + GAMMA_GRAD + GAMMA,
    ),
    "an entry is there twice for a while": (
        WRONG + GAMMA,
        WRONG + WRONG + GAMMA,
        WRONG + WRONG.replace("gard", "grad") + GAMMA,
        WRONG.replace("gard", "grad") + WRONG + WRONG + GAMMA,
        GAMMA,
        GAMMA + WRONG,
    ),
}


@pytest.mark.parametrize("texts", HISTORIES.values(), ids=HISTORIES)
def test_what_is_left_of_findings_after_edits_is_what_a_check_from_scratch_leaves(
    texts: tuple[str, ...], bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    memos = Memos()
    for text in (*texts, *reversed(texts)):
        found = checked(text, bundled_natives, rules, memos)
        assert everything(found) == everything(checked(text, bundled_natives, rules))


def test_a_file_that_gets_versions_is_judged_for_each_of_them(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    versions = (
        "all_version: [v2.1, v2.2]\nbackward:\n"
        "- name: abs(Tensor self) -> Tensor\n  self: gard\n  version: v2.1\n"
        "- name: abs(Tensor self) -> Tensor\n  self: grda\n  version: v2.2\n"
    )
    memos = Memos()
    checked(SMALL, bundled_natives, rules, memos)
    found = checked(versions, bundled_natives, rules, memos)
    assert everything(found) == everything(checked(versions, bundled_natives, rules))
    assert len([item for item in found.unfiltered if item.rule == "undefined-name"]) == 2


def test_what_is_not_yaml_between_entries_may_change_together_with_others(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    """The entries before and after it are the same, but not as far from each other."""
    whole = SMALL.replace("# derivlint: ignore[undefined-name] why not\n", "- name: cos\n\n")
    text = whole.replace("name: cos", "name: cos: cos")
    memos = Memos()
    checked(whole, bundled_natives, rules, memos)
    before = checked(text, bundled_natives, rules, memos)
    (undefined,) = (item for item in before.shown if item.rule == "undefined-name")
    after = text.replace("cos: cos", "acos: acos").replace("conj()", "conj() ")
    found = checked(after, bundled_natives, rules, memos)
    assert undefined.span.shift(2) in [item.span for item in found.shown]
    assert everything(found) == everything(checked(after, bundled_natives, rules))


def text_checked(
    text: str,
    natives: NativeFunctions,
    rules: tuple[Rule, ...],
    memos: Memos | None = None,
    stop: Callable[[], bool] | None = None,
) -> CheckedText:
    (model,) = build_models(SourceFile("d.yaml", text), natives, memos=memos)
    found = check_text(model, rules, stop=stop)
    model.end_revision()
    return found


def test_only_what_an_edit_can_have_changed_is_checked_again(
    shortened: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    text = shortened
    ordinary = tuple(rule for rule in rules if rule.target != "suppressions")
    memos = Memos()
    text_checked(text, bundled_natives, ordinary, memos)
    assert text_checked(text, bundled_natives, ordinary, memos).checked == 0

    def after(old: str, new: str) -> int:
        """How many entries are checked again after an edit, which is undone."""
        changed = text.replace(old, new, 1)
        assert changed != text
        count = text_checked(changed, bundled_natives, ordinary, memos).checked
        text_checked(text, bundled_natives, ordinary, memos)
        return count

    assert after("grad * self.sgn()", "grad * self.sgn() * 2") == 1
    assert after("\n\n", "\n\n\n") <= 1
    # other overloads have other schemas
    scalar = "- name: mul.Scalar(Tensor self, Scalar other) -> Tensor\n  self: "
    assert after(scalar, f"{scalar}2 * ") == 1
    # what calls an operator reads its entry
    assert after("name: sinh(", "name: sinhh(") < 10
    assert after("- name: sinh(Tensor self) -> Tensor\n  self: grad * self.cosh().conj()\n", "") < 10


def test_a_fourth_unknown_operator_is_typed_without_a_check_of_all_entries(
    shortened: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    """The file is one of another release then: what the headers of this one refuse is judged without them."""
    text = shortened
    ordinary = tuple(rule for rule in rules if rule.target != "suppressions")
    for name in ("acos", "acosh", "atan"):
        text = text.replace(f"- name: {name}(", f"- name: {name}x(")
    text = text.replace("self: grad * self.cosh()", "self: maybe_multiply(grad, self, 1) * self.cosh()")
    memos = Memos()
    text_checked(text, bundled_natives, ordinary, memos)
    for name in ("atanhx", "atanhxy", "atanh") if CAMPAIGN else ("atanhx", "atanh"):
        now = text.replace("- name: atanh(", f"- name: {name}(")
        found = text_checked(now, bundled_natives, ordinary, memos)
        assert 0 <= found.checked < 15
        assert found.result == text_checked(now, bundled_natives, ordinary).result
        is_refused = "wrong-argument-count" in {item.rule for item in found.result.diagnostics}
        assert is_refused == (name == "atanh")


@pytest.mark.parametrize(
    "comment", ["", "# derivlint: ignore[undefined-name]", "# derivlint: ignore-file[undefined-name]"]
)
def test_an_edit_reads_few_entries(
    text: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...], comment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comments and a baseline are judged by what is known of the other entries."""
    text = f"{comment}\n{of_entries(text[text.index('- name: sin(') :], 60)}"
    memos = Memos()
    checked(text, bundled_natives, rules, memos)
    positions: set[int] = set()
    item = SplitDocument.item

    def noted(document: SplitDocument, index: int) -> PlacedNode:
        positions.add(index)
        return item(document, index)

    monkeypatch.setattr(SplitDocument, "item", noted)
    found = checked(text.replace("grad * self.sinh()", "grad * self.sinh() * 2", 1), bundled_natives, rules, memos)
    assert 0 < len(positions) < 20 < len(found.model.entries)


def test_a_check_that_is_cancelled_goes_on_where_it_stood(
    text: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    ordinary = tuple(rule for rule in rules if rule.target != "suppressions")
    text = of_entries(text, 60)
    memos = Memos()
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked % 10 == 0

    rounds = 0
    while True:
        try:
            found = text_checked(text, bundled_natives, ordinary, memos, stop)
            break
        except Cancelled:
            rounds += 1
    assert rounds > 4
    assert found.result == text_checked(text, bundled_natives, ordinary).result
    assert found.checked < 15


def test_an_entry_that_moves_changes_the_order(bundled_natives: NativeFunctions) -> None:
    """A rule that looked it up has seen it, although what the index has of each entry is the same."""

    def check(entry: Entry, model: Model) -> Iterable[Finding]:
        yield Finding(entry.name_span, ", ".join(model.values_in(NAMES, "")))

    rule = Rule("order", "", "", RuleMeta(Severity.INFO, "style"), "entry", check, (), (), needs=("model",))
    memos = Memos()
    text_checked(ABS + NEG + SIN, bundled_natives, (rule,), memos)
    after = text_checked(NEG + SIN + ABS, bundled_natives, (rule,), memos)
    assert {item.message for item in after.result.diagnostics} == {"neg, sin, abs"}


@pytest.mark.long
def test_what_a_rule_reads_does_not_depend_on_what_was_asked_before(
    text: str, bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    """An answer has to have its dependencies whoever asks for it, the first and every other one."""
    ordinary = tuple(rule for rule in rules if rule.target != "suppressions")
    source = SourceFile("d.yaml", text)
    known = Memos()
    (together,) = build_models(source, bundled_natives, memos=known)
    for entry in together.entries[Random(7).randrange(120) :: 120 if CAMPAIGN else 230]:
        Checker(together, ordinary).entry(entry)
        for rule in sample(ordinary, 20, seed=entry.index):
            memos = Memos()
            # what indexes have of the entries depends on nothing else
            memos.newest, memos.indexed = known.newest, {**known.indexed}
            (model,) = build_models(source, bundled_natives, memos=memos)
            alone = Checker(model, [rule]).entry(model.entries[entry.index])
            again = Checker(together, [rule]).entry(entry)
            assert again.dependencies == alone.dependencies, (entry.operator, rule.name)


@pytest.mark.parametrize(
    "between",
    [
        pytest.param([ABS, NEG.replace("grad", "grad2"), SIN], id="a formula"),
        pytest.param([ABS, NEG.replace("self: ", 'self: "'), SIN], id="a quote"),
        pytest.param([ABS, NEG.replace("neg(Tensor self)", "neg(Tensor"), SIN], id="a schema"),
        pytest.param([ABS, SIN], id="an entry that is gone"),
    ],
)
def test_what_is_undone_is_not_checked_again(
    between: list[str], bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    text, memos = ABS + NEG + SIN, Memos()
    text_checked(text, bundled_natives, rules, memos)
    text_checked("".join(between), bundled_natives, rules, memos)
    back = text_checked(text, bundled_natives, rules, memos)
    assert back.result == text_checked(text, bundled_natives, rules).result
    assert back.checked == 0


def test_an_entry_that_is_pasted_elsewhere_brings_its_findings_along(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    memos = Memos()
    for text in (ABS + NEG + SIN, NEG + SIN):
        text_checked(text, bundled_natives, rules, memos)
    found = text_checked(NEG + SIN + ABS, bundled_natives, rules, memos)
    assert found.checked == 0
    assert found.result == text_checked(NEG + SIN + ABS, bundled_natives, rules).result
    (finding,) = [item for item in found.result.diagnostics if item.rule == "undefined-name"]
    assert finding.span.start == len(NEG + SIN) + ABS.index("gard")


def looks_up(other: str) -> Rule:
    """A rule that reports of each entry what it looks up: the text of another one, and where that is."""

    def check(entry: Entry, model: Model) -> Iterable[Finding]:
        schemas = model.values_in(BY_SCHEMA, f"{other}(Tensor self) -> Tensor")
        texts = [model.source.slice(item.name_span) for item in model.entries_in(BY_OPERATOR, other)]
        formulas = [len(item.bodies[0].formulas) for item in model.entries_in(BY_OPERATOR, other)]
        yield Finding(entry.name_span, f"{schemas} {texts} {formulas}")

    return Rule("look", "", "", RuleMeta(Severity.INFO, "style"), "entry", check, (), (), needs=("model",))


@pytest.mark.parametrize(
    "after",
    [NEG.replace("neg()", "abs()"), NEG + "  result: auto_linear\n", NEG + NEG, "", NEG.replace("neg(", "nge(")],
)
def test_what_rests_on_an_entry_that_changed_meanwhile_is_checked_again(
    after: str, bundled_natives: NativeFunctions
) -> None:
    rules, memos = (looks_up("neg"),), Memos()
    right = ABS.replace("gard", "grad")
    for text in (ABS + NEG + SIN, right + NEG + SIN, right + after + SIN, ABS + after + SIN, ABS + NEG + SIN):
        found = text_checked(text, bundled_natives, rules, memos)
        assert found.result == text_checked(text, bundled_natives, rules).result


def test_where_an_entry_is_among_those_of_its_kind_counts(bundled_natives: NativeFunctions) -> None:
    """Two of the same text are found under the same keys, with the same values."""

    def check_order(entry: Entry, model: Model) -> Iterable[Finding]:
        same = model.entries_in(BY_OPERATOR, entry.operator or "")
        yield Finding(entry.name_span, f"{same.index(entry) + 1} of {len(same)}")

    rule = Rule("order", "", "", RuleMeta(Severity.INFO, "style"), "entry", check_order, (), (), needs=("model",))
    memos = Memos()
    for text in (NEG + SIN + NEG, SIN + NEG):
        text_checked(text, bundled_natives, (rule,), memos)
    found = text_checked(SIN + NEG + NEG, bundled_natives, (rule,), memos)
    assert [item.message for item in found.result.diagnostics] == ["1 of 1", "1 of 2", "2 of 2"]


def test_places_in_other_entries_move_with_those(bundled_natives: NativeFunctions, rules: tuple[Rule, ...]) -> None:
    """The second of two entries for one operator points to the first one."""
    memos = Memos()
    again = NEG.replace("neg()", "neg() * 1")
    for text in (NEG + SIN + again, ABS + NEG + SIN + again, ABS + NEG + ABS + SIN + again, SIN + again + NEG):
        found = text_checked(text, bundled_natives, rules, memos)
        assert found.result == text_checked(text, bundled_natives, rules).result
        assert any(item.related for item in found.result.diagnostics)


def test_a_rule_that_crashes_is_asked_again(bundled_natives: NativeFunctions) -> None:
    crashes = True

    def check(entry: Entry) -> Iterable[Finding]:
        if crashes and entry.operator == "neg":
            raise ValueError
        yield Finding(entry.name_span, "an entry")

    rule = Rule("crash", "", "", RuleMeta(Severity.INFO, "style"), "entry", check, (), ())
    memos = Memos()
    assert text_checked(ABS + NEG + SIN, bundled_natives, (rule,), memos).result.internal_errors == 1
    crashes = False
    found = text_checked(ABS + NEG + SIN, bundled_natives, (rule,), memos)
    assert (found.checked, len(found.result.diagnostics)) == (1, 3)


def test_only_so_many_entries_are_remembered(bundled_natives: NativeFunctions, rules: tuple[Rule, ...]) -> None:
    memos = Memos()
    text_checked(ABS + NEG + SIN, bundled_natives, rules, memos)
    for number in range(MAX_GONE + 2):
        text_checked(ABS + NEG.replace("grad", f"grad * {number}") + SIN, bundled_natives, rules, memos)
    assert len(memos.entries) == MAX_GONE + 3
    assert text_checked(ABS + NEG + SIN, bundled_natives, rules, memos).checked == 1
