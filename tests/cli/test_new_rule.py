"""``python -m tools.new_rule``: what it writes is a rule that works, and passes the tests of rules."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from derivlint.formats.rule_page import rule_sections
from derivlint.lint import Rule, RuleMeta, Severity, rule_from_module, run_rules
from derivlint.lint.engine.precedence import UNCOMPILED_HERE
from derivlint.model import build_model
from derivlint.rules import NAMES, RENAMED
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.cli.conftest import SIN, Run

ROOT = Path(__file__).parents[2]
REGISTRY = "rules/__init__.py"
NEW = "odd-thing"


@pytest.fixture
def repository(here: Path) -> Path:
    """A copy of what the command changes."""
    (here / "rules").mkdir()
    shutil.copy(ROOT / REGISTRY, here / REGISTRY)
    return here


def load(path: Path) -> Rule:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return rule_from_module(path.stem.replace("_", "-"), module)


def registered(path: Path) -> list[str]:
    namespace: dict[str, object] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    names = namespace["NAMES"]
    assert isinstance(names, tuple)
    return list(names)


def test_a_rule_is_written_and_registered(tool: Run, repository: Path) -> None:
    outcome = tool("new_rule", NEW)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("wrote rules/odd_thing.py, registered in rules/__init__.py; what is left")
    assert registered(repository / REGISTRY) == sorted([*NAMES, NEW])
    # nothing but the one line changes
    before = (ROOT / REGISTRY).read_text().splitlines()
    after = (repository / REGISTRY).read_text().splitlines()
    assert [line for line in after if line not in before] == [f'    "{NEW}",']
    assert len(after) == len(before) + 1


@pytest.mark.parametrize("target", ["model", "entry", "body", "formula", "node"])
def test_the_rule_loads_and_finds_what_its_cases_say(
    tool: Run, repository: Path, bundled_natives: NativeFunctions, target: str
) -> None:
    assert tool("new_rule", NEW, "--target", target, "--severity", "error").status == 0
    rule = load(repository / "rules" / "odd_thing.py")
    assert (rule.name, rule.target) == (NEW, target)
    assert rule.summary.startswith("Odd thing: ")
    assert rule.meta == RuleMeta(Severity.ERROR, "style", status="preview", yields_to=(UNCOMPILED_HERE,))
    sections = ["What it detects", "Why it is bad", "Example", "Instead", "Fix safety", "Sources"]
    assert list(rule_sections(rule)) == sections
    for text in (SIN, *rule.valid):
        result = run_rules(build_model(SourceFile("derivatives.yaml", text), bundled_natives), (rule,))
        assert (result.diagnostics, result.internal_errors) == ((), 0)
    for case in rule.invalid:
        source = SourceFile("derivatives.yaml", case.yaml)
        result = run_rules(build_model(source, bundled_natives), (rule,))
        assert [(item.message, item.key) for item in result.diagnostics] == [(case.message, "self")]


@pytest.mark.tools
def test_the_rule_has_the_form_that_linters_want(run: Run, tool: Run, repository: Path) -> None:
    tool("new_rule", NEW)
    for arguments in (("check",), ("format", "--check")):
        process = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--config", str(ROOT / "pyproject.toml"), "--no-cache", "rules"],
            cwd=repository,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert process.returncode == 0, process.stdout


def test_it_passes_the_tests_of_rules(run: Run, tool: Run, repository: Path) -> None:
    """The tests of the cases, the form and the example of all rules, over the new one alone."""
    tool("new_rule", NEW)
    for name in ("__init__.py", "test_cases.py", "test_examples.py"):
        target = repository / "tests" / "rules" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / "rules" / name, target)
    for name in ("conftest.py", "precompiled.py"):
        shutil.copy(ROOT / "tests" / name, repository / "tests")
    (repository / "tests" / "__init__.py").touch()
    registry = repository / REGISTRY
    registry.write_text(re.sub(r"NAMES: .*?\n\)\n", f'NAMES = ("{NEW}",)\n', registry.read_text(), flags=re.DOTALL))
    (repository / "conftest.py").write_text(
        "import sys\nimport rules\nsys.modules['derivlint.rules'] = rules\nimport derivlint\nderivlint.rules = rules\n"
    )
    about_others = "tests/rules/test_examples.py::test_only_abbreviated_examples_are_not_run"
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-q", "--rootdir", ".", "--deselect", about_others]
    process = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests"],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert process.returncode == 0, process.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("undefined-name", 'there is a rule "undefined-name" already'),
        ("internal-error", '"internal-error" is the name of findings without a rule'),
        ("compiler-error", '"compiler-error" is the name of findings without a rule'),
        ("check-grads", '"check-grads" must name the bad pattern; "check" names the cure'),
        *(
            (name, f'"{name}" must be lower-case words joined by hyphens, two or more')
            for name in ("grads", "Odd-thing", "odd_thing", "odd--thing", "odd-", "../odd-thing", "odd-thíng", "")
        ),
    ],
)
def test_names_that_rules_cannot_have_are_2(tool: Run, repository: Path, name: str, message: str) -> None:
    before = (repository / REGISTRY).read_text()
    outcome = tool("new_rule", name)
    assert (outcome.status, outcome.out, outcome.err) == (2, "", f"derivlint: {message}\n")
    assert (repository / REGISTRY).read_text() == before
    assert [path.name for path in (repository / "rules").iterdir()] == ["__init__.py"]


def test_former_names_are_never_used_again(tool: Run, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RENAMED, "old-thing", "undefined-name")
    outcome = tool("new_rule", "old-thing")
    assert outcome.status == 2
    assert outcome.err == 'derivlint: "old-thing" is the former name of "undefined-name"; names are never reused\n'


def test_a_file_that_is_there_is_not_overwritten(tool: Run, repository: Path) -> None:
    (repository / "rules" / "odd_thing.py").write_text("x")
    outcome = tool("new_rule", NEW)
    assert (outcome.status, outcome.err) == (2, 'derivlint: "rules/odd_thing.py" exists and is not registered\n')
    assert (repository / "rules" / "odd_thing.py").read_text() == "x"


def test_elsewhere_than_in_the_repository_is_2(tool: Run, here: Path) -> None:
    outcome = tool("new_rule", NEW)
    assert outcome.status == 2
    assert outcome.err == f'derivlint: cannot read "{REGISTRY}": No such file or directory\n'
    (here / "rules").mkdir()
    (here / REGISTRY).write_text("NAMES = ()\n")
    assert tool("new_rule", NEW).err == f'derivlint: "{REGISTRY}" has no list NAMES with a name on each line\n'


def test_the_checklist_is_that_of_the_guide(tool: Run, repository: Path) -> None:
    """What the command says to do, CONTRIBUTING.md says in more words."""
    listed = tool("new_rule", NEW).out
    guide = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding a rule\n")[2].partition("\n## ")[0]
    for words in ("src/derivlint/model", "tools.docs", "CHANGELOG.md", "pytest tests/rules tests/conformance"):
        assert words in listed
        assert words in guide
