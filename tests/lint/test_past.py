"""What was found in entries as they were a moment ago comes back with them, as long as it still holds."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from derivlint.lint import Finding, RuleMeta, Severity
from derivlint.lint.engine.kept import CheckedText, Kept, check_text, models_of
from derivlint.lint.engine.past import REMEMBERED
from derivlint.lint.rule import Rule
from derivlint.model import Entry, Model
from derivlint.model.index import BY_OPERATOR, BY_SCHEMA
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

ABS = "- name: abs(Tensor self) -> Tensor\n  self: gard * self.sgn()\n"
NEG = "- name: neg(Tensor self) -> Tensor\n  self: grad.neg()\n"
SIN = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()\n"


def check(text: str, natives: NativeFunctions, rules: tuple[Rule, ...], kept: Kept | None = None) -> CheckedText:
    """A check as the editor makes it, after which more edits are expected."""
    (model,) = models_of(SourceFile("d.yaml", text), natives, kept=kept)
    found = check_text(model, rules, kept=kept)
    assert found.kept is not None
    assert found.kept.readers.numbers
    return found


@pytest.fixture(scope="module")
def rules() -> tuple[Rule, ...]:
    return tuple(rule for rule in load_rules() if rule.target != "suppressions")


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
    text = ABS + NEG + SIN
    first = check(text, bundled_natives, rules)
    other = check("".join(between), bundled_natives, rules, first.kept)
    back = check(text, bundled_natives, rules, other.kept)
    assert back.result == check(text, bundled_natives, rules).result
    assert back.checked == 0


def test_an_entry_that_is_pasted_elsewhere_brings_its_findings_along(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    kept = check(ABS + NEG + SIN, bundled_natives, rules).kept
    kept = check(NEG + SIN, bundled_natives, rules, kept).kept
    found = check(NEG + SIN + ABS, bundled_natives, rules, kept)
    assert found.checked == 0
    assert found.result == check(NEG + SIN + ABS, bundled_natives, rules).result
    (finding,) = [item for item in found.result.diagnostics if item.rule == "undefined-name"]
    assert finding.span.start == len(NEG + SIN) + ABS.index("gard")


def looks_up(other: str) -> Rule:
    """A rule that says of each entry what it looks up: the text of another one, and where that is among its kind."""

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
    rules = (looks_up("neg"),)
    kept = check(ABS + NEG + SIN, bundled_natives, rules).kept
    kept = check(ABS.replace("gard", "grad") + NEG + SIN, bundled_natives, rules, kept).kept
    kept = check(ABS.replace("gard", "grad") + after + SIN, bundled_natives, rules, kept).kept
    found = check(ABS + after + SIN, bundled_natives, rules, kept)
    assert found.result == check(ABS + after + SIN, bundled_natives, rules).result
    again = check(ABS + NEG + SIN, bundled_natives, rules, found.kept)
    assert again.result == check(ABS + NEG + SIN, bundled_natives, rules).result


def test_where_an_entry_is_among_those_of_its_kind_counts(bundled_natives: NativeFunctions) -> None:
    """Two of the same text are found under the same keys, with the same values."""

    def check_order(entry: Entry, model: Model) -> Iterable[Finding]:
        same = model.entries_in(BY_OPERATOR, entry.operator or "")
        yield Finding(entry.name_span, f"{same.index(entry) + 1} of {len(same)}")

    rule = Rule("order", "", "", RuleMeta(Severity.INFO, "style"), "entry", check_order, (), (), needs=("model",))
    kept = check(NEG + SIN + NEG, bundled_natives, (rule,)).kept
    kept = check(SIN + NEG, bundled_natives, (rule,), kept).kept
    found = check(SIN + NEG + NEG, bundled_natives, (rule,), kept)
    assert [item.message for item in found.result.diagnostics] == ["1 of 1", "1 of 2", "2 of 2"]


def test_only_so_many_entries_are_remembered(bundled_natives: NativeFunctions, rules: tuple[Rule, ...]) -> None:
    kept = check(ABS + NEG + SIN, bundled_natives, rules).kept
    for number in range(REMEMBERED + 1):
        kept = check(ABS + NEG.replace("grad", f"grad * {number}") + SIN, bundled_natives, rules, kept).kept
    assert check(ABS + NEG + SIN, bundled_natives, rules, kept).checked == 1
