"""Suggestions that are run in the installed PyTorch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derivlint.cli.main import run
from derivlint.model import build_model
from derivlint.repair.candidates import Candidate, Target
from derivlint.repair.judge import Accepted, Judge, edits_for
from derivlint.repair.suggest import Suggestion
from derivlint.schema import load_index
from derivlint.source import SourceFile
from derivlint.verify.runner import QUICK, RunOptions
from derivlint.verify.suggestions import run_suggestions

COS = "- name: cos(Tensor self) -> Tensor\n  self: grad * self.sin()\n"
RIGHT, WRONG = "grad * -self.sin().conj()", "grad * -self.sin() * 2"
#: Where only another argument has a tangent, that of the bias is a tensor of zeros without memory.
MKLDNN = """\
- name: mkldnn_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, \
SymInt[] dilation, SymInt groups) -> Tensor
  self, weight, bias: "grad.defined() ? convolution_backward_symint(grad, self, weight, bias->sym_sizes(), stride, \
padding, dilation, false, std::vector<c10::SymInt>(padding.size(), 0), groups, grad_input_mask) \
: std::tuple<Tensor, Tensor, Tensor>()"
"""
OPTIONS = RunOptions(QUICK, dtypes=("float64",), jobs=1, compiles=False)


def _run(texts: tuple[str, ...]) -> Suggestion:
    source = SourceFile("derivatives.yaml", COS)
    judge = Judge(source, build_model(source, load_index()), (), lambda finding: True)
    (formula,) = judge.model.entries[0].formulas
    target = Target(formula.body, formula.key_text, formula)
    candidates = [Candidate(text, "edit", 0) for text in texts]
    accepted = tuple(Accepted(item, edits_for(target, item, source.text), None) for item in candidates)
    (suggestion,) = run_suggestions(judge.model, [Suggestion(target, accepted)], OPTIONS)
    return suggestion


def test_a_candidate_that_finite_differences_refute_is_dropped() -> None:
    suggestion = _run((WRONG, RIGHT))
    (accepted,) = suggestion.candidates
    assert accepted.candidate.text == RIGHT
    assert accepted.run is not None
    assert (accepted.run.n_inputs > 5, accepted.run.reason) == (True, "")
    ((formula, message),) = suggestion.refuted
    assert (formula, suggestion.unsolved) == (WRONG, "")
    assert message.startswith('the gradient of "self" along a direction is ')


def test_without_another_candidate_there_is_no_suggestion() -> None:
    suggestion = _run((WRONG,))
    assert (suggestion.candidates, suggestion.unsolved) == ((), "PyTorch refutes every candidate")


@pytest.mark.usefixtures("precompiled_headers")
def test_the_command_has_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "derivatives.yaml"
    file.write_text(COS)
    assert run(["suggest", "--verify", str(file), "--output-format", "json"]) == 0
    (suggestion,) = json.loads(capsys.readouterr().out)["suggestions"]
    (candidate,) = suggestion["candidates"]
    assert (candidate["run"]["reason"], suggestion["refuted"]) == (None, [])
    assert candidate["run"]["inputs"] > 5


@pytest.mark.usefixtures("precompiled_headers")
def test_tangents_of_absent_arguments_are_guarded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "derivatives.yaml"
    file.write_text(MKLDNN)
    assert run(["suggest", "--missing", "forward", "--verify", str(file), "--output-format", "json"]) == 0
    (suggestion,) = json.loads(capsys.readouterr().out)["suggestions"]
    (candidate,) = suggestion["candidates"]
    assert "bias_t.defined() ? " in candidate["formula"]
    assert (candidate["run"]["reason"], suggestion["refuted"]) == (None, [])
    assert candidate["run"]["inputs"] > 5
