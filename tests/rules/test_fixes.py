"""The fixes of all rules: what they make of the cases, in every form of text, and that they do no harm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from derivlint.lint import Diagnostic, Invalid, Rule, Severity, run_rules
from derivlint.lint.fixing import apply_fixes
from derivlint.model import build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.rules.test_cases import diagnose, identify, operators

#: Rules that judge what a formula means: they can only be heard once it makes sense.
SEMANTIC = {"wrong-gradient", "wrong-tangent", "nonlinear-gradient", "wrong-result-type"}


def fixed_cases() -> Iterator[tuple[Rule, int, Invalid]]:
    for rule in load_rules():
        yield from ((rule, number, case) for number, case in enumerate(rule.invalid) if case.fixed is not None)


def errors(found: list[Diagnostic]) -> Counter[tuple[str, str]]:
    return Counter((item.rule, item.message) for item in found if item.severity is Severity.ERROR)


CASES = pytest.mark.parametrize(("rule", "number", "case"), list(fixed_cases()), ids=identify)


@CASES
def test_a_fix_makes_no_error(rule: Rule, number: int, case: Invalid, bundled_natives: NativeFunctions) -> None:
    """Neither another one nor its own once more."""
    natives = operators(case, bundled_natives)
    assert case.fixed is not None
    before, after = (errors(diagnose(text, natives)[1]) for text in (case.yaml, case.fixed))
    new = {name for name, _ in after - before} - SEMANTIC
    assert new == set()


@pytest.mark.parametrize("variant", ["crlf", "bom", "no final line end", "comments"])
@CASES
def test_a_fix_is_the_same_in_every_form_of_text(
    rule: Rule, number: int, case: Invalid, variant: str, bundled_natives: NativeFunctions
) -> None:
    """Line ends, a byte order mark, a missing last line end and comments stay; a second time changes nothing."""

    def varied(text: str) -> str:
        if variant == "crlf":
            return text.replace("\n", "\r\n")
        if variant == "bom":
            return "\ufeff" + text
        return text.rstrip("\n") if variant == "no final line end" else "# é 😀\n" + text + "\n# the end"

    natives = operators(case, bundled_natives)

    def resolved(text: str) -> str:
        # suppressions are judged by what all rules find
        asked = load_rules() if rule.target == "suppressions" else (rule,)
        source = SourceFile("derivatives.yaml", text)
        found = run_rules(build_model(source, natives), asked).diagnostics
        return apply_fixes(source, [item for item in found if item.rule == rule.name], unsafe=True).text

    assert case.fixed is not None
    once = resolved(varied(case.yaml))
    assert once == varied(case.fixed)
    assert resolved(once) == once
