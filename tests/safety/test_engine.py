"""A check that crashes, whatever it looks at, is reported at its entry, and everything else is still found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.scalar_evaluation import judgement
from derivlint.lint import Confidence, Finding, Result, Rule, RuleMeta, Severity, run_rules
from derivlint.lint.rule import Target
from derivlint.lint.suppressions.suppressions_in_use import SuppressionsInUse
from derivlint.model import DispatchBody, Entry, Model, build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.cli.conftest import Run

pytestmark = pytest.mark.long

#: Every entry has a finding of "missing-conjugate".
NAMES = ("sin", "cos", "exp", "tanh", "sinh")
FORMULAS = {
    "sin": "grad * self.cos()",
    "cos": "grad * -self.sin()",
    "exp": "grad * result",
    "tanh": "grad * (1 - result * result)",
    "sinh": "grad * self.cosh()",
}
TEXT = "".join(f"- name: {name}(Tensor self) -> Tensor\n  self: {FORMULAS[name]}\n\n" for name in NAMES)
ERRORS: tuple[Exception, ...] = (TypeError("oops"), RecursionError("deep"), MemoryError())


def make_rule(name: str, target: Target, check: Callable[..., Iterable[Finding]]) -> Rule:
    return Rule(name, "summary", "doc", RuleMeta(Severity.WARNING, "style", Confidence.HIGH), target, check, (), ())


def model_of(text: str, natives: NativeFunctions) -> Model:
    return build_model(SourceFile("d.yaml", text), natives)


def crashes_of(result: Result) -> list[tuple[str | None, int, str]]:
    return [(d.entry, d.span.start, d.message) for d in result.diagnostics if d.rule == "internal-error"]


def found_at(result: Result, rule: str) -> list[str | None]:
    return [d.entry for d in result.diagnostics if d.rule == rule]


def start_of(name: str) -> int:
    return TEXT.index(f"name: {name}(")


@pytest.mark.parametrize("target", ["entry", "body", "formula"])
def test_a_rule_for_a_part_goes_on_with_the_next(target: Target, bundled_natives: NativeFunctions) -> None:
    def check(part: Any) -> Iterator[Finding]:
        entry = part if isinstance(part, Entry) else part.entry
        if entry.operator == "exp":
            raise RecursionError("deep")
        yield Finding(entry.name_span, "fine", at=part)

    result = run_rules(model_of(TEXT, bundled_natives), [make_rule("broken", target, check)])
    assert found_at(result, "broken") == ["sin", "cos", "tanh", "sinh"]
    (crash,) = crashes_of(result)
    assert crash[0] == "exp"
    assert crash[1] >= start_of("exp")
    assert crash[2] == 'rule "broken" crashed on the entry of "exp": RecursionError: deep'


def test_a_rule_about_suppressions_goes_on_with_the_next(bundled_natives: NativeFunctions) -> None:
    text = TEXT.replace("self.cos()", "self.cos()  # derivlint: ignore[a]").replace(
        "self.cosh()", "self.cosh()  # derivlint: ignore[b]"
    )

    def check(suppressions: SuppressionsInUse) -> Iterator[Finding]:
        for placed in suppressions.placed:
            if placed.suppression.names[0].text == "a":
                raise ValueError("oops")
            yield Finding(placed.suppression.span, "fine", at=placed.entry)

    result = run_rules(model_of(text, bundled_natives), [make_rule("broken", "suppressions", check)])
    assert found_at(result, "broken") == ["sinh"]
    assert crashes_of(result) == [
        ("sin", text.index("# derivlint"), 'rule "broken" crashed on the entry of "sin": ValueError: oops')
    ]


def test_a_crash_that_belongs_to_no_entry_is_reported_at_the_file(bundled_natives: NativeFunctions) -> None:
    def check(model: Model) -> Iterator[Finding]:
        yield Finding(model.entries[0].name_span, "before", at=model.entries[0])
        raise KeyError("file")

    result = run_rules(model_of(TEXT, bundled_natives), [make_rule("broken", "model", check)])
    assert found_at(result, "broken") == ["sin"]
    assert crashes_of(result) == [(None, 0, "rule \"broken\" crashed on the file: KeyError: 'file'")]


@pytest.mark.parametrize(
    "module", ["missing_conjugate", "wrong_gradient", "wrong_argument_type", "nonlinear_gradient", "swapped_arguments"]
)
def test_rules_that_share_a_fact_which_crashes_are_reported_together(
    module: str, monkeypatch: pytest.MonkeyPatch, bundled_natives: NativeFunctions
) -> None:
    """Each way in which rules ask for facts: one crash, one diagnostic, and all findings of the other entries."""
    before = run_rules(model_of(TEXT, bundled_natives), load_rules())
    assert found_at(before, "missing-conjugate") == list(NAMES)

    def crash_on(owner: Any, name: str, is_bad: Callable[..., bool]) -> None:
        original = getattr(owner, name)

        def fact(*args: Any, **kwargs: Any) -> Any:
            if is_bad(*args):
                raise TypeError(f"in {name}")
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, fact)

    def is_exp(*args: object) -> bool:
        return any(
            (isinstance(item, Entry) and item.operator == "exp")
            or (isinstance(item, DispatchBody) and item.entry.operator == "exp")
            or (isinstance(item, tuple) and any(formula.written.entry.operator == "exp" for formula in item))
            for item in args
        )

    if module == "wrong_gradient":
        crash_on(judgement, "compared", is_exp)
    elif module == "wrong_argument_type":
        crash_on(Model, "evaluations", is_exp)
    else:
        crash_on(FormulaAnalyses, "formulas", is_exp)
    result = run_rules(model_of(TEXT, bundled_natives), load_rules())
    (crash,) = crashes_of(result)
    assert crash[:2] == ("exp", start_of("exp"))
    assert module.replace("_", "-") in crash[2]
    others = [d for d in before.diagnostics if d.entry != "exp"]
    assert [d for d in result.diagnostics if d.entry != "exp"] == others
    assert result.internal_errors == 1


def test_every_rule_that_crashes_on_one_entry_still_finds_all_it_finds_in_the_others(
    bundled_natives: NativeFunctions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Crashes are injected into each rule by what it looks at, on the entry in the middle."""
    for rule in load_rules():
        # entries without a problem are not asked about
        if rule.target in ("suppressions", "model", "node", "problem") or not rule.invalid:
            continue
        case = rule.invalid[0]
        if case.natives is not None or not case.yaml.startswith("- name:"):
            continue
        text = f"{case.yaml.rstrip()}\n\n- name: sinc(Tensor self) -> Tensor\n  self: grad\n"
        if all(entry.operator != "sinc" for entry in model_of(text, bundled_natives).entries):
            continue
        plain = {d for d in run_rules(model_of(text, bundled_natives), [rule]).diagnostics if d.entry != "sinc"}
        crashed_on: list[str] = []

        def check(part: Any, model: Model, rule: Rule = rule, crashed_on: list[str] = crashed_on) -> Iterator[Finding]:
            find, more = rule.bound(model)
            yield from find(part, *more)
            if (part if isinstance(part, Entry) else part.entry).operator == "sinc":
                crashed_on.append("sinc")
                raise MemoryError

        broken = Rule(rule.name, "", "", rule.meta, rule.target, check, (), (), rule.options, ("model",))
        result = run_rules(model_of(text, bundled_natives), [broken])
        assert crashed_on, rule.name
        assert {entry for entry, _, _ in crashes_of(result)} == {"sinc"}, rule.name
        others = {d for d in result.diagnostics if d.entry != "sinc"}
        assert others == plain, rule.name


def test_a_crash_is_not_kept_and_the_command_says_so(
    run: Run, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", str(tmp_path / "cache"))
    Path("derivatives.yaml").write_text(TEXT)
    expected = run("check", "--output-format", "concise")
    original = FormulaAnalyses.formulas

    def crash(self: FormulaAnalyses, entry: Entry) -> Any:
        if entry.operator == "cos":
            raise RecursionError
        return original(self, entry)

    with monkeypatch.context() as patch:
        patch.setattr(FormulaAnalyses, "formulas", crash)
        for _ in range(2):
            outcome = run("check", "--no-cache", "--output-format", "concise")
            assert outcome.status == 3
            assert outcome.out.count("crashed on the entry of") == 1
            assert outcome.out.count("missing-conjugate]") == len(NAMES) - 1
    assert run("check", "--output-format", "concise") == expected


ITEMS = (
    "- a\n", "-\n", "- {}\n", "- []\n", "- ''\n", "- 1\n", "- !x y\n", "- &a b\n- *a\n",
    "- a # derivlint: ignore[x] y\n",
)  # fmt: skip


def test_of_an_item_without_keys_only_the_rules_about_yaml_find_anything(
    bundled_natives: NativeFunctions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are not asked: thousands of empty items took six seconds."""
    source = SourceFile("f.yaml", "".join((*ITEMS, "- name: sin(Tensor self) -> Tensor\n  self: grad * slef\n")))
    model = build_model(source, bundled_natives)
    few = run_rules(model, load_rules()).diagnostics
    monkeypatch.setattr(Entry, "has_keys", True)
    assert run_rules(build_model(source, bundled_natives), load_rules()).diagnostics == few
    assert {"malformed-entry", "undefined-name"} <= {item.rule for item in few}
