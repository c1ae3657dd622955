"""Which rules run: names, patterns and ALL, of several sources."""

from __future__ import annotations

import pytest

from derivlint.lint import Diagnostic, Severity
from derivlint.lint.diagnostic import Confidence
from derivlint.project.settings.selection import Selection, resolve, selected
from derivlint.project.settings.settings import Settings
from derivlint.source import Span
from tests.cli.conftest import word_rule

RULES = (
    word_rule("a-one", "x", Severity.ERROR),
    word_rule("a-two", "x", Severity.ERROR),
    word_rule("b-one", "x", Severity.WARNING),
    word_rule("b-new", "x", Severity.WARNING, status="preview"),
)


def chosen(*selections: Selection, preview: bool = False) -> list[str]:
    return [rule.name for rule in selected(RULES, selections, preview)]


def test_by_default_the_stable_rules_run() -> None:
    assert chosen() == ["a-one", "a-two", "b-one"]
    assert chosen(preview=True) == ["a-one", "a-two", "b-one", "b-new"]


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(select=("b-one", "a-one")), ["a-one", "b-one"]),
        (Selection(select=("b-new",)), ["b-new"]),
        (Selection(select=("b-*",)), ["b-one"]),
        (Selection(select=("ALL",)), ["a-one", "a-two", "b-one"]),
        (Selection(ignore=("a-*",)), ["b-one"]),
        (Selection(ignore=("ALL",)), []),
        (Selection(extend_select=("b-new",)), ["a-one", "a-two", "b-one", "b-new"]),
        # the more specific selector wins, wherever it stands
        (Selection(select=("ALL",), ignore=("a-*",), extend_select=("a-two",)), ["a-two", "b-one"]),
        (Selection(select=("a-one",), ignore=("a-*",)), ["a-one"]),
        (Selection(select=("?-one",), ignore=("a-one*",)), ["b-one"]),
        (Selection(ignore=("*-one",), extend_select=("a-*",)), ["a-two"]),
        # of two that are equally specific, ignore wins
        (Selection(select=("a-one",), ignore=("a-one",)), []),
    ],
)
def test_within_one_source_the_more_specific_selector_wins(selection: Selection, expected: list[str]) -> None:
    assert chosen(selection) == expected


def test_a_more_important_source_comes_on_top() -> None:
    low = Selection(ignore=("a-one",), extend_select=("b-new",))
    assert chosen(low, Selection(ignore=("b-one",))) == ["a-two", "b-new"]
    assert chosen(low, Selection(extend_select=("a-*",))) == ["a-one", "a-two", "b-one", "b-new"]
    assert chosen(low, Selection(ignore=("b-*",))) == ["a-two"]
    assert chosen(low, Selection(select=("a-*",))) == ["a-one", "a-two"]


def test_selectors_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("derivlint.rules.RENAMED", {"old-name": "unknown-key"})
    assert resolve("unknown-key").mistake is None
    assert resolve("compiler-error").mistake is None
    assert resolve("ALL").mistake is None
    assert resolve("ALL", patterns=False).mistake == 'unknown rule "ALL"; "derivlint rules" lists them'
    assert resolve("unknown-*").mistake is None
    assert resolve("nope-*").mistake == 'no rule matches "nope-*"'
    assert resolve("all").mistake == 'unknown rule "all"; did you mean "ALL"?'
    old = resolve("old-name")
    assert (old.selector, old.warning, old.mistake) == (
        "unknown-key",
        'rule "old-name" is now called "unknown-key"',
        None,
    )


def finding(rule: str, entry: str | None = "sin", severity: Severity = Severity.ERROR) -> Diagnostic:
    return Diagnostic("d.yaml", Span(0, 1), rule, "x", severity, Confidence.HIGH, entry=entry)


def judged(found: Diagnostic, **given: object) -> Severity | None:
    """The severity of a finding, None where it is left out."""
    kept = Settings().overridden(**given).adjusted((found,), "d.yaml")
    return kept[0].severity if kept else None


def test_the_most_specific_selector_gives_the_severity() -> None:
    severity = {"unknown-key": Severity.INFO, "ALL": Severity.WARNING, "unused-*": Severity.ERROR}
    assert judged(finding("unknown-key"), severity=severity) is Severity.INFO
    assert judged(finding("unused-tangent"), severity=severity) is Severity.ERROR
    assert judged(finding("wrong-index"), severity=severity) is Severity.WARNING
    assert judged(finding("compiler-error"), severity=severity) is Severity.WARNING
    # what derivlint says of itself cannot be switched off
    assert judged(finding("internal-error"), severity=severity) is Severity.ERROR
    assert judged(finding("wrong-index"), severity={"unused-*": Severity.INFO}) is Severity.ERROR


def test_of_equally_specific_selectors_the_last_gives_the_severity() -> None:
    assert judged(finding("unused-tangent"), severity={"unused-*": Severity.INFO, "*-tangen": Severity.ERROR}) is (
        Severity.INFO
    )
    both = {"u*d-tangent": Severity.INFO, "un*-tangent": Severity.WARNING}
    assert judged(finding("unused-tangent"), severity=both) is Severity.WARNING
    assert judged(finding("unused-tangent"), severity=dict(reversed(both.items()))) is Severity.INFO


def test_a_rule_that_is_off_does_not_run_unless_the_command_line_selects_it() -> None:
    off = Settings().with_layer({"severity": {"a-*": None}}, {}, "file")
    assert [rule.name for rule in off.selected(RULES)] == ["b-one"]
    assert [rule.name for rule in off.overridden(select=("a-one",)).selected(RULES)] == ["a-one"]
    assert judged(finding("compiler-error"), severity={"compiler-error": None}) is None
    assert judged(finding("compiler-error"), ignore=("compiler-*",)) is None
    assert judged(finding("compiler-error"), select=("a-one",)) is Severity.ERROR


def test_findings_in_entries_of_operators_are_ignored_by_pattern() -> None:
    ignores = {"sort*": ("wrong-*",), "sin": ("ALL",)}
    assert judged(finding("wrong-index", "sort.stable"), per_operator_ignores=ignores) is None
    assert judged(finding("unknown-key", "sort.stable"), per_operator_ignores=ignores) is Severity.ERROR
    assert judged(finding("unknown-key", "sin"), per_operator_ignores=ignores) is None
    assert judged(finding("unknown-key", "sin_"), per_operator_ignores=ignores) is Severity.ERROR
    assert judged(finding("unknown-key", None), per_operator_ignores={"*": ("ALL",)}) is Severity.ERROR


def test_tables_of_several_sources_are_merged_and_lists_replaced() -> None:
    low = Settings().with_layer(
        {
            "severity": {"a-*": Severity.INFO, "b-one": None},
            "options": {"r": {"x": 1, "y": 2}},
            "per_operator_ignores": {"sin": ("a-one",)},
            "min_severity": Severity.INFO,
        },
        {},
        "file",
    )
    high = low.with_layer(
        {
            "severity": {"b-one": Severity.ERROR},
            "options": {"r": {"y": 3}, "s": {"z": 4}},
            "per_operator_ignores": {"cos": ("a-two",)},
            "min_severity": Severity.ERROR,
        },
        {},
        "--config",
    )
    assert dict(high.severity) == {"a-*": Severity.INFO, "b-one": Severity.ERROR}
    assert dict(high.options) == {"r": {"x": 1, "y": 3}, "s": {"z": 4}}
    assert dict(high.per_operator_ignores) == {"sin": ("a-one",), "cos": ("a-two",)}
    assert high.min_severity is Severity.ERROR


def test_groups_are_selected_like_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {"a-one": "names", "a-two": "types", "b-one": "names", "b-new": "names"}
    monkeypatch.setattr("derivlint.rules.group_of", groups.get)
    assert chosen(Selection(select=("names",))) == ["a-one", "b-one"]
    assert chosen(Selection(select=("names",)), preview=True) == ["a-one", "b-one", "b-new"]
    assert chosen(Selection(ignore=("names",))) == ["a-two"]
    # a name comes before a pattern, a pattern before a group, a group before all
    assert chosen(Selection(ignore=("names",), extend_select=("b-one",))) == ["a-two", "b-one"]
    assert chosen(Selection(select=("a-*",), ignore=("names",))) == ["a-one", "a-two"]
    assert chosen(Selection(select=("ALL",), ignore=("names",))) == ["a-two"]


def test_names_of_groups_are_looked_up() -> None:
    assert resolve("gradients").mistake is None
    assert resolve("gradiens").mistake == 'unknown rule "gradiens"; did you mean "gradients"?'
    assert resolve("gradients", patterns=False).mistake == '"gradients" is a group of rules; name a rule'


def test_a_group_gives_a_severity() -> None:
    severity = {"names": Severity.INFO, "undefined-member": Severity.ERROR, "ALL": Severity.WARNING}
    assert judged(finding("undefined-name"), severity=severity) is Severity.INFO
    assert judged(finding("undefined-member"), severity=severity) is Severity.ERROR
    assert judged(finding("wrong-index"), severity=severity) is Severity.WARNING
    assert judged(finding("wrong-vjp"), severity={"numbers": Severity.INFO}) is Severity.INFO
    assert judged(finding("undefined-name"), ignore=("names",)) is Severity.ERROR
    assert judged(finding("undefined-name"), per_operator_ignores={"sin": ("names",)}) is None
