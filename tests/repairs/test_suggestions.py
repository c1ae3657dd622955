"""Suggestions for a sample of wrong formulas, and the command that shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derivlint.cli.main import run
from derivlint.cli.shared.terminal import REPORT_HINT
from derivlint.formula import analysis
from derivlint.model import build_model
from derivlint.project.settings import Settings
from derivlint.repair.candidates import Candidate, Target
from derivlint.repair.equality import Equality
from derivlint.repair.judge import Accepted, Judge
from derivlint.repair.suggest import Suggestion
from derivlint.rules import load_rules
from derivlint.schema import load_index
from derivlint.source import SourceFile
from tests.conftest import packaged_folder
from tests.repairs.campaign import Campaign, WrongFormula

SWAPPED = """\
- name: huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor
  self: huber_loss_backward(grad, self, target, delta, reduction)
  target: huber_loss_backward(grad, target, self, reduction, delta)
"""
RIGHT = "huber_loss_backward(grad, self, target, reduction, delta)"
#: Formulas of PyTorch's history, by what they need: a guard, the fixes of all findings together, conjugates of several
#: factors, symbolic sizes, the form of the other argument's formula, a helper for one that does not exist,
#: and two edits at once. Then slips: a formula of the operator book, a property of an argument, a number one off.
HISTORIC = {
    "conv_tbc: self, weight, bias": (
        "conv_tbc_backward(grad, self, weight, bias, pad)",
        "grad.defined() ? conv_tbc_backward(grad, self, weight, bias, pad) : std::tuple<Tensor, Tensor, Tensor>()",
    ),
    "addmv: vec": ("mat.t().mv(grad) * alpha", "mat.t().conj().mv(grad) * alpha.conj()"),
    "mul.Tensor: self": ("grad * other", "mul_tensor_backward(grad, other, self.scalar_type())"),
    "tanh_backward: output": (
        "-2 * output * grad * grad_output",
        "-2 * output.conj() * grad.conj() * grad_output",
    ),
    "view: self": ("grad.reshape(self.sizes())", "grad.reshape_symint(self.sym_sizes())"),
    "max.dim: self": (
        "select_equals_backward(grad, self, result)",
        "value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)",
    ),
    "median: self": ("select_equals_backward(grad, self, result)", "evenly_distribute_backward(grad, self, result)"),
    "hardtanh_backward: grad_output": (
        "hardtanh_backward(grad, input, min_val, max_val, false)",
        "hardtanh_backward(grad, self, min_val, max_val)",
    ),
    "repeat: self": (
        "repeat_backward(grad, self.dim(), repeats)",
        "repeat_backward(grad, repeats, self.sym_sizes())",
    ),
    "addcdiv: tensor1": (
        "grad * value / tensor2",
        "handle_r_to_c(tensor1.scalar_type(), grad * value.conj() / tensor2.conj())",
    ),
    "_sparse_mm_reduce_impl: self, other": (
        "grad.defined() ? _sparse_mm_reduce_impl_backward(self.abs(), grad, other, reduce, result1, grad_input_mask)"
        " : std::tuple<Tensor, Tensor>()",
        "grad.defined() ? _sparse_mm_reduce_impl_backward(self, grad, other, reduce, result1, grad_input_mask)"
        " : std::tuple<Tensor, Tensor>()",
    ),
    "view_as_real: result": ("at::view_as_realself_t)", "auto_linear"),
    "cos: self": ("zeros_like(self)", "grad * -self.sin().conj()"),
    "copysign.Tensor: result": ("auto_elementwise", "copysign_tensor_self_backward(self_t, self_p, result)"),
    "addmm: self": ("maybe_multiply(grad)", "maybe_multiply(grad, beta.conj())"),
    "addmm: mat2": (
        "mm_mat2_backward(grad, mat1, mat2.sym_sizes(), mat2.layout(), alpha)",
        "mm_mat2_backward(grad, mat1, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), alpha)",
    ),
    "polygamma: self": ("grad * polygamma(n, self)", "grad * polygamma(n + 1, self)"),
    "special_i1: self": ("-i1_backward(grad, self, result)", "i1_backward(grad, self, result)"),
    "celu: self": (
        "grad * self.foo()",
        "at::elu_backward(grad, alpha, 1.0, 1.0 / alpha.toDouble(), false, self)",
    ),
    "polygamma_: result": ("self_t.foo()", "self_t * polygamma(n + 1, original_self_p)"),
    "exponential_: result": ("self_t.foo()", "self_t.zero_()"),
    "_log_softmax_backward_data: grad_output": (
        "grad.to(output.dtype()) - (grad.to(output.dtype()) * output.exp()).sum(dim, tre)",
        "grad.to(output.dtype()) - (grad.to(output.dtype()) * output.exp()).sum(dim, true)",
    ),
}
SINE = "- name: cos(Tensor self) -> Tensor\n  self: grad * self.sin().conj()\n"
BACKWARD = "- name: tanh_backward(Tensor grad_output, Tensor output) -> Tensor\n  output: "


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    source = SourceFile.read(packaged_folder() / "autograd" / "derivatives.yaml")
    settings = Settings()
    return Campaign(Judge(source, build_model(source, load_index()), settings.selected(load_rules()), settings.shows))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "derivatives.yaml"
    path.write_text(SWAPPED + SINE)
    return path


def test_most_wrong_formulas_of_a_sample_get_the_right_one_first(campaign: Campaign) -> None:
    outcomes = list(campaign.run(seed=5, count=12))
    shown = "\n".join(outcome.shown() for outcome in outcomes if not outcome.is_first)
    assert sum(outcome.is_among for outcome in outcomes) >= 9, shown
    assert sum(outcome.is_first for outcome in outcomes) >= 8, shown


def _suggestion(campaign: Campaign, subject: str, text: str) -> Suggestion:
    formulas = [item for entry in campaign.model.entries for item in entry.formulas]
    formula = next(item for item in formulas if f"{item.entry.operator}: {item.key_text}" == subject)
    outcome = campaign.outcome(WrongFormula("historic", formula, text))
    assert outcome is not None
    return outcome.suggestion


@pytest.mark.parametrize("subject", HISTORIC)
def test_historic_formulas_get_the_right_one(campaign: Campaign, subject: str) -> None:
    wrong, right = HISTORIC[subject]
    assert _suggestion(campaign, subject, wrong).candidates[0].candidate.text == right


def test_of_formulas_that_nothing_tells_apart_none_is_shown(campaign: Campaign) -> None:
    suggestion = _suggestion(campaign, "_standard_gamma: self", "grad * self.foo()")
    assert (suggestion.candidates, suggestion.unsolved) == (
        (),
        "several formulas pass the checks, and nothing tells them apart: "
        '"_standard_gamma" draws random numbers, whose derivatives are a convention',
    )


def test_values_refute_a_tangent_in_the_place_of_a_primal(campaign: Campaign) -> None:
    suggestion = _suggestion(campaign, "_foreach_norm.Scalar: result", "norm_jvp(self_t, self_t, ord, result[i])")
    assert [item.candidate.text for item in suggestion.candidates] == ["norm_jvp(self_p, self_t, ord, result[i])"]
    assert (suggestion.is_disputed, suggestion.is_certain) == (False, True)


def test_of_formulas_with_different_values_one_is_shown(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    # the right formulas are written in several ways; taken for different, all but one are left out
    monkeypatch.setattr("derivlint.repair.suggest.compare_formulas", lambda *_: Equality.DIFFERENT)
    suggestion = _suggestion(campaign, "cos: self", "grad * self.sin().conj()")
    assert [item.candidate.text for item in suggestion.candidates] == ["-grad * self.sin().conj()"]
    assert (suggestion.is_disputed, suggestion.is_certain) == (True, False)


def test_json_has_the_formula_its_edit_and_its_proof(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suggest", "huber_loss:self", str(file), "--output-format", "json"]) == 0
    (suggestion,) = json.loads(capsys.readouterr().out)["suggestions"]
    assert (suggestion["entry"], suggestion["key"], suggestion["reason"]) == ("huber_loss", "self", "wrong-gradient")
    candidate = suggestion["candidates"][0]
    assert (candidate["formula"], candidate["how"], candidate["certain"]) == (RIGHT, "edit", True)
    assert {"values", "types", "linearity", "shapes"} <= set(candidate["judged"])
    (edit,) = candidate["edits"]
    text = file.read_text()
    assert RIGHT in text[: edit["start"]] + edit["text"] + text[edit["end"] :]


def test_nothing_is_written_unless_it_is_asked_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = file.read_text()
    assert run(["suggest", "--diff", str(file)]) == 0
    assert f"+  self: {RIGHT}" in capsys.readouterr().out
    assert file.read_text() == before
    assert run(["suggest", "--write", str(file)]) == 0
    assert file.read_text() == SWAPPED.replace("delta, reduction", "reduction, delta", 1) + SINE.replace(
        "grad", "-grad"
    )
    capsys.readouterr()
    assert run(["check", "--no-cache", str(file)]) == 0


def test_the_help_of_a_wrong_value_names_the_slip(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--no-cache", str(file), "--select", "wrong-gradient", "--output-format", "json"]) == 1
    helps = [item["help"] for item in json.loads(capsys.readouterr().out)["diagnostics"] if item["entry"] == "cos"]
    assert helps == ['the sign is wrong; write "-grad * self.sin().conj()"']


def test_the_sign_of_what_is_subtracted_is_the_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "derivatives.yaml"
    path.write_text(
        "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
        "  self: mul_tensor_backward(grad, other, self.scalar_type())\n"
        "  other: mul_tensor_backward(grad, self, other.scalar_type())\n"
        "  result: other_t * self_p - self_t * other_p\n"
    )
    assert run(["check", "--no-cache", str(path), "--output-format", "json"]) == 1
    (item,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert item["help"] == '"+" is meant, not "-"; write "other_t * self_p + self_t * other_p"'


def test_a_formula_without_suggestion_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "derivatives.yaml"
    path.write_text(BACKWARD + "output.no_such_method(1, 2)\n")
    assert run(["suggest", str(path)]) == 1
    assert "no suggestion" in capsys.readouterr().out


def test_an_internal_error_loses_one_formula(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = Judge.verdict

    def failing(judge: Judge, target: Target, candidate: Candidate) -> Accepted | float:
        if target.body.entry.operator == "cos":
            raise KeyError("broken")
        return verdict(judge, target, candidate)

    monkeypatch.setattr(Judge, "verdict", failing)
    monkeypatch.setattr(analysis, "observers", [])
    assert run(["suggest", str(file), "--output-format", "json"]) == 3
    captured = capsys.readouterr()
    solved, failed = json.loads(captured.out)["suggestions"]
    assert solved["candidates"][0]["formula"] == RIGHT
    assert (failed["entry"], failed["candidates"]) == ("cos", [])
    assert failed["unsolved"] == "internal error: KeyError: 'broken'"
    assert captured.err == f"derivlint: 1 suggestion for 2 wrong formulas\nderivlint: {REPORT_HINT}\n"


def test_a_failing_explanation_leaves_the_finding(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise KeyError("broken")

    monkeypatch.setattr("derivlint.repair.causes.is_proved", failing)
    monkeypatch.setattr(analysis, "observers", [])
    assert run(["check", "--no-cache", str(file), "--select", "wrong-gradient"]) == 1
    assert "found 2 errors in 1 file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        (f"grad.foo({', '.join(f'a{n}' for n in range(3000))})", "formulas of more than 400 tokens are not edited"),
        (f"grad.foo({', '.join(f'a{n}' for n in range(90))})", "none of the 223 likeliest edits makes it right"),
    ],
)
def test_the_work_for_one_formula_is_bounded(
    tmp_path: Path, formula: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "derivatives.yaml"
    path.write_text(f"{BACKWARD}{formula}\n")
    assert run(["suggest", str(path), "--output-format", "json"]) == 1
    (suggestion,) = json.loads(capsys.readouterr().out)["suggestions"]
    assert suggestion["unsolved"] == reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["coss"], 'no entry for "coss"; did you mean "cos"?'),
        (["cos:slef"], '"cos" has no formula for "slef"; did you mean "self"?'),
        (["--compiler", "g++"], "--compiler needs --verify"),
        (["--diff", "--write"], "--diff and --write exclude each other"),
    ],
)
def test_wrong_arguments_are_refused(
    file: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["suggest", *arguments, str(file)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "entry",
    [
        "range.out_(Scalar start, Scalar end, *, Tensor(a!) out) -> Tensor(a!)\n  t: t",
        "sin(Tensor self) -> Tensor\n  result: self_t * self_p",
        "rand(SymInt[] size) -> Tensor\n  result: size_t",
        "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)\n  values: self_t",
    ],
)
def test_entries_without_a_gradient_get_an_answer(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "derivatives.yaml"
    path.write_text(f"- name: {entry}\n")
    assert run(["suggest", str(path)]) in (0, 1)
