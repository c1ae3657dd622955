"""The files of examples/ci: their consumers can read them, and every command line in them runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.conftest import SIN

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "ci"
MISTAKE = SIN.replace("self.cos()", "slef.cos()")

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="the commands are those of POSIX shells"), pytest.mark.long]


@pytest.fixture
def project(here: Path) -> Path:
    """A repository with a mistake in its derivatives file, and a command ``derivlint`` on the path."""
    (here / ".git").mkdir()
    (here / "derivatives.yaml").write_text(MISTAKE)
    (here / "bin").mkdir()
    script = here / "bin" / "derivlint"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m derivlint "$@"\n')
    script.chmod(0o755)
    return here


def shell(project: Path, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-e", "-c", line],
        cwd=project,
        env={**os.environ, "PATH": f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}", **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_github_gets_annotations_and_a_report_to_upload(project: Path) -> None:
    document = yaml.safe_load((FOLDER / "github.yml").read_text())
    (job,) = document["jobs"].values()
    steps: list[dict[str, Any]] = job["steps"]
    commands = {step["name"]: step for step in steps if "derivlint check" in step.get("run", "")}
    assert list(commands) == ["Annotations", "Report for code scanning"]
    annotations = shell(project, commands["Annotations"]["run"], GITHUB_WORKSPACE=str(project))
    assert annotations.returncode == 1
    assert annotations.stdout.startswith("::error file=derivatives.yaml,line=2,")
    # the step runs although the one before failed, and fails only where there is no report to upload
    report = commands["Report for code scanning"]
    assert report["if"] == "always()"
    assert shell(project, report["run"], GITHUB_WORKSPACE=str(project)).returncode == 0
    upload = steps[-1]
    assert upload["if"] == "always()"
    sarif = json.loads((project / upload["with"]["sarif_file"]).read_text())
    (result,) = sarif["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "derivatives.yaml"
    (project / "derivlint.toml").write_text("nonsense = 1\n")
    assert shell(project, report["run"]).returncode == 2
    assert job["permissions"]["security-events"] == "write"


def test_gitlab_gets_its_report_also_when_the_job_fails(project: Path) -> None:
    document = yaml.safe_load((FOLDER / "gitlab.yml").read_text())
    job = document["derivlint"]
    (line,) = (line for line in job["script"] if line.startswith("derivlint"))
    assert shell(project, line, CI_PROJECT_DIR=str(project)).returncode == 1
    assert job["artifacts"]["when"] == "always"
    (item,) = json.loads((project / job["artifacts"]["reports"]["codequality"]).read_text())
    assert (item["check_name"], item["location"]["path"]) == ("undefined-name", "derivatives.yaml")


def test_jenkins_gets_the_report_that_it_reads(project: Path) -> None:
    text = (FOLDER / "Jenkinsfile").read_text()
    (line,) = re.findall(r"sh '(derivlint .*)'", text)
    assert shell(project, line).returncode == 0
    (report,) = re.findall(r"junit '(.*)'", text)
    (case,) = ElementTree.parse(project / report).iter("testcase")
    assert case.get("name") == "org.derivlint.undefined-name"
    (project / "derivatives.yaml").write_text(SIN)
    assert shell(project, line).returncode == 0
    (case,) = ElementTree.parse(project / report).iter("testcase")
    assert list(case) == []


@pytest.mark.tools
def test_pre_commit_takes_the_configuration_whose_hooks_there_are() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-config", str(FOLDER / "pre-commit.yaml")]
    process = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
    (repository,) = yaml.safe_load((FOLDER / "pre-commit.yaml").read_text())["repos"]
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert {hook["id"] for hook in repository["hooks"]} == hooks


# lintrunner, the program itself, with PyTorch's own files


DERIVATIVES = "tools/autograd/derivatives.yaml"
NATIVE = "aten/src/ATen/native/native_functions.yaml"


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def checkout(here: Path, packaged: Path) -> Path:
    """A repository with PyTorch's own files, the recipe, and the baseline that the recipe says how to make."""
    root = here / "my py torch"
    for source, path in (("autograd/derivatives.yaml", DERIVATIVES), ("ATen/native/native_functions.yaml", NATIVE)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(packaged / source, root / path)
    shutil.copy(packaged / "ATen/native/tags.yaml", (root / NATIVE).with_name("tags.yaml"))
    recipe = (FOLDER / "lintrunner.toml").read_text()
    (root / ".lintrunner.toml").write_text(recipe)
    (command,) = re.findall(r"^# +(derivlint check .*)$", recipe, re.MULTILINE)
    made = shell(root, f'"{sys.executable}" -m {command}')
    assert made.returncode == 0, made.stderr
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "as released")
    return root


def lintrunner_shows(root: Path, *options: str) -> list[tuple[str | None, str, int | None]]:
    """Run lintrunner on all files; returns path, name and line of each message."""
    command = [str(Path(sys.executable).with_name("lintrunner")), "--all-files", "--output", "json", *options]
    process = subprocess.run(
        [*command, "--data-path", str(root.parent / "data")],
        cwd=root,
        # "python3" of the recipe is the Python that has derivlint
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    messages = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    assert process.returncode == (1 if messages else 0), process.stderr
    assert {message["code"] for message in messages} <= {"DERIVATIVES"}
    paths = [message["path"] and Path(message["path"]).relative_to(root).as_posix() for message in messages]
    return [(path, message["name"], message["line"]) for path, message in zip(paths, messages, strict=True)]


@pytest.mark.tools
def test_lintrunner_is_silent_on_pytorch_as_released_and_shows_exactly_a_slip(checkout: Path) -> None:
    assert lintrunner_shows(checkout) == []
    path = checkout / DERIVATIVES
    released = path.read_text(encoding="utf-8")
    path.write_text(released.replace("self: grad * self.cos().conj()\n", "self: grad * slef.cos().conj();\n", 1))
    line = released[: released.index("self: grad * self.cos().conj()\n")].count("\n") + 1
    # -a applies the fix, which is a message of its own, instead of showing it
    assert sorted(lintrunner_shows(checkout, "--apply-patches")) == [
        (DERIVATIVES, "trailing-semicolon", line),
        (DERIVATIVES, "undefined-name", line),
    ]
    assert "self: grad * slef.cos().conj()\n" in path.read_text(encoding="utf-8")
    # a wrong configuration is a message
    (checkout / "derivlint.toml").write_text("nonsense = 1\n")
    ((shown, name, _),) = lintrunner_shows(checkout)
    assert (shown, name) == (None, "command-failed")


@pytest.mark.tools
def test_zizmor_finds_nothing_in_workflows_action_and_recipe() -> None:
    audited = [ROOT / ".github", ROOT / "action.yml", FOLDER / "github.yml"]
    command = [str(Path(sys.executable).with_name("zizmor")), "--offline", "--format", "plain", *map(str, audited)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert process.returncode == 0, process.stdout


def test_the_action_checks_and_reports_with_its_inputs(project: Path) -> None:
    """Its script, with the inputs that a workflow gives it."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = (step for step in action["runs"]["steps"] if step.get("id") == "check")
    assert {"paths", "baseline", "diff-base", "untrusted", "sarif"} == set(action["inputs"])
    (project / "a b").mkdir()
    (project / "a b" / "derivatives.yaml").write_text(SIN)
    report = project / "derivlint.sarif"
    for paths, status, findings in (("derivatives.yaml\n", 1, 1), ("a b/derivatives.yaml\n\n", 0, 0)):
        inputs = {"PATHS": paths, "BASELINE": "", "DIFF_BASE": "", "DERIVLINT_UNTRUSTED": "1", "REPORT": str(report)}
        process = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=project,
            env={**os.environ, "PATH": f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}", **inputs},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert process.returncode == status, process.stderr
        assert process.stdout.count("::error file=derivatives.yaml,line=2,") == findings
        assert len(json.loads(report.read_text())["runs"][0]["results"]) == findings


# the guides


def test_guides_show_what_the_files_say() -> None:
    core = (ROOT / "docs/guides/pytorch-core.md").read_text()
    recipe = (FOLDER / "lintrunner.toml").read_text()
    assert f"```toml\n{recipe[recipe.index('[[linter]]') :]}```\n" in core
    (command,) = re.findall(r"^# +(derivlint check .*)$", recipe, re.MULTILINE)
    assert f"```sh\n{command}\n```\n" in core
    ci = (ROOT / "docs/guides/ci.md").read_text()
    gitlab = (FOLDER / "gitlab.yml").read_text().partition("\n")[2]
    assert f"```yaml\n{gitlab}```\n" in ci
    steps = {
        step["name"]: step
        for text in re.findall(r"```yaml\n( +- .*?)```", ci, re.DOTALL)
        for step in yaml.safe_load(text)
        if "name" in step
    }
    (job,) = yaml.safe_load((FOLDER / "github.yml").read_text())["jobs"].values()
    named = {step["name"]: step for step in job["steps"] if "name" in step}
    assert steps == named
    jenkins = (FOLDER / "Jenkinsfile").read_text()
    for line in re.findall(r"```groovy\n(.*?)```", ci, re.DOTALL)[0].splitlines():
        assert line in jenkins
