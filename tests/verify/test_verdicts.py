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
SQUARE = "(self * self + other * other)"
CTC_LOSS = "_ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, result0, result1, "
#: One formula for two gradients is the earlier version of two formulas.
ATAN2 = (
    "self, other: atan2_backward(-grad, self, other, grad_input_mask)",
    f"self: -grad * other / {SQUARE}\n  other: grad * -self / {SQUARE}",
)
FIRST = {
    **{f"{name}(Tensor self) -> Tensor": (f"self: {a}", f"self: {b}") for name, (a, b, _) in CHANGES.items()},
    "atan2(Tensor self, Tensor other) -> Tensor": ATAN2,
}
#: Other entries; of more than ten fewer inputs would be tried.
SECOND = {
    # a defect whose formula is no longer there, or is compared with nothing, is not said to be repaired
    "expm1(Tensor self) -> Tensor": (
        "self: -grad * (result + 1)\n  result: self_t * self_p",
        "self: -grad * (result + 1)",
    ),
    "sigmoid(Tensor self) -> Tensor": (
        "self: grad * (1 - result) * result\n  result: -self_t * result * (1 - result)",
        "self: grad * (1 - result) * result",
    ),
    "exp2(Tensor self) -> Tensor": (
        "self: -grad * result * 0.6931471805599453",
        'self: not_implemented("exp2")\n  result: self_t * result * 0.6931471805599453',
    ),
    # without "grad" in the formula both outputs are differentiable, and one of them is infinite at every input
    "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, "
    "bool zero_infinity=False) -> (Tensor, Tensor)": (
        f"log_probs: {CTC_LOSS}blank, zero_infinity)",
        "log_probs: zeros_like(log_probs)",
    ),
    # a wrong formula alone cannot be judged at a kink, and the right one is not said to contradict it there
    "relu(Tensor self) -> Tensor": (
        "self: grad * (self > 0)\n  result: self_t * (self_p > 0)",
        "self: zeros_like(self)\n  result: self_t * (self_p > 0)",
    ),
    # beside their numbers: sizes before the engine fits them to the input, and memory that is newly shared
    "neg(Tensor self) -> Tensor": ("self: -grad", "self: -grad.unsqueeze(0)"),
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor": (
        "self: grad\n  result: self_t.clone()",
        "self: grad\n  result: self_t",
    ),
    "asinh(Tensor self) -> Tensor": (
        "self: grad.clone() / (self * self + 1).sqrt()",
        "self: grad / (self * self + 1).sqrt()",
    ),
}
#: An entry that was not there has only new findings.
ADDED = "- name: reciprocal(Tensor self) -> Tensor\n  self: grad\n"


def text_of(entries: dict[str, tuple[str, str]], which: int) -> str:
    """The entries before or after the change."""
    return "".join(f"- name: {schema}\n  {both[which]}\n" for schema, both in entries.items())


@pytest.fixture(scope="module")
def compared(command: Command, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A folder with what the first comparison wrote, and the JSON documents of both."""
    folder = tmp_path_factory.mktemp("compared")
    before, after = folder / "before.yaml", folder / "after.yaml"
    (folder / "summary.md").write_text("before\n")
    documents = []
    with pytest.MonkeyPatch.context() as patch:
        for entries, added, more in ((FIRST, ADDED, ("--page", str(folder / "page.md"))), (SECOND, "", ())):
            before.write_text(text_of(entries, 0))
            after.write_text(text_of(entries, 1) + added)
            if more:
                patch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
            else:
                patch.delenv("GITHUB_STEP_SUMMARY")
            done = command(str(after), "--against", str(before), *FAST, *more)
            assert done.returncode == 1
            documents.append(json.loads(done.stdout))
    return folder, documents


def by_verdict(document: dict[str, Any]) -> dict[str, list[tuple[str, str, str]]]:
    """The entries, keys and rules of findings by what became of them."""
    names = {"new": "diagnostics", "as before": "as_before", "gone": "gone"}
    return {
        verdict: [(item["entry"], item["key"], item["rule"]) for item in document[name]]
        for verdict, name in names.items()
    }


@pytest.fixture(scope="module")
def verdicts(compared: tuple[Path, list[dict[str, Any]]]) -> list[dict[str, list[tuple[str, str, str]]]]:
    """What became of the findings of both comparisons."""
    found = [by_verdict(document) for document in compared[1]]
    for document, each in zip(compared[1], found, strict=True):
        assert document["summary"]["as_before"] == len(each["as before"])
        assert document["summary"]["gone"] == len(each["gone"])
    return found


def test_findings_are_compared_by_number_and_input(verdicts: list[dict[str, list[tuple[str, str, str]]]]) -> None:
    """An equal rewrite is quiet, with the defects that it has; what is wrong elsewhere or in another way is new."""
    numbers = {name: {item[:2] for item in items if item[2] == "wrong-vjp"} for name, items in verdicts[0].items()}
    expected: dict[str, set[tuple[str, str]]] = {
        verdict: {(name, "self") for name, each in CHANGES.items() if verdict in each[2]}
        for verdict in ("new", "as before", "gone")
    }
    # reported with what is new
    expected["as before"] -= expected["new"]
    expected["new"].add(("reciprocal", "self"))
    # at an infinity it is NaN before and after
    expected["as before"] |= {("atan2", "self"), ("atan2", "other")}
    expected["gone"].add(("atan2", "other"))
    assert numbers == expected


def test_only_what_is_judged_can_be_gone(verdicts: list[dict[str, list[tuple[str, str, str]]]]) -> None:
    """Of no rule is a defect said to be repaired, or made, whose formula was taken away."""
    taken_away = {"expm1", "sigmoid", "exp2"}
    assert [item for name in ("new", "gone") for item in verdicts[1][name] if item[0] in taken_away] == []


@pytest.mark.parametrize(("entry", "key"), [("_ctc_loss", "log_probs"), ("relu", "self")])
def test_what_only_one_version_survives_is_compared(
    verdicts: list[dict[str, list[tuple[str, str, str]]]], entry: str, key: str
) -> None:
    """Inputs do not depend on a formula, and the right formula is not said to contradict the wrong one."""
    assert [item for item in verdicts[1]["new"] if item[0] == entry] == [(entry, key, "wrong-vjp")]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("neg", "has the sizes [1], and [] before"),
        ("clone", 'shares its memory with the tangent of "self", and did not before'),
        ("asinh", ""),
    ],
)
def test_what_gradients_and_tangents_are_beside_their_numbers_is_compared(
    compared: tuple[Path, list[dict[str, Any]]], entry: str, message: str
) -> None:
    messages = [item["message"] for item in compared[1][1]["diagnostics"] if item["entry"] == entry]
    assert any(message in each for each in messages) if message else messages == []


def test_a_page_of_markdown_says_what_became_of_findings(
    compared: tuple[Path, list[dict[str, Any]]], verdicts: list[dict[str, list[tuple[str, str, str]]]]
) -> None:
    """The same page goes to GitHub, after what is there already."""
    folder, _ = compared
    text = (folder / "page.md").read_text()
    counts = ", ".join(f"{len(items)} {verdict}" for verdict, items in verdicts[0].items())
    assert text.startswith(f"## Derivatives as numbers\n\n{len(FIRST) + 1} entries checked: {counts}.\n")
    assert '| new | `sin` | `self` | the gradient of "self" along a direction is ' in text
    assert (folder / "summary.md").read_text() == f"before\n{text}"


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
    """HEAD on the main branch."""
    path = committed(tmp_path, f"{SIN}{WRONG}\n")
    path.write_text(f"{SIN}self.cos().conj() * -grad\n")
    done = command(str(path), *FAST)
    assert (done.returncode, json.loads(done.stdout)["summary"]["as_before"]) == (0, 1)
    assert 'as before: sin, self: the gradient of "self" along a direction is ' in done.stderr


def test_what_a_branch_commits_is_a_change(command: Command, tmp_path: Path) -> None:
    path = committed(tmp_path, f"{SIN}grad * self.cos().conj()\n")
    git(tmp_path, "checkout", "-q", "-b", "work")
    path.write_text(f"{SIN}{WRONG}\n")
    git(tmp_path, "commit", "-q", "-a", "-m", "second")
    done = command(str(path), *FAST)
    found = {item["rule"] for item in json.loads(done.stdout)["diagnostics"]}
    assert (done.returncode, "wrong-vjp" in found) == (1, True)
