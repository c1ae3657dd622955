"""The command ``derivlint verify``: which entries it checks, what it refuses, and how it ends."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from derivlint.verify.inputs.points import is_available
from tests.verify.conftest import Command
from tests.verify.wrong import ENTRIES

FAST = ("--no-compile", "--quick", "--jobs", "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--ops", "sine"), 'no entry of an operator "sine"; did you mean "sin" or "sinh"?'),
        (("--ops", "sin", "--all"), "--ops, --changed and --all exclude each other"),
        (("--quick", "--thorough", "--all"), "--quick and --thorough exclude each other"),
        (("--dtype", "float16", "--all"), '"float16" is not a --dtype; choose float64 or complex128'),
        (("--all", "--no-base", "--diff-base", "HEAD"), "--diff-base, --against and --no-base exclude each other"),
        (("--no-base",), "--no-base needs --ops or --all: without a base nothing has changed"),
        (("--no-compile", "--compiler", "g++", "--all"), "--no-compile excludes --helpers and --compiler"),
        (("--all", "--update-baseline"), 'there is no baseline: name a file with "--baseline" or in the configuration'),
    ],
)
def test_what_makes_no_sense_is_refused(command: Command, arguments: tuple[str, ...], message: str) -> None:
    """One line says why, and the status is that of wrong usage."""
    done = command("derivatives.yaml", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"derivlint: {message}\n")


def test_without_torch_there_is_nothing_to_check_with(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what to install."""
    monkeypatch.setattr("derivlint.compiler.gxx.torch_includes", lambda: None)
    done = command("derivatives.yaml", "--all")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'derivlint: torch is not installed; run: pip install "derivlint[verify]"\n'


def test_entries_are_chosen_by_name_with_and_without_overload(command: Command, tmp_path: Path) -> None:
    """A right formula gives no finding, one is silenced like a finding of check; all are checked: status 0."""
    path = tmp_path / "derivatives.yaml"
    path.write_text(
        ENTRIES.replace(
            "  self: -grad * self.cos", "  # derivlint: ignore[wrong-vjp] on purpose\n  self: -grad * self.cos"
        )
    )
    done = command(str(path), "--ops", "mul,exp,sin", *FAST, "--require-all")
    assert (done.returncode, done.stdout) == (0, "no findings in 1 file (3 entries, 6 formulas); 1 suppressed\n")


def test_only_changed_entries_are_checked_by_default(command: Command, folder: Path, tmp_path: Path) -> None:
    """What changed since a revision of git; a file that is not in it is new as a whole."""
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@b.c")
        subprocess.run(["git", *identity, *arguments], cwd=repository, check=True, capture_output=True)

    path = repository / "derivatives.yaml"
    path.write_text(ENTRIES.replace("-grad * self.cos().conj()", "grad * self.cos().conj()"))
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    assert command(str(path), *FAST).stdout == "no findings in 1 file (0 entries, 0 formulas)\n"
    path.write_text(ENTRIES)
    done = command(str(path), *FAST, "--output-format", "json")
    assert [item["entry"] for item in json.loads(done.stdout)["diagnostics"]] == ["sin"]
    assert done.returncode == 1


@pytest.mark.full
@pytest.mark.parametrize("name", ["text", "concise", "json", "sarif", "github", "gitlab", "junit", "rdjson"])
def test_findings_have_every_output_format(command: Command, name: str) -> None:
    """The rule is named in each of them."""
    done = command("derivatives.yaml", "--ops", "sin", *FAST, "--output-format", name)
    assert done.returncode == 1
    assert "wrong-vjp" in done.stdout


@pytest.mark.full
def test_known_findings_are_kept_in_a_baseline(command: Command, tmp_path: Path) -> None:
    """Written once, and not reported again."""
    baseline = str(tmp_path / "known.json")
    choice = ("derivatives.yaml", "--ops", "sin", *FAST, "--baseline", baseline)
    assert command(*choice, "--update-baseline").returncode == 0
    assert command(*choice).returncode == 0
    assert command("derivatives.yaml", "--ops", "sin", *FAST).returncode == 1


def test_what_is_not_checked_is_reported_with_the_reason(command: Command, tmp_path: Path) -> None:
    """Of entries that were asked for by name: what has no formula to check, and what has no inputs."""
    path = tmp_path / "derivatives.yaml"
    path.write_text(
        '- name: floor(Tensor self) -> Tensor\n  self: not_implemented("floor")\n'
        "- name: sqrt(Tensor self) -> Tensor\n  self: grad / (2 * result.conj())\n"
        "- name: sin_(Tensor(a!) self) -> Tensor(a!)\n  self: grad * self.cos().conj()\n"
        "  result: auto_element_wise\n"
    )
    done = command(str(path), "--ops", "floor,sqrt,sin_", *FAST)
    assert done.returncode == 4
    assert "sqrt is not checked: no inputs are known\n" in done.stderr
    assert "floor, self is not checked: not implemented\n" in done.stderr
    reason = 'torchgen generates no code for it; "derivlint check" reports the reason'
    assert f"sin_, result is not checked: {reason}\n" in done.stderr


@pytest.mark.full
def test_exit_zero_shows_findings_without_failing(command: Command) -> None:
    """For reports."""
    done = command("derivatives.yaml", "--ops", "sin", *FAST, "--exit-zero")
    assert done.returncode == 0
    assert "wrong-vjp" in done.stdout


def test_a_device_that_the_machine_lacks_is_named(command: Command) -> None:
    """What cannot run is not checked, and the status says so; no machine has both of these."""
    device = next(each for each in ("mps", "cuda") if not is_available(each))
    done = command("derivatives.yaml", "--ops", "exp", "--no-base", "--no-compile", "--device", device, "--jobs", "1")
    assert f'exp is not checked: the machine has no device "{device}"' in done.stderr
    assert done.returncode == 4


@pytest.mark.parametrize(
    "text",
    [
        "[]\n",
        '- name: floor(Tensor self) -> Tensor\n  self: not_implemented("floor")\n',
        # no inputs are known
        "- name: sqrt(Tensor self) -> Tensor\n  self: grad / (2 * result.conj())\n",
        # no input has a derivative
        "- name: exp(Tensor self) -> Tensor\n  self: non_differentiable\n",
    ],
)
def test_where_nothing_is_compared_nothing_is_checked(command: Command, tmp_path: Path, text: str) -> None:
    """Whatever keeps it from that: the status is not that of a clean file, and the summary does not say so."""
    path = tmp_path / "derivatives.yaml"
    path.write_text(text)
    for more in ((), ("--no-base",)):
        done = command(str(path), "--all", *FAST, *more)
        assert (done.returncode, done.stdout) == (4, "")
        assert done.stderr.endswith("derivlint: nothing is checked: no formula was compared with anything\n")


def test_a_gate_may_require_that_all_is_checked(command: Command, tmp_path: Path) -> None:
    """What no run can check is not an error of a run, unless it is wanted that all is checked."""
    path = tmp_path / "derivatives.yaml"
    path.write_text(
        "- name: exp(Tensor self) -> Tensor\n  self: grad * result.conj()\n"
        '- name: floor(Tensor self) -> Tensor\n  self: not_implemented("floor")\n'
    )
    assert command(str(path), "--all", *FAST).returncode == 0
    done = command(str(path), "--all", *FAST, "--require-all")
    assert done.returncode == 4
    assert "derivlint: floor, self is not checked: not implemented\n" in done.stderr
