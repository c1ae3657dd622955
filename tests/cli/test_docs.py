"""The pages that are generated from rules: whole text, and staleness."""

from __future__ import annotations

from pathlib import Path

import pytest

import tools.docs
from derivlint.lint import Invalid, Rule, RuleMeta, Severity
from tests.cli.conftest import Run

README = "before\n<!-- generated: rule-options -->\nold\n<!-- end of generated -->\nafter\n"

DOC = """Finds a thing | that is wrong.

## What it detects
A thing.

## Why it is bad
It is wrong.

## Example
    - name: x

## Instead
    - name: y

## Sources
A function.
"""

PAGE = """\
# bad-thing

Finds a thing | that is wrong.

group: [style](README.md#style) | severity: error | confidence: high | status: stable | since: 0.1.0 | fix: yes

## What it detects

A thing.

## Why it is bad

It is wrong.

## Example

    - name: x

## Instead

    - name: y

## Sources

A function.

## Messages

```yaml
- name: x
```

    1:9-10: "x" is wrong
    help: write "y"

After the fix:

```yaml
- name: y
```

```yaml
- name: z
```

    1:9-10: "z" is wrong
"""


@pytest.fixture
def repository(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cases = (
        Invalid("- name: x\n", "1:9-10", '"x" is wrong', help='write "y"', fixed="- name: y\n"),
        Invalid("- name: z\n", "1:9-10", '"z" is wrong'),
    )
    rule = Rule(
        "bad-thing",
        "Finds a thing | that is wrong",
        DOC,
        RuleMeta(Severity.ERROR, "style"),
        "model",
        lambda _: (),
        (),
        cases,
    )
    monkeypatch.setattr(tools.docs, "load_rules", lambda: (rule,))
    (here / "README.md").write_text(README)
    return here


def test_pages_tables_and_readme_are_written(tool: Run, repository: Path) -> None:
    outcome = tool("docs")
    assert (outcome.status, outcome.out, outcome.err) == (0, "3 pages changed\n", "")
    table = """\
| rule | severity | fix | what it finds |
| --- | --- | --- | --- |
| [bad-thing](bad-thing.md) | error | yes | Finds a thing \\| that is wrong |
"""
    folder = repository / "docs" / "rules"
    assert (folder / "bad-thing.md").read_text() == PAGE
    assert (folder / "README.md").read_text() == f"# Rules\n\n## style\n\nWhat is right and could be better.\n\n{table}"
    readme = (repository / "README.md").read_text()
    assert readme.startswith("before\n<!-- generated: rule-options -->\n\n| rule |")
    assert readme.endswith("\n<!-- end of generated -->\nafter\n")
    assert "old" not in readme
    assert tool("docs").out == "0 pages changed\n"


def test_stale_and_left_over_pages_are_1_and_stay_as_they_are(tool: Run, repository: Path) -> None:
    tool("docs")
    assert tool("docs", "--check").status == 0
    folder = repository / "docs" / "rules"
    (folder / "gone.md").write_text("x")
    (folder / "bad-thing.md").write_text("x")
    outcome = tool("docs", "--check")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "".join(
        f'derivlint: docs/rules/{name}.md is stale; run "python -m tools.docs"\n' for name in ("bad-thing", "gone")
    )
    assert (folder / "bad-thing.md").read_text() == "x"
    assert tool("docs").out == "2 pages changed\n"
    assert not (folder / "gone.md").exists()
    assert tool("docs", "--check").status == 0


def test_a_folder_without_a_readme_is_2(tool: Run, repository: Path) -> None:
    (repository / "README.md").unlink()
    outcome = tool("docs", "--root", ".")
    assert (outcome.status, outcome.err) == (2, 'derivlint: cannot read "README.md": No such file or directory\n')
    assert not (repository / "docs").exists()


def test_the_command_is_not_listed(run: Run) -> None:
    assert "docs" not in run("--help").out
