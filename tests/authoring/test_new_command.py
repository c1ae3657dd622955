"""``derivlint new``: what it prints and writes, and what it leaves alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from derivlint.project.files import EXAMPLE
from tests.cli.conftest import Run, here, run
from tests.sampling import sample

__all__ = ["here", "run"]

FILES = ["derivatives.yaml", "derivlint.toml", "native_functions.yaml", "swish.cpp", "test_swish.py"]
SWISH = ("new", "swish", "--forward", "x * sigmoid(x)", "--inline", str(EXAMPLE))


def test_everything_is_printed(run: Run, here: Path) -> None:
    outcome = run(*SWISH)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(
        "==> derivatives.yaml <==\n"
        "- name: swish(Tensor x) -> Tensor\n"
        "  x: grad * x.sigmoid() + grad * x * (x.sigmoid() - x.sigmoid() * x.sigmoid())\n"
        "  result: x_p * (x_t * (x_p.sigmoid() - x_p.sigmoid() * x_p.sigmoid())) + x_t * x_p.sigmoid()\n"
        "\n==> native_functions.yaml <==\n- func: swish(Tensor x) -> Tensor\n"
    )
    assert sorted(line[4:-4] for line in outcome.out.splitlines() if line.startswith("==> ")) == FILES
    assert list(here.iterdir()) == []


def test_files_are_written_and_check_clean_there(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = run(*SWISH, "--out", "op")
    assert outcome.out == '5 files written to "op"; check them there: derivlint check\n'
    assert sorted(path.name for path in (here / "op").iterdir()) == FILES
    monkeypatch.chdir(here / "op")
    assert run("check").out == "no findings in 1 file (1 entry, 2 formulas)\n"


def test_nothing_is_written_over_without_force(run: Run, here: Path) -> None:
    (here / "op").mkdir()
    (here / "op" / "swish.cpp").write_text("mine")
    outcome = run(*SWISH, "--out", "op")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == 'derivlint: "op" already has "swish.cpp"; --force overwrites them\n'
    assert [path.name for path in (here / "op").iterdir()] == ["swish.cpp"]
    assert run(*SWISH, "--out", "op", "--force").status == 0
    assert (here / "op" / "swish.cpp").read_text().startswith("#include")


def test_what_the_check_finds_is_said(run: Run) -> None:
    outcome = run("new", "linalg_eigh")
    assert outcome.status == 1
    assert outcome.err.startswith('derivlint: derivatives.yaml: error: "linalg_eigh" is composite')


def test_options_for_expressions_need_one(run: Run) -> None:
    outcome = run("new", "sinh", "--inline")
    refusal = "--inline, --complex, --same-shape and --verify need --forward"
    assert (outcome.status, outcome.err) == (2, f"derivlint: {refusal}\n")


def test_an_unknown_name_says_what_to_type(run: Run) -> None:
    outcome = run("new", "nobody_knows")
    assert (outcome.status, outcome.out) == (2, "")
    assert '"nobody_knows(Tensor self, float alpha=1.0) -> Tensor"' in outcome.err
    assert '--forward "x * sigmoid(x)"' in outcome.err


@pytest.mark.torch
def test_numbers_are_compared_with_pytorch(run: Run) -> None:
    outcome = run(*SWISH, "--verify")
    assert outcome.err == "derivlint: agrees with PyTorch (largest difference: 0)\n"


@pytest.mark.torch
@pytest.mark.long
def test_the_tests_run_and_pass_for_operators_that_are_there(run: Run, here: Path) -> None:
    """The first as a program; the others as modules, in a process that imports PyTorch once."""
    tests = []
    operators = ("sinh", "mul.Tensor", "topk", "mse_loss", "cat", "var_mean.correction")
    for operator in sample(operators, 3, always=("sinh", "topk", "cat")):
        folder = operator.replace(".", "_")
        assert run("new", operator, "--out", folder).status == 0
        (test,) = (here / folder).glob("test_*.py")
        tests.append(str(test.relative_to(here)))
    # in CI, PyTorch's tests write reports with a library of their own
    env = {name: value for name, value in os.environ.items() if name != "CI"}
    for count, arguments in ((2, tests[:1]), (2 * len(tests[1:]), ["-m", "unittest", *tests[1:]])):
        process = subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stderr
        assert f"Ran {count} tests" in process.stderr
