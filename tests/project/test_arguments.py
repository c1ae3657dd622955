"""Arguments that stand for other files: lists of paths, and files of native functions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from derivlint.project.errors import InputError
from derivlint.project.files import derivatives_files, expand_lists
from derivlint.project.settings import Settings

NATIVE = Path("aten/src/ATen/native/native_functions.yaml")
DERIVATIVES = Path("tools/autograd/derivatives.yaml")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_a_list_stands_for_its_lines(here: Path) -> None:
    (here / "list").write_bytes(b"\xef\xbb\xbfa b.yaml\r\n\n  \n@c.yaml\n\xff.yaml\n x\xc2\x85y")
    assert list(expand_lists(["first", "@list", "-", "@"])) == [
        "first",
        "a b.yaml",
        "@c.yaml",
        os.fsdecode(b"\xff.yaml"),
        " x\u0085y",
        "-",
        "@",
    ]


def test_an_empty_list_names_nothing_to_check(here: Path) -> None:
    touch(here / "derivatives.yaml")
    touch(here / "list")
    assert derivatives_files(["@list"], Settings()) == []


def test_a_list_that_cannot_be_read_is_reported(here: Path) -> None:
    with pytest.raises(InputError, match=r'cannot read the list of paths "none": No such file'):
        list(expand_lists(["@none"]))
    with pytest.raises(InputError, match=r'cannot read the list of paths ".": Is a directory'):
        list(expand_lists(["@."]))


def test_native_functions_stand_for_the_derivatives_of_their_checkout(here: Path) -> None:
    touch(here / "torch" / NATIVE)
    touch(here / "torch" / DERIVATIVES)
    expected = [str(Path("torch") / DERIVATIVES)]
    assert derivatives_files([str(Path("torch") / NATIVE)], Settings()) == expected
    assert derivatives_files([str(Path("torch") / NATIVE), *expected], Settings()) == expected
    assert derivatives_files([str(here / "torch" / NATIVE)], Settings()) == expected
    assert derivatives_files(["torch/**/*.yaml"], Settings()) == expected


def test_native_functions_stand_for_the_derivatives_of_the_configuration(here: Path) -> None:
    native = touch(here / "a b" / "native_functions.yaml")
    mine = touch(here / "@mine" / "derivatives.yaml")
    settings = Settings(paths=(native, mine))
    assert derivatives_files(["a b/native_functions.yaml"], settings) == ["./@mine/derivatives.yaml"]
    assert derivatives_files([], settings) == ["./@mine/derivatives.yaml"]


def test_native_functions_without_derivatives_are_reported(here: Path) -> None:
    touch(here / "native_functions.yaml")
    with pytest.raises(InputError) as caught:
        derivatives_files(["native_functions.yaml"], Settings())
    assert str(caught.value) == (
        'no derivatives file belongs to "native_functions.yaml": '
        'none beside it, no tools/autograd/derivatives.yaml in its checkout, no "paths" configured'
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("native_functions.yaml", ""),
        ("tags.yaml", "- tag: core\n"),
        ("deprecated.yaml", "- name: add(Tensor self) -> Tensor\n  aten: add(self)\n"),
        ("op_plugin_functions.yaml", "custom:\n  - func: f(Tensor x) -> Tensor\n"),
        ("my_ops.yaml", "- func: my_ops::f(Tensor x) -> Tensor\n"),
    ],
)
def test_files_that_go_with_derivatives_stand_for_those_beside_them(here: Path, name: str, text: str) -> None:
    folder = touch(here / "config" / "derivatives.yaml").parent
    touch(folder / "more_derivatives.yaml")
    (folder / name).write_text(text, encoding="utf-8")
    expected = [str(Path("config", each)) for each in ("derivatives.yaml", "more_derivatives.yaml")]
    assert derivatives_files([str(Path("config", name))], Settings()) == expected


def test_other_files_are_taken_for_what_they_are_named_as(here: Path) -> None:
    touch(here / "derivatives.yaml")
    (here / "mine.yaml").write_text("- name: f(Tensor x) -> Tensor\n", encoding="utf-8")
    assert derivatives_files(["mine.yaml"], Settings()) == ["mine.yaml"]


def test_a_missing_file_of_that_name_is_left_to_the_reader(here: Path) -> None:
    assert derivatives_files(["native_functions.yaml"], Settings()) == ["native_functions.yaml"]
