"""The files of examples/ci: their consumers can read them, and every command line in them runs."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.conftest import SIN
from tests.formats.test_consumers import lintrunner

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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
    # YAML 1.1 reads the key "on" as true
    assert set(document) == {"name", True, "permissions", "jobs"}
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
    assert document["permissions"]["security-events"] == "write"


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


# lintrunner, from its configuration to what it makes of the messages


class Lintrunner:
    """A model of lintrunner: it passes changed files in a list, and refuses whatever is not a list of messages."""

    def __init__(self, root: Path) -> None:
        (self.linter,) = tomllib.loads((FOLDER / "lintrunner.toml").read_text())["linter"]
        assert self.linter.keys() == {"code", "include_patterns", "command", "init_command"}
        assert any("{{DRYRUN}}" in word for word in self.linter["init_command"])
        self.root = root

    def run(self, *changed: str) -> list[dict[str, Any]]:
        patterns = self.linter["include_patterns"]
        # "*" crosses no folder, and there is none in the patterns
        files = [path for path in changed if any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)]
        if not files:
            return []
        listed = self.root / "list of paths"
        # one canonical path a line
        listed.write_text("".join(f"{self.root / path}\n" for path in files))
        command = [word.replace("{{PATHSFILE}}", str(listed)) for word in self.linter["command"]]
        assert command[0] == "python3"
        process = subprocess.run(
            [sys.executable, *command[1:]], cwd=self.root, capture_output=True, timeout=600, check=False
        )
        assert process.returncode == 0, process.stderr.decode()
        messages = lintrunner(process.stdout.decode())
        replaced = [message["path"] for message in messages if message["replacement"] is not None]
        assert len(replaced) == len(set(replaced)), "two linters proposed changes"
        assert {message["code"] for message in messages} <= {self.linter["code"]}
        return messages

    def apply(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            if message["replacement"] is not None:
                Path(message["path"]).write_text(message["replacement"])


@pytest.fixture
def checkout(here: Path) -> Path:
    """A PyTorch checkout whose path has spaces."""
    root = here / "my py torch"
    native = root / "aten/src/ATen/native/native_functions.yaml"
    native.parent.mkdir(parents=True)
    native.write_text(
        "".join(
            f"- func: {name}(Tensor self) -> Tensor\n  variants: function, method\n  dispatch:\n    CPU: {name}\n"
            for name in ("sin", "cos")
        )
    )
    derivatives = root / "tools/autograd/derivatives.yaml"
    derivatives.parent.mkdir(parents=True)
    derivatives.write_text(MISTAKE.replace("conj()\n", "conj();\n"))
    return root


DERIVATIVES = "tools/autograd/derivatives.yaml"
NATIVE = "aten/src/ATen/native/native_functions.yaml"


@pytest.mark.parametrize("changed", [(DERIVATIVES,), (NATIVE,), (DERIVATIVES, NATIVE)])
def test_lintrunner_gets_the_findings_of_the_derivatives_file(checkout: Path, changed: tuple[str, ...]) -> None:
    messages = Lintrunner(checkout).run(*changed, "README.md")
    assert [(message["name"], message["line"]) for message in messages] == [
        ("undefined-name", 2),
        ("trailing-semicolon", 2),
        ("fix", 2),
    ]
    assert {message["path"] for message in messages} == {str(checkout / DERIVATIVES)}


def test_lintrunner_applies_fixes_and_is_content(checkout: Path) -> None:
    runner = Lintrunner(checkout)
    runner.apply(runner.run(DERIVATIVES))
    left = [message["name"] for message in runner.run(DERIVATIVES)]
    assert "trailing-semicolon" not in left
    (checkout / DERIVATIVES).write_text(SIN)
    assert runner.run(DERIVATIVES) == []
    assert runner.run("README.md") == []


def test_lintrunner_gets_a_wrong_configuration(checkout: Path) -> None:
    (checkout / "derivlint.toml").write_text("nonsense = 1\n")
    (message,) = Lintrunner(checkout).run(DERIVATIVES)
    assert (message["path"], message["name"]) == (None, "command-failed")
    assert 'unknown key "nonsense"' in message["description"]


# the guides


def test_guides_show_what_the_files_say() -> None:
    core = (ROOT / "docs/guides/pytorch-core.md").read_text()
    adapter = (FOLDER / "lintrunner.toml").read_text().partition("\n")[2]
    assert f"```toml\n{adapter}```\n" in core
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
