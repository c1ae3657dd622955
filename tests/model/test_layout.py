"""Files that are more than a list: entries below a key, and entries that hold for some versions only."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.model import PLAIN, Layout, build_model, build_models
from derivlint.schema import NativeFunctions
from derivlint.schema.versions import spelled
from derivlint.source import SourceFile

HEAD = "all_version: [v2.1, v2.2, v2.3, v2.4]\nbackward:\n"
ABS = "- name: abs(Tensor self) -> Tensor\n  self: grad * self.sgn()\n"
NEG = "- name: neg(Tensor self) -> Tensor\n  self: grad.neg()\n"


def source(text: str) -> SourceFile:
    return SourceFile("derivatives.yaml", text)


def versions_of(text: str, natives: NativeFunctions) -> list[tuple[str, ...]]:
    model = build_model(source(HEAD + text), natives)
    return [entry.versions.names for entry in model.all_entries if entry.versions is not None]


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("all_version", "v2.1 v2.2 v2.3 v2.4"),
        ("[v2.2, newest]", "v2.2 v2.3 v2.4"),
        ("[v2.1, v2.3]", "v2.1 v2.2 v2.3"),
        ("[newest, newest]", "v2.4"),
        ("v2.2", "v2.2"),
        ("v2.4, v2.1", "v2.1 v2.4"),
        ("newest", "v2.4"),
        # what cannot be understood hides no entry from the rules
        ("[v2.3, v2.1]", "v2.1 v2.2 v2.3 v2.4"),
        ("[v2.1]", "v2.1 v2.2 v2.3 v2.4"),
        ("{a: b}", "v2.1 v2.2 v2.3 v2.4"),
        ("v9", "v2.1 v2.2 v2.3 v2.4"),
    ],
)
def test_versions_are_read(written: str, names: str, bundled_natives: NativeFunctions) -> None:
    assert versions_of(ABS + f"  version: {written}\n", bundled_natives) == [tuple(names.split())]


def test_an_entry_without_version_holds_for_all(bundled_natives: NativeFunctions) -> None:
    assert versions_of(ABS, bundled_natives) == [("v2.1", "v2.2", "v2.3", "v2.4")]


def test_the_version_is_no_formula(bundled_natives: NativeFunctions) -> None:
    model = build_model(source(HEAD + ABS + "  version: all_version\n"), bundled_natives)
    assert [formula.key_text for body in model.bodies() for formula in body.formulas] == ["self"]
    assert (model.n_entries, model.n_formulas) == (1, 1)


def test_a_model_has_the_entries_of_its_version(bundled_natives: NativeFunctions) -> None:
    text = HEAD + ABS + "  version: [v2.1, v2.2]\n" + NEG + ABS + "  version: [v2.3, newest]\n"
    newest = build_model(source(text), bundled_natives)
    assert (newest.version, [entry.operator for entry in newest.entries]) == ("v2.4", ["neg", "abs"])
    assert [entry.index for entry in newest.entries] == [0, 1]
    oldest = build_model(source(text), bundled_natives, version="v2.1")
    assert [entry.operator for entry in oldest.entries] == ["abs", "neg"]
    assert oldest.n_entries == newest.n_entries == 3


def test_versions_with_the_same_entries_share_a_model(bundled_natives: NativeFunctions) -> None:
    text = HEAD + ABS + "  version: [v2.1, v2.2]\n" + NEG + "  version: v2.1, v2.2, v2.4\n"
    assert [model.version for model in build_models(source(text), bundled_natives)] == ["v2.4", "v2.3", "v2.2"]


def test_a_plain_list_has_one_model_and_no_version(bundled_natives: NativeFunctions) -> None:
    (model,) = build_models(source(ABS), bundled_natives)
    assert (model.layout, model.version, model.versions) == (PLAIN, None, None)


def test_a_plain_list_serves_the_versions_that_its_entries_name(bundled_natives: NativeFunctions) -> None:
    text = ABS + "  version: v1.11, v2.0\n" + NEG + ABS + "  version: [v2.2, v2.10]\n"
    models = build_models(source(text), bundled_natives)
    assert [model.version for model in models] == ["v2.10", "v2.0"]
    assert [[entry.operator for entry in model.entries] for model in models] == [["neg", "abs"], ["abs", "neg"]]
    assert models[0].versions is not None
    assert models[0].versions.names == ("v1.11", "v2.0", "v2.2", "v2.10")
    assert [formula.key_text for body in models[0].bodies() for formula in body.formulas] == ["self", "self"]


@pytest.mark.parametrize("line", ["# version: v2.0\n", "  self: grad  # version: v2.0\n", "  version: grad\n"])
def test_other_lines_with_that_word_make_no_versions(line: str, bundled_natives: NativeFunctions) -> None:
    assert build_model(source("- name: abs(Tensor self) -> Tensor\n" + line), bundled_natives).versions is None


def test_a_layout_can_be_given(bundled_natives: NativeFunctions) -> None:
    layout = Layout(entries="entries", ignored=frozenset({"owner"}))
    text = "entries:\n" + ABS + "  owner: me\n"
    model = build_model(source(text), bundled_natives, layout)
    assert [formula.key_text for body in model.bodies() for formula in body.formulas] == ["self"]
    assert build_model(source(text), bundled_natives).entries == ()


def test_versions_in_prose() -> None:
    known = ("a", "b", "c", "d")
    assert spelled(("b",), known) == "b"
    assert spelled(("b", "c", "d"), known) == "b to d"
    assert spelled(("a", "c"), known) == "a, c"


def test_the_shipped_file_is_a_plain_list(derivatives_path: Path, installed_natives: NativeFunctions) -> None:
    (model,) = build_models(SourceFile.read(derivatives_path), installed_natives)
    assert model.entries == model.all_entries
