"""Files of a PyTorch that is older than the operators: one finding, and no fix that would be wrong."""

from __future__ import annotations

from derivlint.model.memos import Memos
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rule, load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

SETTINGS = Settings()
RULES = SETTINGS.selected(load_rules())
RULE = "unsupported-release"


def file_of_2019() -> str:
    """A file without returns, one of whose entries has a mistake."""
    return load_rule(RULE).invalid[1].yaml + "- name: cbrt(Tensor self)\n  sefl: grad * graad\n"


def check(text: str, natives: NativeFunctions, memos: Memos | None = None) -> CheckedFile:
    return check_source(SourceFile("derivatives.yaml", text), natives, SETTINGS, RULES, memos=memos)


def test_an_old_file_has_one_finding_without_fix(bundled_natives: NativeFunctions) -> None:
    checked = check(file_of_2019(), bundled_natives)
    assert [(item.rule, item.span.start, item.fix) for item in checked.shown] == [(RULE, len("- name: "), None)]
    assert checked.model.unknown_functions == frozenset()


def test_a_file_becomes_old_and_new_again(bundled_natives: NativeFunctions) -> None:
    old = file_of_2019()
    new = old.replace("(Tensor self)\n", "(Tensor self) -> Tensor\n")
    memos = Memos()
    for text in (old, new, old, new):
        checked = check(text, bundled_natives, memos)
        assert checked.shown == check(text, bundled_natives).shown
        assert (RULE in {item.rule for item in checked.shown}) == (text is old)


def test_a_short_file_with_many_mistakes_is_not_old(bundled_natives: NativeFunctions) -> None:
    text = "".join(file_of_2019().splitlines(keepends=True)[:40])
    assert {item.rule for item in check(text, bundled_natives).shown} == {"malformed-schema"}
