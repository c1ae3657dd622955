"""Findings by difference: what an earlier version of the file has as well is as before, whatever its text is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.verify.conftest import Command

FAST = ("--no-compile", "--quick", "--jobs", "1", "--dtype", "float64", "--output-format", "json")

SIN = "- name: sin(Tensor self) -> Tensor\n  self: "
WRONG = "-grad * self.cos().conj()"


@pytest.fixture
def verdicts(command: Command, tmp_path: Path) -> Any:
    """What becomes of the findings when one file takes the place of another."""

    def run(before: str, after: str, *more: str) -> dict[str, Any]:
        (tmp_path / "before.yaml").write_text(before)
        (tmp_path / "after.yaml").write_text(after)
        arguments = (str(tmp_path / "after.yaml"), "--against", str(tmp_path / "before.yaml"), *FAST, *more)
        done = command(*arguments)
        document = json.loads(done.stdout)
        found: dict[str, Any] = {
            name: [(item["entry"], item["key"], item["rule"]) for item in document[key]]
            for name, key in (("new", "diagnostics"), ("as before", "as_before"), ("gone", "gone"))
        }
        assert {key: document["summary"][key] for key in ("as_before", "gone")} == {
            "as_before": len(found["as before"]),
            "gone": len(found["gone"]),
        }
        assert done.returncode == bool(found["new"])
        return {name: items for name, items in found.items() if items}

    return run


#: A formula before and after, with where its findings are expected.
CHANGES = {
    "sin": ("grad * self.cos().conj()", "-grad * self.cos().conj()", {"new"}),
    "cosh": ("-grad * self.sinh().conj()", "grad * self.sinh().conj()", {"gone"}),
    "sinh": ("-grad * self.cosh().conj()", "(self.cosh().conj() * -grad) * 1", {"as before"}),
    "exp": ("-grad * result.conj()", "-grad * result.conj() * 3", {"new"}),
    "cos": ("grad * -self.sin().conj()", "self.sin().conj() * -grad", set()),
    "tanh": ("-grad * (1 - result * result)", "-grad * (1 - result * result) * (self > 0.9)", {"as before", "new"}),
    "erf": ("grad * self * (self > 0.9)", "grad * self", {"as before", "new"}),
}
ATAN2 = "- name: atan2(Tensor self, Tensor other) -> Tensor\n"
SQUARE = "(self * self + other * other)"


def entries(which: int) -> str:
    """The formulas before or after the change."""
    return "".join(f"- name: {name}(Tensor self) -> Tensor\n  self: {each[which]}\n" for name, each in CHANGES.items())


def test_findings_are_compared_by_number_and_input(verdicts: Any) -> None:
    """An equal rewrite is quiet, with the defects that it has; what is wrong elsewhere or in another way is new.

    One formula for two gradients is the earlier version of two formulas, and an entry that was not there has only new
    findings.
    """
    before = f"{ATAN2}  self, other: atan2_backward(-grad, self, other, grad_input_mask)\n"
    after = f"{ATAN2}  self: -grad * other / {SQUARE}\n  other: grad * -self / {SQUARE}\n"
    added = "- name: reciprocal(Tensor self) -> Tensor\n  self: grad\n"
    found = verdicts(entries(0) + before, entries(1) + after + added)
    numbers = {name: {item[:2] for item in items if item[2] == "wrong-vjp"} for name, items in found.items()}
    expected: dict[str, set[tuple[str, str]]] = {
        verdict: {(name, "self") for name, each in CHANGES.items() if verdict in each[2]}
        for verdict in ("new", "as before", "gone")
    }
    # reported with what is new
    expected["as before"] -= expected["new"]
    expected["new"].add(("reciprocal", "self"))
    # at an infinity it is NaN before and after
    expected["as before"].add(("atan2", "other"))
    expected["as before"].add(("atan2", "self"))
    expected["gone"].add(("atan2", "other"))
    assert numbers == expected


def test_a_page_of_markdown_says_what_became_of_findings(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same page goes to GitHub, after what is there already."""
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    path, page = tmp_path / "after.yaml", tmp_path / "page.md"
    path.write_text(f"{SIN}{WRONG}\n")
    command(str(path), *FAST, "--ops", "sin", "--page", str(page))
    text = page.read_text()
    assert text.startswith("## Derivatives as numbers\n\n1 entry checked: 1 new, 0 as before, 0 gone.\n")
    assert '| new | `sin` | `self` | the gradient of "self" along a direction is ' in text
    assert summary.read_text() == f"before\n{text}"


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@b.c")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def committed(folder: Path, text: str) -> Path:
    """A repository with a derivatives file on its branch main."""
    path = folder / "derivatives.yaml"
    path.write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return path


def test_a_revision_is_what_is_compared_with(command: Command, tmp_path: Path) -> None:
    """HEAD on the main branch; --no-base shows everything."""
    path = committed(tmp_path, f"{SIN}{WRONG}\n")
    path.write_text(f"{SIN}self.cos().conj() * -grad\n")
    done = command(str(path), *FAST)
    assert (done.returncode, json.loads(done.stdout)["summary"]["as_before"]) == (0, 1)
    assert 'as before: sin, self: the gradient of "self" along a direction is ' in done.stderr
    shown = command(str(path), *FAST, "--ops", "sin", "--no-base")
    assert (shown.returncode, "as_before" in json.loads(shown.stdout)) == (1, False)


def test_what_a_branch_commits_is_a_change(command: Command, tmp_path: Path) -> None:
    path = committed(tmp_path, f"{SIN}grad * self.cos().conj()\n")
    git(tmp_path, "checkout", "-q", "-b", "work")
    path.write_text(f"{SIN}{WRONG}\n")
    git(tmp_path, "commit", "-q", "-a", "-m", "second")
    done = command(str(path), *FAST)
    found = {item["rule"] for item in json.loads(done.stdout)["diagnostics"]}
    assert (done.returncode, "wrong-vjp" in found) == (1, True)


def test_what_gradients_and_tangents_are_beside_their_numbers_is_compared(command: Command, tmp_path: Path) -> None:
    """Their sizes before the engine fits them to the input, and memory that they newly share."""
    formulas = {
        "neg": ("self", "-grad", "-grad.unsqueeze(0)", "has the sizes [1], and [] before"),
        "clone": (
            "self: grad\n  result",
            "self_t.clone()",
            "self_t",
            'shares its memory with the tangent of "self", and did not before',
        ),
        "cosh": ("self", "grad.clone() * self.sinh()", "grad * self.sinh()", ""),
    }
    more = {"clone": ", *, MemoryFormat? memory_format=None"}
    for name, which in (("before", 1), ("after", 2)):
        entries = (
            f"- name: {operator}(Tensor self{more.get(operator, '')}) -> Tensor\n  {each[0]}: {each[which]}\n"
            for operator, each in formulas.items()
        )
        (tmp_path / f"{name}.yaml").write_text("".join(entries))
    done = command(str(tmp_path / "after.yaml"), "--against", str(tmp_path / "before.yaml"), *FAST)
    found = [(item["entry"], item["message"]) for item in json.loads(done.stdout)["diagnostics"]]
    assert {name for name, _ in found} == {name for name, each in formulas.items() if each[3]}
    for operator, each in formulas.items():
        assert not each[3] or any(name == operator and each[3] in message for name, message in found)


def test_inputs_do_not_depend_on_what_a_formula_survives(verdicts: Any) -> None:
    """Without "grad" in the formula both outputs are differentiable, and one of them is infinite at every input."""
    loss = "- name: _ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
    loss += "int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)\n  log_probs: "
    right = "_ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank, "
    found = verdicts(f"{loss}{right}zero_infinity)\n", f"{loss}zeros_like(log_probs)\n")
    assert found == {"new": [("_ctc_loss", "log_probs", "wrong-vjp")]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # a formula that is no longer there
        (f"{WRONG}\n  result: self_t * self_p", WRONG),
        ("grad * self.cos().conj()\n  result: -self_t * self_p.cos()", "grad * self.cos().conj()"),
        # one that is compared with nothing
        (WRONG, 'not_implemented("sin")\n  result: self_t * self_p.cos()'),
    ],
)
def test_only_what_is_judged_can_be_gone(verdicts: Any, before: str, after: str) -> None:
    """A defect whose formula was taken away is not said to be repaired."""
    other = "- name: exp(Tensor self) -> Tensor\n  self: grad * result.conj()\n"
    found = verdicts(f"{SIN}{before}\n{other}", f"{SIN}{after}\n{other}")
    assert "gone" not in found
    assert "new" not in found


def test_a_right_formula_is_not_said_to_contradict_a_wrong_one(verdicts: Any) -> None:
    """Also at inputs at which the wrong one alone cannot be judged, as at a kink."""
    relu = "- name: relu(Tensor self) -> Tensor\n  self: {}\n  result: self_t * (self_p > 0)\n"
    found = verdicts(relu.format("grad * (self > 0)"), relu.format("zeros_like(self)"))
    assert found["new"] == [("relu", "self", "wrong-vjp")]
