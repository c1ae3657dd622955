"""Text output: whole reports, and underlines that stand under what they speak of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.formats import Report
from derivlint.formats.text import cells, excerpt, plain, printable, render_text
from derivlint.lint import Confidence, Diagnostic, Fix, Related, Severity, TextEdit
from derivlint.project.settings import Settings
from derivlint.source import SourceFile, Span

TEXT = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos()\n  result: auto_element_wise\n"
SOURCE = SourceFile("d.yaml", TEXT)
GUTTER = len("    1 | ")


def diagnostic(start: int, end: int, message: str = "a fact", **more: Any) -> Diagnostic:
    values: dict[str, Any] = {"severity": Severity.ERROR, "confidence": Confidence.HIGH, **more}
    return Diagnostic("d.yaml", Span(start, end), "some-rule", message, **values)


def rendered(*found: Diagnostic, width: int = 120, hidden: int = 0, suppressed: int = 0) -> list[str]:
    report = Report(found, {"d.yaml": SOURCE}, entries=1, formulas=2, hidden=hidden, suppressed=suppressed)
    return [plain(line) for line in render_text(report, width)]


def underlined(text: str, start: int, end: int, width: int = 120) -> tuple[str, str]:
    """The shown line and its underline, without the gutter."""
    source = SourceFile("d.yaml", text)
    line, underline = (plain(line) for line in excerpt(source, Span(start, end), width, "bold"))
    assert underline[:GUTTER] == "      | "
    return line[GUTTER:], underline[GUTTER:]


def test_a_finding_has_place_fact_source_related_place_and_help() -> None:
    start = TEXT.index("grad")
    name = TEXT.index("sin")
    found = diagnostic(start, start + 4, related=(Related("declared here", Span(name, name + 3)),), help="do that")
    assert rendered(found) == [
        "d.yaml:2:9: error: a fact [some-rule]", "    2 |   self: grad * self.cos()", "      |         ^^^^",
        "  note: declared here (d.yaml:1:9)", "    1 | - name: sin(Tensor self) -> Tensor", "      |         ^^^",
        "  help: do that", "", "found 1 error in 1 file (1 entry, 2 formulas)",
    ]  # fmt: skip


def test_a_long_head_is_folded_at_blanks() -> None:
    message = "the tangent of " + " ".join(f'"{"x" * length}"' for length in range(1, 20))
    lines = rendered(diagnostic(0, 1, message, entry="sin", key="self"))
    head = lines[: lines.index("    1 | - name: sin(Tensor self) -> Tensor")]
    assert len(head) > 1
    assert all(len(line) <= 110 for line in head)
    whole = f"d.yaml:1:1: error: {message} (sin: self) [some-rule]"
    assert " ".join(line.strip() for line in head) == whole
    report = Report((diagnostic(0, 1, message, entry="sin", key="self"),), {"d.yaml": SOURCE}, entries=1, formulas=2)
    assert plain(next(iter(render_text(report)))) == whole, "what reads a pipe expects it in one line"


@pytest.mark.parametrize(
    ("message", "about"),
    [
        ("a fact", " (sin.out, CUDA: self)"),
        ('"self" is a fact', " (sin.out, CUDA: self)"),
        ('"sin.out" is a fact', " (CUDA: self)"),
        ('"sin.out" has "self"', " (CUDA)"),
        ('"sin.out" has no "self" for "CUDA"', ""),
    ],
)
def test_what_the_message_names_is_not_repeated(message: str, about: str) -> None:
    lines = rendered(diagnostic(0, 1, message, entry="sin.out", dispatch="CUDA", key="self"))
    assert lines[0] == f"d.yaml:1:1: error: {message}{about} [some-rule]"


def test_fixes_are_shown_where_that_is_asked_for() -> None:
    """Lines that an edit changes, before and after; a whole line that goes has the next one as its end."""
    start = TEXT.index("grad")
    edits = (TextEdit(Span(start, start + 4), "g"), TextEdit(Span(start + 7, start + 11), "x\n    y"))
    shown = diagnostic(start, start + 4, help="do that", fix=Fix("rename it", edits, safe=False))
    report = Report((shown,), {"d.yaml": SOURCE}, entries=1, formulas=2, show_fixes=True)
    assert [plain(line) for line in render_text(report, 80, False)][3:] == [
        "  help: do that",
        "  fix: rename it (unsafe)",
        "    2 -   self: grad * self.cos()",
        "    2 +   self: g * x",
        "    3 +     y.cos()",
        "",
    ]
    assert not any("fix:" in line for line in rendered(shown))


def test_a_related_place_in_a_file_that_was_not_read_is_named_without_its_text() -> None:
    found = diagnostic(0, 1, related=(Related("declared here", Span(5, 7), path="other.yaml"),))
    assert "  note: declared here (other.yaml)" in rendered(found)


def test_the_summary_counts_by_severity_and_tells_what_is_not_shown() -> None:
    found = [diagnostic(0, 1, "a"), diagnostic(0, 1, "b"), diagnostic(0, 1, "c", severity=Severity.WARNING)]
    assert rendered(*found)[-1] == "found 2 errors and 1 warning in 1 file (1 entry, 2 formulas)"
    assert rendered()[-1] == "no findings in 1 file (1 entry, 2 formulas)"
    assert rendered(hidden=1_200, suppressed=2)[-1] == (
        "no findings in 1 file (1 entry, 2 formulas); 2 suppressed; 1,200 hidden by --min-severity or --min-confidence"
    )


def test_a_range_over_several_lines_underlines_its_part_of_the_first_and_says_so() -> None:
    lines = list(excerpt(SOURCE, Span(TEXT.index("self:"), TEXT.index("auto")), 120, ""))
    assert [plain(line) for line in lines] == [
        "    2 |   self: grad * self.cos()",
        "      |   ^^^^^^^^^^^^^^^^^^^^^^^ ... to line 3",
    ]


def test_a_range_up_to_the_end_of_its_line_is_on_one_line() -> None:
    """With its line end, the range still covers nothing of the next line."""
    for line_end in ("\n", "\r\n"):
        text = f"a: b{line_end}c: d{line_end}"
        assert underlined(text, 3, 4 + len(line_end)) == ("a: b", "   ^")


def test_a_line_of_megabytes_shows_what_is_around_its_range() -> None:
    source = SourceFile("d.yaml", "a" * 1_000_000 + "sin" + "b" * 1_000_000)
    lines = [plain(line) for line in excerpt(source, Span(1_000_000, 1_000_003), 40, "")]
    assert lines == ["    1 | ...aaaaaaaaaaasinbbbbbbbbbbbb...", "      |               ^^^"]


def test_an_empty_range_and_the_end_of_the_file_have_one_caret() -> None:
    assert underlined("a: b", 2, 2) == ("a: b", "  ^")
    assert underlined("a: b\n", 5, 5) == ("", "^")
    assert underlined("", 0, 0) == ("", "^")


def test_line_numbers_of_any_length_keep_the_underline_in_place() -> None:
    source = SourceFile("d.yaml", "\n" * 1_234_566 + "ab")
    lines = [plain(line) for line in excerpt(source, Span(1_234_567, 1_234_568), 120, "")]
    assert lines == ["1234567 | ab", "        |  ^"]


def test_wide_combining_and_control_characters_and_tabs_keep_the_underline_in_place() -> None:
    assert underlined("日本: x", 4, 5) == ("日本: x", "      ^")
    assert underlined("日本: x", 0, 2) == ("日本: x", "^^^^")
    assert underlined("e\u0301: x", 4, 5) == ("e\u0301: x", "   ^")
    assert underlined("\u2764\ufe0f: x", 4, 5) == ("\u2764\ufe0f: x", "   ^")
    assert underlined("\ta: x", 4, 5) == ("    a: x", "       ^")
    assert underlined("\x1b[31ma: x", 8, 9) == ("\\x1b[31ma: x", "           ^")


def test_what_could_steer_a_terminal_is_escaped_everywhere() -> None:
    """Escape sequences and characters that change the direction of text, which could hide what is there."""
    assert printable("a\x1b]0;x\x07\u202eb\x9b\ud800\r\nc") == "a\\x1b]0;x\\x07\\u202eb\\x9b\\ud800\\r\\nc"
    found = diagnostic(0, 1, "a\x1bb", help="c\x1bd", related=(Related("e\x1bf", Span(0, 1), path="g\x1bh"),))
    assert not [line for line in rendered(found) if "\x1b" in line]


def test_a_long_line_is_cut_around_the_range() -> None:
    text = "x" * 200 + "MARK" + "y" * 200
    line, underline = underlined(text, 200, 204, width=80)
    assert line == "..." + "x" * 31 + "MARK" + "y" * 31 + "..."
    assert underline == " " * 34 + "^^^^"


def test_a_long_line_is_cut_at_one_side_only_where_the_range_is_near_the_other() -> None:
    line, underline = underlined("MARK" + "y" * 200, 0, 4, width=80)
    assert line == "MARK" + "y" * 65 + "..."
    assert underline == "^^^^"
    line, underline = underlined("x" * 200 + "MARK", 200, 204, width=80)
    assert line == "..." + "x" * 65 + "MARK"
    assert underline == " " * 68 + "^^^^"


def test_a_terminal_narrower_than_80_columns_gets_80() -> None:
    assert rendered(diagnostic(0, 1), width=20) == rendered(diagnostic(0, 1), width=80)


characters = st.sampled_from([*"ab: *(", "é", "日", "😀", "e\u0301", "\t", "\x1b", "\u200b", "\ufe0f", "\u202e"])
lines = st.lists(characters, max_size=150).map("".join)


@given(lines, st.data(), st.integers(80, 140))
def test_the_underline_covers_the_marked_text_and_nothing_else(text: str, data: st.DataObject, width: int) -> None:
    """Of a marked text that does not fit, its beginning is shown and underlined."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    line, underline = underlined(text, start, end, width)
    before = len(underline) - len(underline.lstrip(" "))
    carets = underline.count("^")
    assert underline == " " * before + "^" * carets
    assert cells(line) <= width - GUTTER
    head = columns(line, 0, before)
    marked = columns(line, before, before + carets)
    expected = letters(printable(text[start:end]))
    if not expected:
        assert carets == 1
    elif cells(expected) <= width - GUTTER - 6:
        assert marked == expected
    else:
        assert expected.startswith(marked)
    if not head.startswith("..."):
        assert letters(printable(text[:start])).startswith(head)


def letters(text: str) -> str:
    """The characters that take a column; marks belong to the one before them."""
    return "".join(char for char in text if cells(char))


def columns(line: str, start: int, end: int) -> str:
    """The letters in the given columns of a terminal."""
    result = []
    column = 0
    for char in letters(line):
        if start <= column < end:
            result.append(char)
        column += cells(char)
    return "".join(result)


def test_a_filter_hides_what_is_below_the_wanted_severity_or_confidence() -> None:
    found = diagnostic(0, 1, severity=Severity.WARNING, confidence=Confidence.MEDIUM)
    assert not Settings().shows(found)
    assert Settings(min_confidence=Confidence.MEDIUM).shows(found)
    assert not Settings(min_severity=Severity.ERROR, min_confidence=Confidence.LOW).shows(found)
