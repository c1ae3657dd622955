"""``derivlint review``: every change once, and what follows of it."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, here, run

__all__ = ["here", "run"]

SIN = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()\n  result: auto_element_wise\n"
EXP = "- name: exp(Tensor self) -> Tensor\n  self: grad * result.conj()\n  result: auto_element_wise\n"
EXP_OF_SELF = "- name: exp(Tensor self) -> Tensor\n  self: self.exp().conj() * grad\n"
COS = "- name: cos(Tensor self) -> Tensor\n  self: grad * -self.sin().conj()\n"
WRONG = "- name: cos(Tensor self) -> Tensor\n  self: grad * -sefl.sin().conj()\n"


def files(here: Path, before: str, after: str) -> tuple[str, str]:
    (here / "a.yaml").write_text(before)
    (here / "b.yaml").write_text(after)
    return "a.yaml", "b.yaml"


def document(run: Run, *arguments: str) -> Any:
    outcome = run("review", *arguments, "--output-format", "json", "--exit-zero")
    assert (outcome.status, outcome.err) == (0, "")
    return json.loads(outcome.out)


def git(*arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def test_every_change_is_named_once_with_what_follows(run: Run, here: Path) -> None:
    found = document(run, *files(here, SIN + EXP, EXP_OF_SELF + COS))
    assert [(entry["name"], entry["status"], entry["path"], entry["line"]) for entry in found["entries"]] == [
        ("exp", "changed", "b.yaml", 1),
        ("cos", "added", "b.yaml", 3),
        ("sin", "removed", "a.yaml", 1),
    ]
    exp = found["entries"][0]
    assert exp["values"] == [
        {"dispatch": "Default", "key": "self", "before": "grad * result.conj()", "after": "self.exp().conj() * grad"},
        {"dispatch": "Default", "key": "result", "before": "auto_element_wise", "after": None},
    ]
    assert exp["saved"] == {"gained": ["self"], "lost": ["result"]}
    assert exp["derivatives"] == [
        {"dispatch": None, "aspect": "forward", "before": "yes", "after": "no"},
        {"dispatch": None, "aspect": "forward-over-reverse", "before": "yes", "after": "no"},
    ]
    assert exp["functions"] == ["exp_", "exp.out", "_foreach_exp", "_foreach_exp_"]
    assert found["summary"] == {"added": 1, "removed": 1, "changed": 1, "new_findings": 0, "gone_findings": 0}
    diff = found["code"]["diff"]
    assert "-  SavedVariable result_;" in diff
    assert "+  SavedVariable self_;" in diff
    assert "+++ kernel exp [Autograd]" in diff
    # of what is new or gone everything would be
    assert not any("cos" in line for line in diff)
    # neither the order of entries nor the line of one is a change
    assert not any(".yaml:" in line for line in diff)


def test_layout_order_and_comments_are_no_change(run: Run, here: Path) -> None:
    folded = (
        "# moved\n- name: exp(Tensor self)\n    -> Tensor\n"
        "  result: auto_element_wise\n  self: (grad\n    * result.conj())\n"
    )
    outcome = run("review", *files(here, SIN + EXP, folded + SIN))
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == "a.yaml -> b.yaml\nno entry differs\n"


def test_new_findings_are_distinguished_from_old_ones(run: Run, here: Path) -> None:
    outcome = run("review", *files(here, SIN + COS, WRONG + SIN), "--no-code")
    assert outcome.status == 1
    assert outcome.out == (
        "a.yaml -> b.yaml\n"
        "entries: 1 changed; findings: 1 new, 0 gone\n"
        "\n"
        "changed cos (b.yaml:1)\n"
        "  self\n"
        "    - grad * -self.sin().conj()\n"
        "    + grad * -sefl.sin().conj()\n"
        "  no longer saved: self\n"
        "  also for: cos_, cos.out, _foreach_cos, _foreach_cos_\n"
        "\n"
        "new findings\n"
        '  b.yaml:2:17: error: "sefl" is not declared in a backward formula of "cos" [undefined-name] (cos)\n'
    )
    back = document(run, "b.yaml", "a.yaml", "--no-code")
    assert (back["findings"]["new"], [item["rule"] for item in back["findings"]["gone"]]) == ([], ["undefined-name"])
    assert back["findings"]["gone"][0]["start"] == {"line": 2, "column": 17, "offset": 51}


def test_a_known_finding_is_not_new_where_its_line_moves(run: Run, here: Path) -> None:
    found = document(run, *files(here, WRONG, SIN + WRONG))
    assert found["summary"]["new_findings"] == found["summary"]["gone_findings"] == 0


def test_a_file_is_compared_with_a_revision(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    (here / "derivatives.yaml").write_text(SIN + COS)
    expected = [("cos", "added")]
    for arguments in ((), ("HEAD",), ("derivatives.yaml",), ("HEAD", "derivatives.yaml")):
        found = document(run, *arguments)
        assert [(entry["name"], entry["status"]) for entry in found["entries"]] == expected
        assert found["before"]["label"] == "derivatives.yaml at HEAD"
    (here / "new.yaml").write_text(SIN)
    assert [entry["status"] for entry in document(run, "new.yaml")["entries"]] == ["added"]
    outcome = run("review", "nowhere")
    assert (outcome.status, outcome.out) == (2, "")
    assert 'has no revision "nowhere"' in outcome.err


def test_native_functions_are_those_of_the_revision(run: Run, here: Path) -> None:
    """What an earlier version of the file says is not called unknown because its operator has gone since."""
    native = here / "aten/src/ATen/native/native_functions.yaml"
    native.parent.mkdir(parents=True)
    native.write_text("- func: one(Tensor self) -> Tensor\n  dispatch:\n    CPU: one\n")
    (here / "tools/autograd").mkdir(parents=True)
    derivatives = here / "tools/autograd/derivatives.yaml"
    derivatives.write_text("- name: one(Tensor self) -> Tensor\n  self: grad\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    for path in (native, derivatives):
        path.write_text(path.read_text().replace(" one(", " two(").replace(": one\n", ": two\n"))
    found = document(run)
    assert [(entry["name"], entry["status"]) for entry in found["entries"]] == [("two", "added"), ("one", "removed")]
    assert found["findings"] == {"new": [], "gone": []}


def test_a_page_in_markdown(run: Run, here: Path) -> None:
    outcome = run("review", *files(here, SIN, SIN.replace("grad *", "2 * grad *")), "--output-format", "markdown")
    assert outcome.status == 1
    assert outcome.out.startswith(
        "## a.yaml → b.yaml\n\nentries: 1 changed; findings: 1 new, 0 gone\n\n### changed: `sin` (b.yaml:1)\n\n"
        "```diff\n  self\n- grad * self.cos().conj()\n+ 2 * grad * self.cos().conj()\n```\n\n- also for: sin\\_, "
    )
    assert "\n<details><summary>generated C++</summary>\n\n```diff\n--- node SinBackward0\n" in outcome.out


def test_siblings_that_did_not_change_are_named(run: Run, here: Path) -> None:
    text = "".join(
        f"- name: upsample_nearest{n}d_backward(Tensor grad_output) -> Tensor\n  grad_output: grad\n" for n in (1, 2)
    )
    found = document(run, *files(here, text, text.replace(": grad\n", ": -grad\n", 1)))
    (entry,) = found["entries"]
    assert (entry["name"], entry["siblings"]) == ("upsample_nearest1d_backward", ["upsample_nearest2d_backward"])


@pytest.mark.parametrize("arguments", [("a.yaml", "a.yaml"), ("a", "b", "c"), (".",)])
def test_other_arguments_are_2(run: Run, here: Path, arguments: tuple[str, ...]) -> None:
    files(here, SIN, SIN)
    outcome = run("review", *arguments)
    assert (outcome.status, outcome.out) == (2, "")


def test_without_a_file_it_is_said_what_to_type(run: Run, here: Path) -> None:
    outcome = run("review")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == (
        'derivlint: nothing to review: no "*derivatives*.yaml" or tools/autograd/derivatives.yaml in '
        f'"{here}" or above it; name a file, or two: derivlint review BEFORE AFTER\n'
    )


def test_in_a_whole_file_nothing_but_the_changes_is_named(run: Run, here: Path, derivatives_path: Path) -> None:
    text = derivatives_path.read_text()
    lines = text.splitlines(keepends=True)
    changed = []
    for number, line in enumerate(lines):
        if line.startswith("- name: ") and number % 40 == 0 and lines[number + 1].startswith("  self: "):
            lines[number + 1] = '  self: not_implemented("it")\n'
            changed.append(line.removeprefix("- name: ").partition("(")[0])
    found = document(run, *files(here, text, "# a line more\n" + "".join(lines)))
    assert len(changed) > 5
    assert Counter(entry["name"] for entry in found["entries"]) == Counter(changed)


def test_without_a_repository_there_is_no_revision(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    outcome = run("review")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == f'derivlint: "{here}" is not in a git repository: there is no revision to compare with\n'


@pytest.mark.parametrize("content", ["[core\n", "[core]\n\trepositoryformatversion = 99\n"])
def test_a_repository_that_git_cannot_read_is_called_so(run: Run, here: Path, content: str) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    git("init", "-q")
    (here / ".git/config").write_text(content)
    outcome = run("review")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == f'derivlint: git cannot read the repository "{here}"; run "git status" there\n'


@pytest.mark.parametrize("slip", ["@maintainers", "x@pytorch/core-team", "`@a` <b> #1"])
def test_a_page_notifies_no_one(run: Run, here: Path, slip: str) -> None:
    wrong = SIN.replace("grad *", f'not_there("{slip}", {slip.split("@")[0] or "y"}) * grad *')
    outcome = run("review", *files(here, SIN, f"{wrong}  '{slip}': grad\n"), "--output-format", "markdown")
    text = "".join(part for at, part in enumerate(outcome.out.split("```")) if at % 2 == 0)
    assert not re.search(r"@\w", text)
