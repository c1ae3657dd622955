"""Formulas that are wrong, each in its own way, checked from the file to the findings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.verify.conftest import NEEDS_COMPILER, Command
from tests.verify.wrong import ENTRIES, MORE_ENTRIES

pytestmark = NEEDS_COMPILER

_NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")

EFFORT = ("--quick", "--dtype", "float64,complex128", "--jobs", "1")

#: Where each is found: entry, key, rule.
EXPECTED = {
    ("sin", "self", "wrong-vjp"),
    ("cos", "result", "wrong-jvp"),
    ("cosh", "result", "inconsistent-vjp-jvp"),
    ("sinh", "self", "wrong-second-derivative"),
    ("tanh", "self", "wrong-gradient-shape"),
    # without dimensions nothing is summed up, and the factor is missing
    ("tanh", "self", "wrong-vjp"),
    ("asinh", "self", "crash"),
    ("acosh", "self", "compiler-error"),
    # the gradients of lists are "grads[i]", also in "torch::autograd"
    ("neg", "self", "compiler-error"),
    ("erf", "self", "crash"),
    ("reciprocal", "self", "wrong-vjp"),
    ("atan2", "self, other", "mask-ignored"),
    # with integers in the other argument only one gradient is needed
    ("atan2", "self, other", "wrong-vjp"),
    ("aminmax", "self", "wrong-undefined-gradient"),
    ("relu", "self", "different-convention"),
    ("stack", "tensors", "wrong-undefined-gradient"),
}
#: What is said, with the numbers left out.
MESSAGES = {
    "sin": [
        'the gradient of "self" along a direction is #, by finite differences #',
    ],
    "cos": [
        'the tangent with respect to "self" is # along a direction, by finite differences #',
    ],
    "cosh": [
        "the forward formula gives # where the backward formulas give #",
    ],
    "sinh": [
        "the derivative of this along a direction is #, by finite differences of it #",
    ],
    "tanh": [
        'the gradient of "self" has the shape [1], where the input has [1, 1]',
        'the gradient of "self" along a direction is #, by finite differences #',
    ],
    "asinh": [
        "evaluating this raises an error: Dimension out of range (expected to be in range of [-1, 0], but got 7)",
    ],
    "erf": [
        "checking this ended the process: SIGSEGV",
    ],
    "atan2": [
        'the gradient of "other" has the norm 0 when no other is needed, else #',
        'the gradient of "other" along a direction is 0, by finite differences #',
    ],
    "aminmax": [
        'the gradient of "self" has the norm 0 with an undefined gradient, # with zeros',
    ],
    "relu": [
        'the gradient of "self" along a direction is #, in the installed PyTorch #, where finite differences '
        "cannot tell",
    ],
    "stack": [
        'the gradient of "tensors" is wrong: it raises an error when all incoming gradients are undefined: Expected '
        "a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'self'",
    ],
}


@pytest.fixture(scope="module")
def run(command: Command, folder: Path, precompiled_headers: None) -> tuple[dict[str, Any], str]:
    """The JSON document for the file, and standard error; the run has written scripts, too."""
    (folder / "all.yaml").write_text(ENTRIES + MORE_ENTRIES)
    more = ("--output-format", "json", "--scripts", "scripts", "--coverage", "--no-base")
    done = command("all.yaml", "--all", *EFFORT, *more)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module")
def findings(run: tuple[dict[str, Any], str]) -> list[dict[str, Any]]:
    """The diagnostics of the file."""
    found: list[dict[str, Any]] = run[0]["diagnostics"]
    return found


def test_each_wrong_formula_is_found_by_its_rule_and_no_right_one(findings: list[dict[str, Any]]) -> None:
    """One formula for each rule; a lost conjugation shows with complex numbers only."""
    assert {(item["entry"], item["key"], item["rule"]) for item in findings} == EXPECTED


@pytest.mark.parametrize("entry", MESSAGES)
def test_messages_tell_what_was_found_and_what_was_expected(findings: list[dict[str, Any]], entry: str) -> None:
    """The fact, with both numbers where there are numbers."""
    found = [_NUMBER.sub("#", item["message"]) for item in findings if item["entry"] == entry]
    assert sorted(found) == sorted(MESSAGES[entry])


def test_findings_underline_the_formula(findings: list[dict[str, Any]]) -> None:
    """Also what the compiler rejects is at the formula in the YAML, with its own words."""
    written = ENTRIES + MORE_ENTRIES
    for item in findings:
        assert written[: item["start"]["offset"]].endswith(f"  {item['key']}: ")
    refused = {item["entry"]: item for item in findings if item["rule"] == "compiler-error"}
    texts = {name: written[item["start"]["offset"] : item["end"]["offset"]] for name, item in refused.items()}
    assert texts.pop("acosh") == "grad * self.no_such_method()"
    assert texts.pop("neg").startswith('"torch::autograd::can_mutate_inplace_result::success')
    assert texts == {}
    refusal = "the compiler rejects the code generated from this"
    assert re.fullmatch(f"{refusal}: .*no_such_method.*", refused["acosh"]["message"])
    assert re.fullmatch(f'{refusal} for "_foreach_neg": .*autograds.*', refused["neg"]["message"])


def test_numbers_are_those_of_the_formula_and_of_differences(findings: list[dict[str, Any]]) -> None:
    """A wrong sign gives the opposite number; the smallest failing input is reported."""
    (sine,) = [item for item in findings if item["entry"] == "sin"]
    found, expected = map(float, _NUMBER.findall(sine["message"]))
    assert found == pytest.approx(-expected, rel=1e-4)
    assert re.search(r"the smallest \(.*\): self=float64\(-?\d+\.\d+\)$", sine["help"])


def test_a_crash_names_the_input_that_ended_the_process(findings: list[dict[str, Any]]) -> None:
    (crash,) = [item for item in findings if item["entry"] == "erf"]
    assert re.fullmatch(r"with the input \(.+\): self=float64(\(.+\)|\[.*\])", crash["help"])


def test_what_no_input_reached_is_reported(run: tuple[dict[str, Any], str]) -> None:
    """Arms of conditions and sides of masks; what is compared with nothing is not reached."""
    document, said = run
    coverage = {(item["entry"], item["key"]): (item["items"], item["missing"]) for item in document["coverage"]}
    assert coverage["threshold", "self"] == (5, ['"grad.defined()" is false'])
    assert coverage["exp", "self"] == coverage["exp", "result"] == (1, [])
    items, missing = (sum(numbers) for numbers in zip(*((a, len(b)) for a, b in coverage.values()), strict=True))
    whole = sum(not missing for _, missing in coverage.values())
    share = f"{items - missing} of {items} ({(items - missing) / items:.1%})"
    assert f"coverage: {share}, {whole} of {len(coverage)} formulas as a whole\n" in said


def test_what_a_later_release_has_is_not_checked(run: tuple[dict[str, Any], str]) -> None:
    """The entry and the formula are named, without an error."""
    assert [(item["entry"], item["key"]) for item in run[0]["unchecked"] if item["why"] == "not-in-torch"] == [
        ("linalg_polar", None),
        ("expm1", "self"),
        ("_foreach_expm1", "self"),
    ]


@pytest.mark.full
def test_a_run_is_the_same(command: Command) -> None:
    """Random numbers depend on the seed only, not on how many processes there are."""
    runs = [
        command("derivatives.yaml", "--ops", "sin,cos,sinh", "--jobs", jobs, "--output-format", "concise")
        for jobs in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout != ""
    other = command("derivatives.yaml", "--ops", "sin,cos,sinh", "--seed", "1", "--output-format", "concise")
    assert other.stdout != runs[0].stdout


def test_without_a_compiler_formulas_are_translated(command: Command) -> None:
    """The same findings, but for what only the compiler says, and for a formula that has no Python."""
    done = command("derivatives.yaml", "--all", "--no-compile", *EFFORT, "--output-format", "json")
    found = {(item["entry"], item["key"], item["rule"]) for item in json.loads(done.stdout)["diagnostics"]}
    of_compiler = {("acosh", "self", "compiler-error"), ("neg", "self", "compiler-error"), ("erf", "self", "crash")}
    assert found == EXPECTED - of_compiler


def test_no_compiler_is_reported_with_a_way_out(command: Command) -> None:
    """Without a compiler there is no traceback, and --no-compile is named."""
    done = command("derivatives.yaml", "--ops", "sin", "--compiler", "no-such-compiler")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == 'derivlint: cannot run the compiler "no-such-compiler"; use --no-compile to check without a compiler\n'
    )
