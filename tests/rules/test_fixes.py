"""The fixes of all rules: what they make of the cases, in every form of text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from derivlint.lint import Invalid, Rule, run_rules
from derivlint.lint.fixing import apply_fixes
from derivlint.model import build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.rules.test_cases import identify, operators
from tests.sampling import CAMPAIGN


def fixed_cases() -> Iterator[tuple[Rule, int, Invalid]]:
    for rule in load_rules():
        yield from ((rule, number, case) for number, case in enumerate(rule.invalid) if case.fixed is not None)


VARIANTS = ("crlf", "bom", "no final line end", "comments")
#: The variants take turns; in a campaign each case is tried in all of them.
VARIED = [
    (*item, variant)
    for turn, item in enumerate(fixed_cases())
    for index, variant in enumerate(VARIANTS)
    if CAMPAIGN or index == turn % len(VARIANTS)
]


@pytest.mark.parametrize(("rule", "number", "case", "variant"), VARIED, ids=identify)
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
