"""Fingerprints of findings: the same where text only moved, and no two the same."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from derivlint.lint import Confidence, Diagnostic, Severity, run_rules
from derivlint.lint.fingerprint import fingerprints, normalized, portable_path
from derivlint.model import build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, Span

TEXT = "- name: a\n  self: grad * foo\n  other: foo * foo\n"


def found(text: str, path: str = "d.yaml") -> tuple[list[Diagnostic], dict[str, SourceFile]]:
    starts = [index for index in range(len(text)) if text.startswith("foo", index)]
    items = [
        Diagnostic(
            path,
            Span(start, start + 3),
            "some-rule",
            "a message",
            Severity.ERROR,
            Confidence.HIGH,
            entry="a",
            dispatch="Default",
            key="self" if start < text.index("other") else "other",
        )
        for start in starts
    ]
    return items, {path: SourceFile(path, text)}


def test_equal_findings_have_different_fingerprints() -> None:
    prints = fingerprints(*found(TEXT))
    assert len(set(prints)) == len(prints) == 3
    assert all(len(item) == 32 and int(item, 16) >= 0 for item in prints)


@pytest.mark.parametrize(
    "text",
    [
        f"# a line above\n\n{TEXT}",
        TEXT.replace("grad * foo", '"grad *\n    foo"'),
        TEXT.replace("\n", "\r\n"),
        "\ufeff" + TEXT.replace("grad * foo", ">\n    grad * foo"),
    ],
)
def test_layout_and_lines_do_not_count(text: str) -> None:
    assert fingerprints(*found(text)) == fingerprints(*found(TEXT))


def test_messages_and_severities_do_not_count() -> None:
    items, sources = found(TEXT)
    other = [replace(item, message="other words", severity=Severity.INFO, help="help") for item in items]
    assert fingerprints(other, sources) == fingerprints(items, sources)


@pytest.mark.parametrize("change", [{"rule": "b"}, {"entry": "b"}, {"dispatch": "b"}, {"key": "b"}, {"path": "b"}])
def test_everything_else_counts(change: dict[str, Any]) -> None:
    items, sources = found(TEXT)
    sources["b"] = sources["d.yaml"]
    changed = replace(items[0], **change)
    assert fingerprints([changed], sources) != fingerprints(items[:1], sources)


def test_the_path_that_counts_can_be_another_one() -> None:
    items, sources = found(TEXT, "/x/y/./d.yaml")
    assert fingerprints(items, sources, shown=lambda path: path.removeprefix("/x/")) == fingerprints(
        *found(TEXT, "y/d.yaml")
    )
    assert portable_path("y\\.\\d.yaml") == "y/d.yaml"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("grad *  foo", "grad*foo"),
        ('"grad * \\\n   foo"', "grad*foo"),
        ("|-\n  grad\n   * foo", "grad*foo"),
        ("> # a comment\n  grad # another\n  * foo", "grad*foo"),
        ("a # b", "a#b"),
        ("a || b", "a||b"),
        ("> 0", ">0"),
    ],
)
def test_layout_is_left_out(text: str, same: str) -> None:
    assert normalized(text) == same


@pytest.mark.parametrize("more", ["neg", "exp", "abs", "sin"])
def test_entries_elsewhere_change_no_message(more: str, bundled_natives: NativeFunctions) -> None:
    """A message that counts other entries would change with each of them, and so would its place in a baseline."""
    entries = [f"- name: {name}(Tensor self) -> Tensor\n  self: grad * self\n" for name in ("log", "cos", "tan", more)]
    zeta = "- name: special_zeta(Tensor self, Tensor other) -> Tensor\n  self: non_differentiable\n  other: grad\n"
    messages = [
        [
            item.message
            for item in run_rules(
                build_model(SourceFile("d.yaml", zeta + text), bundled_natives), load_rules()
            ).diagnostics
            if item.rule == "missing-argument-derivative"
        ]
        for text in ("".join(entries[:3]), "".join(entries))
    ]
    assert len(messages[0]) == 1
    assert messages[0] == messages[1]
