"""Baselines: what they know, what is stale, and their text."""

from __future__ import annotations

from collections import Counter

import pytest

from derivlint.lint import Confidence, Diagnostic, Severity
from derivlint.lint.baseline import Baseline, BaselineError, entry_of, read_baseline, render_baseline
from derivlint.lint.fingerprint import Identity
from derivlint.source import SourceFile, Span

SOURCE = SourceFile("d.yaml", "foo bar foo foo " + "long " * 100)


def finding(start: int, end: int, rule: str = "some-rule") -> Diagnostic:
    return Diagnostic("d.yaml", Span(start, end), rule, "m", Severity.ERROR, Confidence.HIGH, entry="a", key="self")


FOO = [finding(start, start + 3) for start in (0, 8, 12)]
BAR = finding(4, 7)


def identity(text: str, rule: str = "some-rule", path: str = "d.yaml") -> Identity:
    return Identity(path, rule, "a", "", "self", text)


def test_as_many_findings_are_known_as_are_counted() -> None:
    baseline = Baseline(Counter({identity("foo"): 2}))
    assert baseline.unknown((*FOO[:1], BAR, *FOO[1:]), SOURCE, "d.yaml") == (BAR, FOO[2])


def test_what_is_left_over_is_stale_where_somebody_looked() -> None:
    known = {
        identity("foo"): 3,
        identity("gone"): 1,
        identity("gone", "other-rule"): 1,
        identity("x", path="other.yaml"): 1,
        identity("x", path="deleted.yaml"): 1,
    }
    baseline = Baseline(Counter(known))
    assert baseline.unknown(tuple(FOO[:2]), SOURCE, "d.yaml") == ()
    stale = baseline.stale({"d.yaml": lambda key: key.rule == "some-rule"}, lambda path: path == "other.yaml")
    assert stale == {identity("foo"): 1, identity("gone"): 1, identity("x", path="deleted.yaml"): 1}


def test_an_update_replaces_what_was_looked_for_and_keeps_the_rest() -> None:
    baseline = Baseline(Counter({identity("foo"): 3, identity("gone"): 1, identity("x", path="other.yaml"): 1}))
    stale = Counter({identity("foo"): 1, identity("gone"): 1})
    updated = baseline.updated(Counter({identity("foo"): 2, identity("new"): 1}), stale)
    assert updated.known == {identity("foo"): 2, identity("new"): 1, identity("x", path="other.yaml"): 1}


def test_an_error_of_derivlint_is_never_known() -> None:
    item = finding(0, 3, "internal-error")
    assert Baseline(Counter({entry_of(item, SOURCE, "d.yaml"): 9})).unknown((item,), SOURCE, "d.yaml") == (item,)


def test_the_text_is_sorted_and_has_one_line_for_each_finding() -> None:
    baseline = Baseline(
        Counter({identity("é", "b-rule"): 1, identity("foo"): 2, Identity("d.yaml", "a", "", "", "", ""): 1})
    )
    text = render_baseline(baseline)
    assert text == (
        '{\n "version": 1,\n "findings": [\n'
        '  {"path": "d.yaml", "rule": "a"},\n'
        '  {"path": "d.yaml", "rule": "b-rule", "entry": "a", "key": "self", "text": "é"},\n'
        '  {"path": "d.yaml", "rule": "some-rule", "entry": "a", "key": "self", "text": "foo", "count": 2}\n'
        " ]\n}\n"
    )
    assert read_baseline(text).known == baseline.known
    assert render_baseline(Baseline()) == '{\n "version": 1,\n "findings": []\n}\n'


def test_long_texts_are_cut_and_still_distinguished() -> None:
    first, second = (entry_of(finding(16, end), SOURCE, "d.yaml").text for end in (400, 405))
    assert len(first) <= 100
    assert first[:84] == second[:84]
    assert first != second


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "it is not JSON: Expecting value: line 1 column 2 (char 1)"),
        ("[]", 'it has no "version"'),
        ('{"version": 2}', "it has version 2, this derivlint knows version 1"),
        ('{"version": 1}', 'it has no list "findings"'),
        ('{"version": 1, "findings": [1]}', "finding 1 is not an object"),
        ('{"version": 1, "findings": [{"rule": "a"}]}', 'finding 1 has no "path" or no "rule"'),
        ('{"version": 1, "findings": [{"path": "a", "rule": 1}]}', '"rule" of finding 1 is not a text'),
        ('{"version": 1, "findings": [{"line": 1}]}', 'finding 1 has an unknown key "line"'),
        ('{"version": 1, "findings": [{"count": 0}]}', '"count" of finding 1 is not a positive number'),
    ],
)
def test_what_is_no_baseline_is_refused(text: str, message: str) -> None:
    with pytest.raises(BaselineError) as raised:
        read_baseline(text)
    assert str(raised.value) == message
