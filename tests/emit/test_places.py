"""Where emitted formulas come from: the map beside the code, and line directives."""

from __future__ import annotations

import re
from difflib import unified_diff
from pathlib import Path

import pytest

from derivlint.emit.emission import EmissionMode, emission
from derivlint.emit.manifest import MANIFEST
from derivlint.emit.places import MAP, read_map
from derivlint.model import Model, build_model
from derivlint.runtime.build import located
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

FOLDED = """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  result: handle_r_to_c(result.scalar_type(), self_t.conj() * self_p.sgn())

- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other,
    self.scalar_type())
  other: "mul_tensor_backward(grad, self, other.scalar_type())"
  result: |
    other_t * self_p
      + self_t * other_p
"""
#: A word of an emitted file, with the characters of the YAML that it was made of.
WORDS = {"handle_r_to_c": "handle_r_to_c", "sgn": "sgn", "self_scalar_type": "self.scalar_type()", "other_p": "other_p"}


def files_of(text: str, natives: NativeFunctions, *, line_directives: bool = False) -> dict[str, str]:
    model = build_model(SourceFile("d.yaml", text), natives)
    return dict(emission(model, None, "ns", line_directives=line_directives).files)


def code_of(files: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in files.items() if name not in (MAP, MANIFEST)}


def changed_lines(before: dict[str, str], after: dict[str, str]) -> dict[str, int]:
    """The number of changed lines of each file that changed."""
    assert before.keys() == after.keys()
    return {
        name: sum(
            line.startswith(("+", "-")) and not line.startswith(("+++", "---"))
            for line in unified_diff(before[name].splitlines(), after[name].splitlines(), n=0)
        )
        for name in before
        if before[name] != after[name]
    }


@pytest.mark.torch
@pytest.mark.parametrize("mode", EmissionMode)
def test_comments_and_folding_change_no_code(
    model: Model, installed_natives: NativeFunctions, mode: EmissionMode
) -> None:
    """A comment at the top and a line break in every plain formula of PyTorch's file."""
    text, count = re.subn(
        r"^(  (?:  )?[\w, ]+: )((?![|>'\"\[{#]|non_diff|auto_)[^\n#:]*?(?:,| [-*/+?])) (?=\S)",
        r"\1\2\n        ",
        model.source.text,
        flags=re.M,
    )
    assert count > 600
    folded = build_model(SourceFile(model.source.path, f"# A comment.\n{text}"), installed_natives)
    before, after = (dict(emission(item, None, "ns", mode=mode).files) for item in (model, folded))
    assert code_of(before) == code_of(after)


def test_a_comment_changes_one_line_of_the_map(bundled_natives: NativeFunctions) -> None:
    before, after = (files_of(text, bundled_natives) for text in (FOLDED, "# A comment.\n" + FOLDED))
    assert changed_lines(before, after) == {MAP: 2, MANIFEST: 4}


def test_a_line_break_in_a_literal_changes_no_code(bundled_natives: NativeFunctions) -> None:
    text = FOLDED.replace("    other_t * self_p\n      + ", "    other_t * self_p + ")
    changed = changed_lines(files_of(FOLDED, bundled_natives), files_of(text, bundled_natives))
    assert changed.keys() == {MAP, MANIFEST}
    assert sum(changed.values()) <= 24


def test_a_new_entry_changes_no_code_of_others(bundled_natives: NativeFunctions) -> None:
    new = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()\n"
    before, after = (files_of(text, bundled_natives) for text in (FOLDED, new + FOLDED))
    for name in code_of(before):
        removed = set(before[name].splitlines()) - set(after[name].splitlines())
        assert not removed, name


def test_a_message_points_at_the_character(bundled_natives: NativeFunctions, tmp_path: Path) -> None:
    """Every word of a formula in the emitted files leads to its characters in the YAML, folded or not."""
    files = files_of(FOLDED, bundled_natives)
    (tmp_path / MAP).write_text(files[MAP])
    source = SourceFile("d.yaml", FOLDED)
    places = set()
    for name in ("nodes_0.cpp", "kernels_0.cpp"):
        for row, line in enumerate(files[name].splitlines(), start=1):
            for match in re.finditer("|".join(WORDS), line):
                message = f"{name}:{row}:{match.start() + 1}: error: no"
                place = re.match(r"d\.yaml:(\d+):(\d+): error: no", located(tmp_path, message))
                if place is not None:
                    offset = source.line_starts[int(place[1]) - 1] + int(place[2]) - 1
                    written = WORDS[match[0]]
                    assert FOLDED[offset:].startswith(written) or FOLDED[offset - 5 :].startswith(written)
                    places.add((match[0], int(place[1])))
    assert places == {("handle_r_to_c", 3), ("sgn", 2), ("sgn", 3), ("self_scalar_type", 7), ("other_p", 11)}


def test_other_messages_stay_as_they_are(bundled_natives: NativeFunctions, tmp_path: Path) -> None:
    assert read_map(tmp_path) is None
    assert located(tmp_path, "nodes_0.cpp:1:1: error: no") == "nodes_0.cpp:1:1: error: no"
    (tmp_path / MAP).write_text(files_of(FOLDED, bundled_natives)[MAP])
    for message in ("nodes_0.cpp:1:1: error: no", "x.h:80:5: note: here", "nodes_0.cpp: In function f:"):
        assert located(tmp_path, message) == message


@pytest.mark.parametrize("damage", ["", "{}", '{"format": 2, "source": "", "entries": {}, "files": {}}'])
def test_a_damaged_map_is_no_map(tmp_path: Path, damage: str) -> None:
    (tmp_path / MAP).write_text(damage)
    assert read_map(tmp_path) is None


def believed_lines(text: str, file: str) -> list[tuple[str, int, str]]:
    """Each line that is not a directive with the file and the number that a C preprocessor gives it."""
    name, number, lines = file, 1, []
    for line in text.split("\n"):
        if line.startswith("#line "):
            _, digits, literal = line.split(" ", 2)
            name, number = literal.strip('"'), int(digits)
            continue
        lines.append((name, number, line))
        number += 1
    return lines


def test_with_line_directives_every_line_has_its_number(bundled_natives: NativeFunctions) -> None:
    files = files_of(FOLDED, bundled_natives, line_directives=True)
    assert MAP not in files
    in_yaml = set()
    for file in ("nodes_0.cpp", "kernels_0.cpp"):
        real = [(row, line) for row, line in enumerate(files[file].split("\n"), 1) if not line.startswith("#line ")]
        for (row, line), (name, believed, same) in zip(real, believed_lines(files[file], file), strict=True):
            assert line == same
            if name == file:
                assert believed == row
            else:
                in_yaml.add((believed, line.strip()))
    assert (2, "grad * self.sgn()") in in_yaml
    assert (9, "other_t * self_p + self_t * other_p") in in_yaml
