"""The profile for repositories that are not trusted: what counts of their configuration, comments and links."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from derivlint.cli import main
from derivlint.lint import Confidence, Severity
from derivlint.project.settings import SettingsOfFiles
from derivlint.project.settings.keys import KEYS
from derivlint.project.settings.settings import Settings
from derivlint.project.settings.trusted_subset import _TRUSTED_PARTS
from derivlint.project.untrusted import VARIABLE, escapes_repository, is_requested, repository_of
from derivlint.rules import load_rules

REPOSITORY = Path(__file__).parents[2]
WRONG = "- name: sin(Tensor self) -> Tensor\n  self: grad * sefl.cos().conj()\n  result: auto_element_wise\n"

#: For each key a value that hides something or reads something foreign.
HOSTILE = {
    "paths": '["elsewhere"]', "exclude": '["*"]', "force-exclude": "true", "native-functions": '["../outside.yaml"]',
    "tags": '"../outside.yaml"', "pytorch-operators": "false", "headers": '["../outside.h", "/etc/passwd"]',
    "helper-bodies": '"../outside.cpp"', "torch": '"installed"', "preset": '"torch_npu"', "entries-key": '"x"',
    "versions-key": '"x"', "version-key": '"x"', "ignored-keys": '["self"]', "replaces-pytorch": "true",
    "declares-operators": "true", "composites": "true", "external-operators": '["*"]', "foreach": "false",
    "trailing-semicolons": "true", "formulas-in-cpp": "false", "version": '"1"', "select": '["missing-symint"]',
    "ignore": '["ALL"]', "extend-select": None, "preview": "false",
    "severity": '{ ALL = "off", undefined-name = "info" }',
    "options": '{ undefined-function = { functions = ["*"] } }', "per-file-ignores": '{ "*" = ["ALL"] }',
    "per-operator-ignores": '{ "*" = ["ALL"] }', "require-ignore-reason": "false", "baseline": '"baseline.json"',
    "min-severity": '"error"', "min-confidence": None, "fail-level": '"error"',
}  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one wrong formula, beside files that are not its own."""
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (tmp_path / "outside.h").write_text("at::Tensor f();\n")
    (tmp_path / "outside.yaml").write_text("SECRET\n")
    (root / "derivatives.yaml").write_text(WRONG)
    monkeypatch.chdir(root)
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", os.devnull)
    for name in (VARIABLE, "CI", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return root


def settings(root: Path, text: str, **given: Any) -> Settings:
    (root / "derivlint.toml").write_text(text)
    return SettingsOfFiles(False, untrusted=True, **given).of_folder(root)


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main.run(["check", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_every_key_has_been_thought_of() -> None:
    assert HOSTILE.keys() == KEYS.keys()
    assert {name.replace("_", "-") for name in _TRUSTED_PARTS} <= KEYS.keys()


@pytest.mark.parametrize("key", [key for key, value in HOSTILE.items() if value is not None])
def test_nothing_that_hides_or_reads_elsewhere_counts(
    repository: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    found = settings(repository, f"{key} = {HOSTILE[key]}\n")
    default = Settings(origin=found.origin, operators_from=found.operators_from, untrusted=True)
    assert found.untrusted_settings == (
        (f"{key} (derivlint.toml:1:1)",)
        if key not in ("preview", "require-ignore-reason")
        else found.untrusted_settings
    )
    for name in Settings.__struct_fields__:
        if name not in ("origins", "untrusted_settings", "selections"):
            assert getattr(found, name) == getattr(default, name), name
    rules = load_rules()
    assert found.selected(rules) == default.selected(rules)
    status, out, err = check(capsys, "derivatives.yaml", "--untrusted", "--force-exclude", "--output-format", "concise")
    assert status == 1
    assert 'derivatives.yaml:2:16: error: "sefl" is not declared' in out
    assert f'derivlint: derivlint.toml:1:1: "{key}" is ignored under --untrusted\n' in err
    status, out, _ = check(capsys, "derivatives.yaml", "--untrusted", "--show-settings")
    assert status == 0
    assert f"ignored, since the repository is not trusted: {key} (derivlint.toml:1:1)\n" in out


def test_what_makes_a_check_stricter_counts(repository: Path) -> None:
    (repository / "own.h").write_text("at::Tensor f();\n")
    (repository / "native.yaml").write_text("- func: sin(Tensor self) -> Tensor\n")
    found = settings(
        repository,
        'extend-select = ["missing-symint"]\npreview = true\nrequire-ignore-reason = true\nfail-level = "info"\n'
        'min-confidence = "low"\nseverity = { missing-conjugate = "error" }\nheaders = ["own.h"]\n'
        'native-functions = ["native.yaml"]\n',
    )
    assert found.untrusted_settings == ()
    assert found.preview
    assert found.require_ignore_reason
    assert found.fail_level is Severity.INFO
    assert found.min_confidence is Confidence.LOW
    assert found.severity == {"missing-conjugate": Severity.ERROR}
    assert found.headers == (repository / "own.h",)
    assert found.native_functions == (repository / "native.yaml",)
    assert settings(repository, 'torch = "2.13"\n').torch == "2.13"


@pytest.mark.parametrize("content", [
    pytest.param("Tensor f_backward(const Tensor& SECRET, const Tensor& grad) { return SECRET; }\n", id="a source"),
    pytest.param("root:x:0:0:SECRET\n" * 50, id="no source"),
    pytest.param("Tensor f_backward(const Tensor& grad) { " + "{ SECRET; (" * 3000, id="deep"),
    pytest.param("\xff\xfe\x00SECRET", id="bytes"),
])  # fmt: skip
@pytest.mark.parametrize("link", [False, True])
def test_nothing_is_shown_of_a_foreign_source_of_bodies(
    repository: Path, capsys: pytest.CaptureFixture[str], content: str, link: bool
) -> None:
    """Also where the repository is trusted: its configuration may name any file."""
    (repository.parent / "outside.cpp").write_bytes(content.encode("latin-1"))
    if link:
        (repository / "own.cpp").symlink_to("../outside.cpp")
    name = "own.cpp" if link else "../outside.cpp"
    (repository / "derivlint.toml").write_text(f'helper-bodies = "{name}"\n')
    for output_format in ("text", "json"):
        for more in ((), ("--untrusted",)):
            _, out, err = check(capsys, "derivatives.yaml", "--output-format", output_format, *more)
            assert "SECRET" not in out + err
            assert "nonlinear-helper" not in out
            assert "helper-without-gradient" not in out
    (repository / "derivlint.toml").unlink()
    # the command line may show what it names
    _, out, _ = check(capsys, "derivatives.yaml", "--helper-bodies", "../outside.cpp")
    assert ("helper-without-gradient" in out) is content.startswith("Tensor f_backward(const Tensor& SECRET")


def test_a_foreign_source_that_cannot_be_read_is_an_error(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository.parent / "outside.cpp").mkdir()
    (repository / "derivlint.toml").write_text('helper-bodies = "../outside.cpp"\n')
    status, _, err = check(capsys, "derivatives.yaml")
    assert (status, "outside.cpp" in err) == (2, True)
    # without it the file is checked
    assert check(capsys, "derivatives.yaml", "--untrusted")[0] == 1


def test_of_a_list_the_harmless_part_counts(repository: Path) -> None:
    (repository / "own.h").write_text("")
    (repository / "link.h").symlink_to("../outside.h")
    found = settings(
        repository,
        'headers = ["own.h", "link.h", "../outside.h"]\nseverity = { ALL = "info", missing-symint = "error" }\n',
    )
    assert found.headers == (repository / "own.h",)
    assert found.severity == {"missing-symint": Severity.ERROR}
    assert found.untrusted_settings == ("headers (derivlint.toml:1:1)", "severity (derivlint.toml:2:1)")


def test_the_command_line_is_trusted(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(capsys, "derivatives.yaml", "--untrusted", "--ignore", "undefined-name")[0] == 0
    assert check(capsys, "derivatives.yaml", "--untrusted", "--config", 'severity.undefined-name="off"')[0] == 0
    (repository.parent / "own.toml").write_text('ignore = ["undefined-name"]\n')
    assert check(capsys, "derivatives.yaml", "--untrusted", "--config", "../own.toml")[0] == 0
    assert check(capsys, "derivatives.yaml", "--baseline", "../known.json", "--update-baseline")[0] == 0
    status, out, err = check(capsys, "derivatives.yaml", "--untrusted", "--baseline", "../known.json")
    assert (status, err) == (0, "")
    assert "1 in the baseline" in out


def test_a_baseline_of_the_repository_hides_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(capsys, "derivatives.yaml", "--baseline", "known.json", "--update-baseline")[0] == 0
    (repository / "derivlint.toml").write_text('baseline = "known.json"\n')
    assert check(capsys, "derivatives.yaml")[0] == 0
    assert check(capsys, "derivatives.yaml", "--untrusted")[0] == 1


@pytest.mark.parametrize("text", [
    WRONG.replace("()\n", "()  # derivlint: ignore[undefined-name] fine\n", 1),
    "# derivlint: ignore-file[undefined-name] fine\n" + WRONG,
])  # fmt: skip
def test_comments_hide_nothing(repository: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (repository / "derivatives.yaml").write_text(text)
    assert check(capsys, "derivatives.yaml")[0] == 0
    (repository / "derivlint.toml").write_text('severity = { undefined-name = "error" }\n')
    for output_format in ("text", "json", "github"):
        status, out, err = check(capsys, "derivatives.yaml", "--untrusted", "--output-format", output_format)
        assert status == 1
        assert "is not declared in a backward formula" in out
        assert err == "derivlint: derivatives.yaml: --untrusted reports 1 finding that comments suppress\n"


def test_the_environment_asks_for_it_in_every_command(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "derivatives_link.yaml").symlink_to("../outside.yaml")
    for value, expected in (("1", True), ("true", True), ("yes", True), ("0", False), ("", False), ("False", False)):
        monkeypatch.setenv(VARIABLE, value)
        assert is_requested() is expected
        for command in (["check"], ["model"], ["coverage"], ["show", "sin"]):
            main.run([*command, "derivatives_link.yaml"])
            captured = capsys.readouterr()
            assert ("links outside of the repository" in captured.err) is expected
            assert "SECRET" not in captured.err
            assert ("SECRET" in captured.out) <= (not expected)
    monkeypatch.setenv(VARIABLE, "1")
    for arguments in (["verify"], ["emit", "cpp", "derivatives.yaml", "--out", "out", "--compile-check"]):
        assert main.run(arguments) == 2
        assert f"which {VARIABLE} forbids" in capsys.readouterr().err
        assert not (repository / "out").exists()


def test_what_leads_out(repository: Path, tmp_path: Path) -> None:
    (repository / "sub" / ".git").mkdir(parents=True)
    (tmp_path / "other" / ".git").mkdir(parents=True)
    (tmp_path / "other" / "x.yaml").write_text("")
    (repository / "folder").symlink_to(tmp_path / "other")
    (repository / "inside").symlink_to("derivatives.yaml")
    (repository / "loop").symlink_to("loop")
    (repository / "sub" / "up").symlink_to("../derivatives.yaml")
    inside = [
        "derivatives.yaml",
        "inside",
        "missing.yaml",
        "sub/x.yaml",
        "../outside.h",
        "../other/x.yaml",
        "./sub/../inside",
    ]
    assert [name for name in inside if escapes_repository(Path(name))] == []
    # the last one leaves its own repository, the one inside
    outside = ["folder/x.yaml", "folder", "folder/missing", "sub/up"]
    assert [name for name in outside if not escapes_repository(Path(name))] == []
    assert isinstance(escapes_repository(Path("loop")), bool)
    assert repository_of(repository / "sub" / "deeper") == repository / "sub"
    assert repository_of(tmp_path / "outside") == tmp_path / "outside"


def test_without_the_profile_nothing_is_other_than_before(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "derivlint.toml").write_text('ignore = ["undefined-name"]\nheaders = ["../outside.h"]\n')
    status, _, err = check(capsys, "derivatives.yaml")
    assert (status, err) == (0, "")
    assert "ignored, since the repository is not trusted" not in check(capsys, "derivatives.yaml", "--show-settings")[1]


def test_the_page_on_security_names_what_counts() -> None:
    text = (REPOSITORY / "SECURITY.md").read_text(encoding="utf-8")
    assert [
        name for name in _TRUSTED_PARTS if name not in ("severity",) and f"`{name.replace('_', '-')}" not in text
    ] == []


@pytest.mark.parametrize("name", ["derivlint.toml", "pyproject.toml"])
@pytest.mark.parametrize("target", ["outside.toml", "/dev/stdin", "/nowhere/at/all.toml"])
def test_a_configuration_that_is_a_link_out_of_the_repository_is_refused(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, target: str
) -> None:
    outside = tmp_path / "outside.toml"
    outside.write_text('[tool.derivlint]\nextend-select = ["style"]\n')
    for configuration in ("derivlint.toml", "pyproject.toml"):
        (repository / configuration).unlink(missing_ok=True)
    (repository / name).symlink_to(outside if target == outside.name else target)
    status, out, err = check(capsys, "--untrusted", "derivatives.yaml")
    assert (status, out) == (2, "")
    assert err.splitlines()[0].endswith(f'{name}" links outside of the repository, which --untrusted forbids')
