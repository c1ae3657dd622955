"""Suppression comments: where they may stand, what they cover, and writing them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.lint import Confidence, Diagnostic, Severity
from derivlint.lint.changes import node_value
from derivlint.lint.suppressions.suppression import suppressions_of
from derivlint.lint.suppressions.suppression_comments import read_suppressions
from derivlint.lint.suppressions.suppression_edits import deletion, ignore_edits
from derivlint.model import Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import read_yaml

FILE = """\
# a file
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
  result: >
    self_t
    + 1

- name: abs(Tensor self) -> Tensor
  output_differentiability: [True]
  dispatch:
    Default:
      self: "grad *
        self.sgn()"
    AutogradNestedTensor:
      self: grad
      result: auto_linear
"""

#: One finding in each part of the file: what it marks, with its dispatch key and key.
PARTS = {
    "file": ("# a file", None, None, None),
    "neg": ("neg(Tensor", "neg", None, None),
    "neg self": ("grad.neg()", "neg", "Default", "self"),
    "neg result": ("+ 1", "neg", "Default", "result"),
    "abs": ("abs(Tensor", "abs", None, None),
    "abs od": ("[True]", "abs", None, None),
    "abs self": ("self.sgn()", "abs", "Default", "self"),
    "nested self": ("self: grad\n", "abs", "AutogradNestedTensor", "self"),
    "nested result": ("auto_linear", "abs", "AutogradNestedTensor", "result"),
    # about a formula, marked at another place
    "nested elsewhere": ("dispatch:", "abs", "AutogradNestedTensor", "result"),
}
NEG = {"neg", "neg self", "neg result"}
ABS = {"abs", "abs od", "abs self", "nested self", "nested result", "nested elsewhere"}


def finding(
    span: Span, entry: str | None, dispatch: str | None, key: str | None, rule: str = "some-rule"
) -> Diagnostic:
    return Diagnostic(
        "d.yaml", span, rule, f"{span} {key}", Severity.ERROR, Confidence.HIGH, entry=entry, dispatch=dispatch, key=key
    )


def model_of(text: str, natives: NativeFunctions) -> Model:
    return build_model(SourceFile("d.yaml", text), natives)


def unsuppressed(model: Model, diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    silenced = suppressions_of(model).matches(diagnostics)
    return tuple(item for item in diagnostics if item not in silenced)


def silenced_parts(text: str, natives: NativeFunctions) -> set[str]:
    model = model_of(text, natives)
    parts = {}
    for name, (marked, entry, dispatch, key) in PARTS.items():
        start = text.index(marked)
        parts[name] = finding(Span(start, start + len(marked)), entry, dispatch, key)
    left = set(unsuppressed(model, tuple(parts.values())))
    return {name for name, item in parts.items() if item not in left}


COMMENT = "# derivlint: ignore[some-rule] why"


@pytest.mark.parametrize(
    ("before", "after", "silenced"),
    [
        ("self: grad.neg()", f"self: grad.neg() {COMMENT}", {"neg self"}),
        ("  self: grad.neg()", f"  {COMMENT}\n  self: grad.neg()", {"neg self"}),
        ("  self: grad.neg()", f"{COMMENT}\n  # more\n  self: grad.neg()", {"neg self"}),
        ("-> Tensor\n  self: grad.neg()", f"-> Tensor {COMMENT}\n  self: grad.neg()", NEG),
        ("# a file\n", f"# a file\n{COMMENT}\n", NEG),
        ("# a file\n", f"# a file\n{COMMENT}\n\n", set()),
        ("# a file\n", f"{COMMENT}\n# a file\n", NEG),
        ("result: >", f"result: > {COMMENT}", {"neg result"}),
        ("  result: >", f"  {COMMENT}\n  result: >", {"neg result"}),
        ("self_t\n", f"self_t {COMMENT}\n", set()),
        ("    + 1\n", f"    + 1\n    {COMMENT}\n", set()),
        ("    + 1\n", f"    + 1\n{COMMENT}\n", set()),
        ("- name: abs", f"{COMMENT}\n- name: abs", ABS),
        ("[True]", f"[True] {COMMENT}", {"abs od"}),
        ("dispatch:\n", f"dispatch: {COMMENT}\n", {"abs self", "nested self", "nested result", "nested elsewhere"}),
        ("Default:\n", f"Default: {COMMENT}\n", {"abs self"}),
        (
            "    AutogradNestedTensor:\n",
            f"    {COMMENT}\n    AutogradNestedTensor:\n",
            {"nested self", "nested result", "nested elsewhere"},
        ),
        ('"grad *\n', f'"grad * {COMMENT}\n', set()),
        ('self.sgn()"', f'self.sgn()" {COMMENT}', {"abs self"}),
        ("auto_linear", f"auto_linear # so {COMMENT}", {"nested result", "nested elsewhere"}),
        ("auto_linear", f"auto_linear {COMMENT.replace('some', 'other')}", set()),
        ("# a file", "# a file # derivlint: ignore-file[some-rule]", set(PARTS)),
        ("\n\n- name: abs", f"\n\n{COMMENT.replace('ignore', 'ignore-file')}\n\n- name: abs", set(PARTS)),
        ("self: grad.neg()", f"self: grad.neg() {COMMENT.replace('ignore', 'ignore-file')}", set()),
    ],
)
def test_the_place_decides_what_is_covered(
    before: str, after: str, silenced: set[str], installed_natives: NativeFunctions
) -> None:
    assert FILE.count(before) == 1
    assert silenced_parts(FILE.replace(before, after), installed_natives) == silenced


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("pure", [False, True])
def test_comments_are_found_with_any_line_end_and_by_both_parsers(line_end: str, pure: bool) -> None:
    text = f"\ufeff{COMMENT}\n{FILE}# derivlint: ignore[b]".replace("result: >", f"result: | {COMMENT}")
    text = text.replace("self_t", f"self_t {COMMENT}").replace("\n", line_end)
    found = read_suppressions(read_yaml(SourceFile("d.yaml", text), pure=pure))
    assert [(item.names[0].text, item.reason, item.comment.own_line) for item in found] == [
        ("some-rule", "why", True),
        ("some-rule", "why", False),
        ("b", "", True),
    ]
    assert [text[item.span.start : item.span.end] for item in found] == [COMMENT, COMMENT, "# derivlint: ignore[b]"]


def test_a_place_decides_between_entries_of_one_name(installed_natives: NativeFunctions) -> None:
    text = "".join(
        f"- name: neg(Tensor self) -> Tensor\n  self: grad{comment}\n" for comment in ("", f" {COMMENT}", "")
    )
    model = model_of(text, installed_natives)
    places = [index for index in range(len(text)) if text.startswith("grad", index)]
    found = tuple(finding(Span(place, place + 4), "neg", "Default", "self") for place in places)
    assert unsuppressed(model, found) == (found[0], found[2])


def test_what_belongs_to_no_entry_is_silenced_on_its_line(installed_natives: NativeFunctions) -> None:
    text = f"- name: neg(Tensor self) -> Tensor\n  self: grad\n- name: [broken {COMMENT}\n- name: a\n"
    model = model_of(text, installed_natives)
    start = text.index("[broken")
    assert unsuppressed(model, (finding(Span(start, start + 1), None, None, None),)) == ()


@pytest.mark.parametrize(
    ("comment", "message", "instead"),
    [
        ("# derivlint: ignore", '"ignore" names no rule', None),
        ("# derivlint: ignore because", '"ignore" names no rule', None),
        ("# derivlint: ignore[]", '"ignore" names no rule', None),
        ("# derivlint: ignore[ , ]", '"ignore" names no rule', None),
        (f"# derivlint: ignore[{','.join(['a-rule'] * 1001)}]", '"ignore" names 1001 rules', None),
        ("# derivlint: ignore[*]", '"*" is not a rule', None),
        ("# derivlint: ignore[a, all]", '"all" is not a rule', None),
        ("# derivlint: ignore[a,,b]", "a name is missing beside a comma", "# derivlint: ignore[a, b]"),
        (
            "# derivlint: ignore[a] # derivlint: ignore[b,]",
            "a name is missing beside a comma",
            "# derivlint: ignore[b]",
        ),
        ("# derivlint ignore[a]", 'the ":" after "derivlint" is missing', "# derivlint: ignore[a]"),
        ("# Derivlint: ignore[a]", 'suppressions are lower case, "derivlint: ignore"', "# derivlint: ignore[a]"),
        ("# derivlint: ignore [a]", 'blanks are between "ignore" and "["', "# derivlint: ignore[a]"),
        ("# derivlint: ignore[a]why", 'a blank is missing after "]"', "# derivlint: ignore[a] "),
        ("# derivlint: ignore[a, b why", 'the "[" is never closed', "# derivlint: ignore[a, b]"),
        ("# derivlint: ignore[", 'the "[" is never closed', None),
        ("# derivlint: ingore[a]", '"ingore" is not a known suppression comment', "# derivlint: ignore"),
        ("# derivlint: noqa", '"noqa" is not a known suppression comment', None),
        ("# derivlint:", "the comment asks for nothing", None),
    ],
)
def test_malformed_comments_silence_nothing_and_say_why(comment: str, message: str, instead: str | None) -> None:
    document = read_yaml(SourceFile("d.yaml", f"- name: a {comment}\n"))
    found = read_suppressions(document)[-1].malformed
    assert found is not None
    assert (found.message, found.instead) == (message, instead)


@pytest.mark.parametrize(
    "text",
    [
        "# derivlint ignores this\n",
        "# checked by derivlint\n",
        "# see derivlint: ignore[a]\n",
        "- name: a# derivlint: ignore[a]\n",
        '- "# derivlint: ignore[a]"\n',
        "- |\n  # derivlint: ignore[a]\n  # derivlint: ignore[a]\n",
        "- 'a\n\n   # derivlint: ignore[a]'\n",
    ],
)
def test_prose_and_text_are_no_suppressions(text: str) -> None:
    assert read_suppressions(read_yaml(SourceFile("d.yaml", text))) == ()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("- name: a  # derivlint: ignore[a] why\n- b", "- name: a\n- b"),
        ("  # derivlint: ignore[a] why\r\n- b", "- b"),
        ("\ufeff# derivlint: ignore[a]\n- b", "\ufeff- b"),
        ("- b\n# derivlint: ignore[a]", "- b\n"),
        ("- b # note # derivlint: ignore[a]", "- b # note"),
        ("- b # derivlint: ignore[a] # derivlint: ignore-file[b]", "- b # derivlint: ignore-file[b]"),
    ],
)
def test_a_deleted_suppression_leaves_nothing_behind(text: str, left: str) -> None:
    document = read_yaml(SourceFile("d.yaml", text))
    start, end = deletion(document.source, read_suppressions(document)[0])
    assert (text[:start] + text[end:]).replace("-  #", "- #") == left


def written(text: str, natives: NativeFunctions, items: tuple[Diagnostic, ...], reason: str = "") -> str:
    for edit in reversed(ignore_edits(model_of(text, natives), items, reason)):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def at(text: str, marked: str, *about: str | None, rule: str = "some-rule") -> Diagnostic:
    start = text.index(marked)
    entry, dispatch, key = (*about, None, None, None)[:3]
    return finding(Span(start, start + len(marked)), entry, dispatch, key, rule)


@pytest.mark.parametrize(
    ("part", "before", "after"),
    [
        ("file", "# a file", "# derivlint: ignore-file[some-rule] why\n# a file"),
        ("neg", "- name: neg", f"{COMMENT}\n- name: neg"),
        ("neg self", "grad.neg()", f"grad.neg()  {COMMENT}"),
        ("neg result", "result: >", f"result: >  {COMMENT}"),
        ("abs self", 'self.sgn()"', f'self.sgn()"  {COMMENT}'),
        ("nested elsewhere", "auto_linear", f"auto_linear  {COMMENT}"),
    ],
)
def test_a_suppression_is_written_where_it_covers_little(
    part: str, before: str, after: str, installed_natives: NativeFunctions
) -> None:
    marked, *about = PARTS[part]
    text = written(FILE, installed_natives, (at(FILE, marked, *about),), "why")
    assert text == FILE.replace(before, after)
    assert part in silenced_parts(text, installed_natives)


def test_a_suppression_that_is_there_gets_the_name_as_well(installed_natives: NativeFunctions) -> None:
    text = FILE.replace("grad.neg()", "grad.neg() # derivlint: ignore[a] known")
    items = tuple(at(text, "grad.neg()", "neg", "Default", "self", rule=rule) for rule in ("c", "b"))
    assert written(text, installed_natives, items, "why") == text.replace("[a]", "[a, b, c]")


def spots(model: Model) -> list[Diagnostic]:
    """A finding at every formula, key and entry of a file."""
    found = [finding(entry.name_span, entry.operator, None, None) for entry in model.entries]
    for entry in model.entries:
        for formula in entry.formulas:
            found.append(finding(formula.key_span, entry.operator, formula.body.key, formula.key_text, "key-rule"))
            if formula.text:
                span = formula.range(len(formula.text) - 1, len(formula.text))
                found.append(finding(span, entry.operator, formula.body.key, formula.key_text))
        if entry.output_differentiability is not None:
            found.append(
                finding(entry.place(entry.output_differentiability.node), entry.operator, None, None, "od-rule")
            )
    return found


@pytest.fixture(scope="module")
def real(derivatives_path: Path, installed_natives: NativeFunctions) -> Model:
    return build_model(SourceFile.read(derivatives_path), installed_natives)


def check_written(model: Model, items: tuple[Diagnostic, ...], text: str, natives: NativeFunctions) -> None:
    """Only comments are new, the YAML says the same, and all findings are silenced; once more changes nothing."""
    old_text = model.source.text
    edits = ignore_edits(model, items, "why")
    new = ""
    position = 0
    shifts: list[tuple[int, int]] = []
    for edit in edits:
        assert edit.span.start == edit.span.end >= position
        new += old_text[position : edit.span.start] + edit.text
        position = edit.span.start
        shifts.append((position, len(edit.text)))
    new += old_text[position:]
    assert new == text
    after = build_model(SourceFile("d.yaml", new), natives)
    assert not after.document.problems
    assert model.document.root is not None
    assert after.document.root is not None
    assert node_value(after.document.root) == node_value(model.document.root)
    moved = []
    for item in items:
        delta = sum(size for place, size in shifts if place <= item.span.start)
        moved.append(finding(item.span.shift(delta), item.entry, item.dispatch, item.key, item.rule))
    assert unsuppressed(after, tuple(moved)) == ()
    assert all(placed.scope is not None for placed in suppressions_of(after).placed)
    assert written(new, natives, tuple(moved), "why") == new


@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_added_suppressions_of_the_real_file_change_nothing_else(
    real: Model, installed_natives: NativeFunctions, data: st.DataObject
) -> None:
    everything = spots(real)
    indices = data.draw(st.sets(st.integers(0, len(everything) - 1), min_size=1, max_size=60))
    items = tuple(everything[index] for index in sorted(indices))
    check_written(real, items, written(real.source.text, installed_natives, items, "why"), installed_natives)


def test_every_part_of_the_real_file_can_be_silenced_at_once(real: Model, installed_natives: NativeFunctions) -> None:
    items = tuple(spots(real))
    check_written(real, items, written(real.source.text, installed_natives, items, "why"), installed_natives)


ODD = (
    FILE,
    FILE.replace("\n", "\r\n"),
    "\ufeff" + FILE.rstrip("\n"),
    "- {name: neg(Tensor self) -> Tensor, self: grad,\n   result: self_t}\n-   # note\n"
    "  name: abs(Tensor self) -> Tensor\n"
    "  self: |+\n    grad\n\n\n  result: 'a\n\n    b'   # note\n- name: sin(Tensor self) -> Tensor\n  self: grad",
    "---\n-\n  self: grad\n  name: neg(Tensor self) -> Tensor\n  result:\n    self_t   \n...\n",
    "- name: neg(Tensor self) -> Tensor\n  self: &x grad\n  result: *x\n",
)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), text=st.sampled_from(ODD))
def test_added_suppressions_of_odd_files_change_nothing_else(
    installed_natives: NativeFunctions, data: st.DataObject, text: str
) -> None:
    model = model_of(text, installed_natives)
    everything = [*spots(model), finding(Span(0, 1), None, None, None, "file-rule")]
    if model.entries[0].span.start == 0:
        del everything[-1]
    indices = data.draw(st.sets(st.integers(0, len(everything) - 1), min_size=1))
    items = tuple(everything[index] for index in sorted(indices))
    check_written(model, items, written(text, installed_natives, items, "why"), installed_natives)
