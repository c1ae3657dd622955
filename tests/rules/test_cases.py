"""The cases that every rule carries, and the form of rules."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from derivlint.cpp.declarations.header import read_declarations
from derivlint.lint import Diagnostic, Fix, Invalid, Rule, Severity, run_rules
from derivlint.model import build_model
from derivlint.project.headers import read_bodies
from derivlint.rules import NAMES, load_rules
from derivlint.schema import NativeFunctions, read_native_functions
from derivlint.schema.natives import UnreadablePart
from derivlint.source import SourceFile

FOLDER = Path(__file__).parent.parent.parent / "rules"
RULES = load_rules()
OPTIONAL = ("## Fix safety", "## What it cannot see", "## Options")
SECTIONS = ["## What it detects", "## Why it is bad", "## Example", "## Instead", *OPTIONAL, "## Sources"]
TARGETS = ("model", "entry", "body", "formula", "node", "problem", "suppressions")
#: Rules that judge what a formula means: they can only be heard once it makes sense.
SEMANTIC = {"wrong-gradient", "wrong-tangent", "nonlinear-gradient", "wrong-result-type", "missing-conjugate"}
#: The findings in the texts of invalid cases, for the tests of their fixes.
DIAGNOSED: dict[str, list[Diagnostic]] = {}
#: What may begin a message although it begins with a capital.
PROPER_NAMES = ("PyTorch", "YAML", "C++", "UTF-8", "NUL")


def cases() -> Iterator[tuple[Rule, int, str]]:
    for rule in RULES:
        yield from ((rule, number, text) for number, text in enumerate(rule.valid))


def invalid_cases() -> Iterator[tuple[Rule, int, Invalid]]:
    for rule in RULES:
        yield from ((rule, number, case) for number, case in enumerate(rule.invalid))


def diagnose(text: str, natives: NativeFunctions) -> tuple[SourceFile, list[Diagnostic]]:
    source = SourceFile.from_bytes("derivatives.yaml", text.encode("utf-8", "surrogateescape"))
    result = run_rules(build_model(source, natives), RULES)
    assert result.internal_errors == 0, [item.message for item in result.diagnostics if item.rule == "internal-error"]
    return source, list(result.diagnostics)


def operators(case: Invalid, bundled: NativeFunctions) -> NativeFunctions:
    """The bundled operators, with those, the header and the bodies that the case brings along."""
    if case.header is not None:
        source = SourceFile("header.h", case.header)
        problems = read_declarations(case.header).problems
        return bundled.with_header_problems(UnreadablePart(source, *problem) for problem in problems)
    if case.bodies is not None:
        helpers = SourceFile("helpers.cpp", case.bodies)
        return bundled.with_bodies(lambda: read_bodies(helpers, use_cache=False))
    if case.natives is None:
        return bundled
    extra = read_native_functions([SourceFile("native_functions.yaml", case.natives)])
    assert extra.problems == ()
    return NativeFunctions(
        (*bundled.written, *extra.written), declarations=bundled.declarations, autograd_keys=bundled.autograd_keys
    )


def place(source: SourceFile, diagnostic: Diagnostic) -> str:
    line, column = source.position(diagnostic.span.start)
    end_line, end_column = source.position(diagnostic.span.end)
    return f"{line}:{column}-{end_column}" if line == end_line else f"{line}:{column}-{end_line}:{end_column}"


def apply_fix(text: str, fix: Fix) -> str:
    for edit in sorted(fix.edits, key=lambda edit: edit.span, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def identify(value: object) -> str:
    return value.name if isinstance(value, Rule) else str(value) if isinstance(value, int) else ""


@pytest.mark.parametrize(("rule", "number", "text"), list(cases()), ids=identify)
def test_valid_cases_are_silent(rule: Rule, number: int, text: str, bundled_natives: NativeFunctions) -> None:
    source, found = diagnose(text, bundled_natives)
    assert [f"{place(source, item)}: {item.message}" for item in found if item.rule == rule.name] == []


@pytest.mark.parametrize(("rule", "number", "case"), list(invalid_cases()), ids=identify)
def test_invalid_cases_give_exactly_their_finding(
    rule: Rule, number: int, case: Invalid, bundled_natives: NativeFunctions
) -> None:
    source, found = diagnose(case.yaml, operators(case, bundled_natives))
    DIAGNOSED[case.yaml] = found
    own = [item for item in found if item.rule == rule.name]
    elsewhere = {"header.h": case.header, "helpers.cpp": case.bodies}
    others = [SourceFile(name, text) for name, text in elsewhere.items() if text is not None]
    where = (*others, source)[0]
    assert [f"{place(where, item)}: {item.message}" for item in own] == [f"{case.at}: {case.message}"]
    assert [item.path for item in own] == [where.path]
    if case.help is not None:
        assert own[0].help == case.help
    fix = own[0].fix
    assert (apply_fix(source.text, fix) if fix is not None else None) == case.fixed
    more = {item.rule for item in found if item.severity is Severity.ERROR} - {rule.name}
    assert more == set(case.also), [item.message for item in found]


def errors(found: list[Diagnostic]) -> Counter[tuple[str, str]]:
    return Counter((item.rule, item.message) for item in found if item.severity is Severity.ERROR)


@pytest.mark.parametrize(
    ("rule", "number", "case"), [item for item in invalid_cases() if item[2].fixed is not None], ids=identify
)
def test_a_fix_fixes_its_finding_and_makes_no_error(
    rule: Rule, number: int, case: Invalid, bundled_natives: NativeFunctions
) -> None:
    """Neither another error nor its own once more."""
    natives = operators(case, bundled_natives)
    assert case.fixed is not None
    before = DIAGNOSED.get(case.yaml) or diagnose(case.yaml, natives)[1]
    _, after = diagnose(case.fixed, natives)
    assert [item.message for item in after if item.rule == rule.name] == []
    assert {name for name, _ in errors(after) - errors(before)} - SEMANTIC == set()


def test_every_file_is_a_registered_rule_in_alphabetical_order() -> None:
    files = sorted(path.stem.replace("_", "-") for path in FOLDER.glob("*.py") if path.stem != "__init__")
    assert list(NAMES) == files


def test_docstrings_have_their_sections_in_order() -> None:
    for rule in RULES:
        lines = inspect.cleandoc(rule.doc).splitlines()
        headings = [line for line in lines if line.startswith("## ")]
        expected = [section for section in SECTIONS if section not in OPTIONAL or section in headings]
        assert headings == expected, rule.name
        assert lines[1] == "", rule.name
        assert not rule.summary.endswith("."), rule.name


def test_rules_have_a_target_and_enough_cases() -> None:
    for rule in RULES:
        assert rule.target in TARGETS, rule.name
        assert set(rule.needs) <= {"model", "options"}, rule.name
        assert ("options" in rule.needs) == bool(rule.meta.options), rule.name
        assert len(rule.valid) >= 2, f"write two VALID cases of {rule.name} or more"
        assert len(rule.invalid) >= 2, f"write two INVALID cases of {rule.name} or more"
        assert rule.meta.status in ("stable", "preview"), rule.name


def test_messages_have_the_house_style() -> None:
    """Fact first, lower case, user text in balanced double quotes, no trailing period, one line, not too long."""
    for _, _, case in invalid_cases():
        for text in (case.message, case.help or "x"):
            assert not text[0].isupper() or text.split()[0].removesuffix("'s") in PROPER_NAMES, text
            assert not text.endswith("."), text
            assert "\n" not in text, text
            assert text.count('"') % 2 == 0, text
        assert len(case.message) <= 130, case.message
