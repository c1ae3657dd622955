"""``derivlint emit python``: what is written, and what becomes of wrong input."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result

from derivlint.cli.main import cli
from tests.running import runner

ENTRY = """\
- name: sigmoid(Tensor self) -> Tensor
  self: grad * (result * (1 - result)).conj()
  result: auto_element_wise
"""


@pytest.fixture
def derivatives(tmp_path: Path) -> Path:
    """A file with one entry."""
    file = tmp_path / "derivatives.yaml"
    file.write_text(ENTRY, encoding="utf-8")
    return file


def run(file: Path, out: Path, *more: str) -> Result:
    """The command with a bundled set of operators."""
    return runner().invoke(cli, ["emit", "python", str(file), "--torch", "2.13.0", "--out", str(out), *more])


def test_a_module_is_written_once(derivatives: Path, tmp_path: Path) -> None:
    """The folder is made; what is there already and right is not touched."""
    out = tmp_path / "deep" / "functions.py"
    done = run(derivatives, out)
    assert (done.exit_code, done.stdout) == (0, f'1 operator: written to "{out}"\n')
    stamp = out.stat().st_mtime_ns
    assert run(derivatives, out).exit_code == 0
    assert out.stat().st_mtime_ns == stamp
    assert [path.name for path in out.parent.iterdir()] == ["functions.py"]
    assert run(derivatives, out, "--check").exit_code == 0


def test_unknown_operators_are_reported_with_the_one_that_is_meant(derivatives: Path, tmp_path: Path) -> None:
    """A misspelt name ends the command, and nothing is written."""
    done = run(derivatives, tmp_path / "out.py", "--ops", "sigmiod")
    assert done.exit_code == 2
    assert 'no operator "sigmiod"; did you mean "sigmoid"?' in done.stderr
    assert not (tmp_path / "out.py").exists()


def test_errors_in_the_file_keep_it_from_being_emitted(derivatives: Path, tmp_path: Path) -> None:
    """They are printed; --allow-errors goes on without the entry."""
    derivatives.write_text(ENTRY.replace("(1 - result)", "(1 - reslut)"), encoding="utf-8")
    done = run(derivatives, tmp_path / "out.py")
    assert done.exit_code == 1
    assert "reslut" in done.stdout
    assert "nothing is written" in done.stderr
    assert not (tmp_path / "out.py").exists()


def test_entries_with_errors_are_left_out_of_a_whole_file(tmp_path: Path) -> None:
    """The others are written; what --ops names is refused, and so is a file with an error outside of entries."""
    file, out = tmp_path / "derivatives.yaml", tmp_path / "out.py"
    file.write_text(f"{ENTRY}\n- name: sin(Tensor self) -> Tensor\n  self: grad * self.cso()\n", encoding="utf-8")
    done = run(file, out)
    assert done.exit_code == 1
    assert '"Tensor" has no member "cso"' in done.stdout
    assert "sin is omitted: its entry has an error in line 6\n" in done.stderr
    assert f'1 operator, 1 omitted: written to "{out}"\n' in done.stdout
    out.unlink()
    assert "nothing is written: 1 error" in run(file, out, "--ops", "sigmoid,sin").stderr
    assert run(file, out, "--ops", "sigmoid").exit_code == 0
    out.unlink()
    file.write_text(f"{file.read_text(encoding='utf-8')}\n- nmae: cos(Tensor self) -> Tensor\n", encoding="utf-8")
    assert "nothing is written" in run(file, out).stderr
    assert not out.exists()


def test_an_operator_called_all_is_not_all_operators(derivatives: Path, tmp_path: Path) -> None:
    done = run(derivatives, tmp_path / "out.py", "--ops", "all")
    assert done.exit_code == 2
    assert 'no code for "all": no entry applies to this operator' in done.stderr


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    """An entry whose formula calls something that has no Python is reported, with the reason."""
    file = tmp_path / "derivatives.yaml"
    file.write_text(
        ENTRY + "\n- name: values(Tensor(a) self) -> Tensor(a)\n  self: values_backward(grad, self)\n", encoding="utf-8"
    )
    done = run(file, tmp_path / "out.py", "--allow-errors")
    assert done.exit_code == 0
    assert 'values is omitted: there is no Python for "values_backward"' in done.stderr
    assert "class Values" not in (tmp_path / "out.py").read_text(encoding="utf-8")


def test_what_cannot_be_written_is_reported(derivatives: Path, tmp_path: Path) -> None:
    """A file where a folder should be is not a traceback."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = run(derivatives, tmp_path / "file" / "out.py")
    assert done.exit_code == 2
    assert "cannot write" in done.stderr
