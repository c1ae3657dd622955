"""Every command of the quick starts in the README, where it says that it is to be run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sampling import CAMPAIGN, sample

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
#: The longest quick start.
MAX_COMMANDS = 6

pytestmark = [pytest.mark.torch, pytest.mark.long]


def quick_starts() -> dict[str, list[str]]:
    """The commands of each quick start, by its title."""
    part = README.partition("\n## Quick starts\n")[2].partition("\n## ")[0]
    found = {}
    for section in part.split("\n### ")[1:]:
        title = section.partition("\n")[0]
        (block,) = re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
        found[title] = block.splitlines()
    return found


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path, packaged: Path) -> Path:
    """What derivlint reads of a checkout of PyTorch, with a branch that changes a formula."""
    folder = tmp_path / "pytorch"
    native = folder / "aten/src/ATen/native"
    native.mkdir(parents=True)
    for name in ("native_functions.yaml", "tags.yaml"):
        shutil.copy(packaged / "ATen" / "native" / name, native / name)
    derivatives = folder / "tools/autograd/derivatives.yaml"
    derivatives.parent.mkdir(parents=True)
    # a tenth of the entries, since every command takes its time for each, with those that the commands need
    head, *entries = re.split(r"(?m)^(?=- name: )", (packaged / "autograd" / "derivatives.yaml").read_text())
    needed = [each for each in entries if re.match(r"- name: (sinh|mul\.Tensor|sigmoid|sigmoid_backward)\(", each)]
    derivatives.write_text(head + "".join(sample(entries, 40, always=needed)))
    manual = Path("torch/csrc/autograd/FunctionsManual.h")
    (folder / manual).parent.mkdir(parents=True)
    shutil.copy(packaged.parent.parent / "torch" / "include" / manual, folder / manual)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "main")
    git(folder, "checkout", "-qb", "mine")
    text = derivatives.read_text()
    (folder / "test.py").write_text("import torch\nprint(torch.ones(1).sinh())\n")
    formula = "grad * self.cosh().conj()"
    assert text.count(formula) == 1
    derivatives.write_text(text.replace(formula, "self.cosh().conj() * grad"))
    git(folder, "commit", "-qam", "mine")
    return folder


def run_all(title: str, folder: Path) -> dict[str, str]:
    """Run the commands of a quick start; what each prints."""
    commands = quick_starts()[title]
    assert 0 < len(commands) <= MAX_COMMANDS
    here = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": here, "NO_COLOR": "1"}
    for name in ("CI", "PRE_COMMIT"):
        environment.pop(name, None)
    printed = {}
    for command in commands:
        run = command
        if not CAMPAIGN and command.startswith("derivlint run"):
            # it compiles, as its own tests do
            continue
        if not CAMPAIGN and command.startswith("derivlint verify"):
            # it compiles for half a minute, as the tests of verify do
            run = f"{command.partition('#')[0]} --no-compile"
        process = subprocess.run(
            ["bash", "-c", run], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        # findings are what a check is for
        finds = command.startswith(("derivlint check", "derivlint review"))
        assert process.returncode in ((0, 1) if finds else (0,)), f"{command}\n{process.stdout}\n{process.stderr}"
        assert process.stdout, command
        assert "Traceback" not in process.stderr
        printed[command.partition("#")[0].strip()] = process.stdout
    return printed


@pytest.mark.usefixtures("precompiled_headers")
def test_for_contributors_of_pytorch(checkout: Path) -> None:
    printed = run_all("You work on PyTorch", checkout)
    assert "changed sinh (tools/autograd/derivatives.yaml:" in printed["derivlint review main..."]
    assert "no findings in 1 file" in printed["derivlint verify --ops sinh"]


def test_for_back_ends(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "examples" / "backend", tmp_path / "backend")
    run_all("You keep an out-of-tree back end", folder)


def test_for_authors_of_custom_operators(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "examples" / "custom_ops", tmp_path / "custom_ops")
    run_all("You write custom operators", folder)


def test_every_quick_start_is_run() -> None:
    tested = ["You work on PyTorch", "You keep an out-of-tree back end", "You write custom operators"]
    assert list(quick_starts()) == tested
