"""Findings about what changed since a git revision."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from derivlint.lint import Confidence, Diagnostic, Severity
from derivlint.lint.changes import changed_lines
from derivlint.model import Model, build_model
from derivlint.project.errors import InputError
from derivlint.project.filtering.changes import ChangeFilter
from derivlint.schema import NativeFunctions, read_native_functions
from derivlint.source import SourceFile, Span

TEXT = """\
# a file
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos()
- name: cos(Tensor self) -> Tensor
  self: grad * -self.sin()
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
"""
NATIVE = "".join(
    f"- func: {name}(Tensor self) -> Tensor\n  variants: function\n" for name in ("sin", "cos", "neg", "exp")
)

Git = Callable[..., None]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Run git in an empty repository that holds TEXT as d.yaml and NATIVE as n.yaml in a first commit."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))

    def run(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True)

    run("init", "-q", "-b", "main")
    (tmp_path / "d.yaml").write_bytes(TEXT.encode())
    (tmp_path / "n.yaml").write_text(NATIVE)
    run("add", ".")
    run("commit", "-q", "-m", "first")
    return run


def model_of(path: Path, natives: str = NATIVE) -> Model:
    return build_model(SourceFile.read(path), operators(natives))


def operators(text: str) -> NativeFunctions:
    return read_native_functions([SourceFile("n.yaml", text)])


def reported(path: Path, revision: str = "HEAD", natives: tuple[Path, ...] = ()) -> list[str]:
    """What is left of a finding in every entry and one on every line that belongs to none."""
    text = natives[0].read_text() if natives else NATIVE
    model = model_of(path, text)
    found = [
        Diagnostic("d.yaml", entry.name_span, "r", "m", Severity.ERROR, Confidence.HIGH, entry=entry.operator)
        for entry in model.entries
    ]
    source = model.source
    for number in range(1, len(source.line_starts) + 1):
        start = source.line_starts[number - 1]
        if source.line(number).startswith("#"):
            found.append(Diagnostic("d.yaml", Span(start, start), "r", f"{number}", Severity.ERROR, Confidence.HIGH))
    left = ChangeFilter(revision).about_changed(model, found, path, natives)
    return [item.entry or f"line {item.message}" for item in left]


def test_nothing_is_left_where_nothing_changed(git: Git, tmp_path: Path) -> None:
    assert reported(tmp_path / "d.yaml") == []


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("self.cos()", "self.cos().conj()", ["sin"]),
        ("grad.neg()", "'grad.neg()'", []),
        ("grad * self.cos()", "grad *\n    self.cos()", []),
        ("# a file", "# a file\n# of mine", ["line 2"]),
        ("# a file\n", "\n\n# a file\n\n", []),
        ("\n", "\r\n", []),
        ("- name: cos(Tensor self)", "- name: cos(Tensor other)", ["cos"]),
        ("  self: grad.neg()\n", "  self: grad.neg()\n- name: exp(Tensor self) -> Tensor\n  self: grad\n", ["exp"]),
        ("- name: cos(Tensor self) -> Tensor\n  self: grad * -self.sin()\n", "", []),
        ("self: grad.neg()", "self: grad.neg() # derivlint: ignore[r]", ["neg"]),
    ],
)
def test_entries_are_compared_by_what_they_say(git: Git, tmp_path: Path, old: str, new: str, left: list[str]) -> None:
    assert old in TEXT
    (tmp_path / "d.yaml").write_bytes(TEXT.replace(old, new).encode())
    assert reported(tmp_path / "d.yaml") == left


def test_another_order_changes_nothing(git: Git, tmp_path: Path) -> None:
    head, *entries = TEXT.split("- name")
    (tmp_path / "d.yaml").write_text(head + "".join(f"- name{entry}" for entry in reversed(entries)))
    assert reported(tmp_path / "d.yaml") == []


def test_of_equal_entries_the_new_one_changed(git: Git, tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(TEXT + TEXT[TEXT.index("- name: neg") :])
    assert reported(tmp_path / "d.yaml") == ["neg"]


def test_a_file_that_git_does_not_know_is_new(git: Git, tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text(TEXT)
    assert reported(tmp_path / "new.yaml") == ["sin", "cos", "neg", "line 1"]


def test_a_renamed_file_is_compared_with_its_old_name(git: Git, tmp_path: Path) -> None:
    (tmp_path / "a folder").mkdir()
    git("mv", "d.yaml", "a folder/é.yaml")
    path = tmp_path / "a folder" / "é.yaml"
    path.write_text(TEXT.replace("grad.neg()", "grad"))
    assert reported(path) == ["neg"]


def test_a_link_stands_for_its_file(git: Git, tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to("d.yaml")
    assert reported(tmp_path / "link.yaml") == []


def test_the_working_folder_does_not_count(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d.yaml").write_text(TEXT.replace("grad.neg()", "grad"))
    monkeypatch.chdir("/")
    assert reported(tmp_path / "d.yaml") == ["neg"]
    monkeypatch.chdir(tmp_path)
    assert reported(Path("d.yaml")) == ["neg"]


def test_three_dots_mean_where_the_branch_began(git: Git, tmp_path: Path) -> None:
    git("checkout", "-q", "-b", "topic")
    (tmp_path / "d.yaml").write_text(TEXT.replace("grad.neg()", "grad"))
    git("commit", "-q", "-a", "-m", "mine")
    git("checkout", "-q", "main")
    (tmp_path / "d.yaml").write_text(TEXT.replace("self.cos()", "self.cos().conj()"))
    git("commit", "-q", "-a", "-m", "theirs")
    git("checkout", "-q", "topic")
    assert reported(tmp_path / "d.yaml", "main") == ["sin", "neg"]
    assert reported(tmp_path / "d.yaml", "main...") == ["neg"]


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("neg(Tensor self) -> Tensor\n  variants: function", "neg(Tensor self) -> Tensor\n  variants: method", ["neg"]),
        ("neg(Tensor self) -> Tensor", "neg(Tensor input) -> Tensor", ["neg"]),
        ("exp(Tensor self) -> Tensor", "exp(Tensor input) -> Tensor", []),
        ("- func: cos(Tensor self) -> Tensor\n  variants: function\n", "", ["cos"]),
        ("- func: cos", "\n# moved\n- func: cos", []),
    ],
)
def test_entries_change_with_their_functions(git: Git, tmp_path: Path, old: str, new: str, left: list[str]) -> None:
    assert old in NATIVE
    (tmp_path / "n.yaml").write_text(NATIVE.replace(old, new))
    assert reported(tmp_path / "d.yaml", natives=(tmp_path / "n.yaml",)) == left


def test_functions_of_no_repository_do_not_change(
    git: Git, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "n.yaml"
    elsewhere.write_text(NATIVE)
    assert reported(tmp_path / "d.yaml", natives=(elsewhere,)) == []


@pytest.mark.parametrize("revision", ["nowhere", "", "...", "-p", "--help", "HEAD:d.yaml", "HEAD~1", "no..."])
def test_a_revision_that_is_not_there_is_an_error(git: Git, tmp_path: Path, revision: str) -> None:
    with pytest.raises(InputError) as raised:
        reported(tmp_path / "d.yaml", revision)
    assert str(raised.value) == f'the git repository "{tmp_path.resolve()}" has no revision "{revision}"'


def test_no_repository_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "d.yaml").write_text(TEXT)
    with pytest.raises(InputError, match=r"is not in a git repository: there is no revision to compare with$"):
        reported(tmp_path / "d.yaml")


def test_no_git_is_an_error(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"^cannot run git, which --diff-base needs: "):
        reported(tmp_path / "d.yaml")


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("a\nb\nc", "a\nb\nc", set()),
        ("a\nb\nc", "a\nx\nc", {2}),
        ("a\nb\nc", "x\na\nb\nc\ny", {1, 5}),
        ("a\na\na", "a\na", set()),
        ("", "a", {1}),
        ("a\nb\nc\nd", "b\na\nd", {1}),
    ],
)
def test_changed_lines(old: str, new: str, changed: set[int]) -> None:
    assert changed_lines(SourceFile("d", old), SourceFile("d", new)) == changed


def test_findings_in_a_header_count_where_the_header_changed(git: Git, tmp_path: Path) -> None:
    header = tmp_path / "mine.h"
    header.write_text("Tensor f(Tensor x)\n")
    finding = Diagnostic(
        str(header), Span(0, 18), "unreadable-header", "m", Severity.WARNING, Confidence.HIGH, elsewhere=True
    )
    model = model_of(tmp_path / "d.yaml")
    assert ChangeFilter("HEAD").about_changed(model, [finding], tmp_path / "d.yaml") == (finding,)
    git("add", ".")
    git("commit", "-q", "-m", "second")
    (tmp_path / "d.yaml").write_text(TEXT.replace("neg", "abs"))
    model = model_of(tmp_path / "d.yaml")
    assert ChangeFilter("HEAD").about_changed(model, [finding], tmp_path / "d.yaml") == ()
    header.write_text("Tensor f(Tensor y)\n")
    assert ChangeFilter("HEAD").about_changed(model, [finding], tmp_path / "d.yaml") == (finding,)
