"""Coverage says yes only where every call was followed or a fact is known; else it says unknown, with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derivlint.analysis.differentiability.coverage import Aspect, coverage_of
from derivlint.analysis.differentiability.operators import Answer, Way, decomposes, derivatives_of
from derivlint.model import Model, build_model
from derivlint.operators.book import Book
from derivlint.schema import NativeFunctions, load_index
from derivlint.source import SourceFile
from tests.cli.conftest import Run

ASPECTS = (Aspect.BACKWARD, Aspect.FORWARD, Aspect.DOUBLE_BACKWARD, Aspect.FORWARD_OVER_REVERSE)


@pytest.fixture(scope="module")
def model(derivatives_path: Path) -> Model:
    return build_model(SourceFile.read(derivatives_path), load_index())


@pytest.mark.parametrize(
    "name", ["ctc_loss.IntList", "ctc_loss.Tensor", "embedding_bag", "cdist", "pdist", "lstm.input"]
)
def test_a_composite_that_is_not_followed_is_unknown(name: str, model: Model) -> None:
    function = model.natives.operator(name)
    assert function is not None
    (row,) = coverage_of(model).of(function)
    assert row.way is Way.DECOMPOSES
    for aspect in ASPECTS:
        verdict = row.verdicts[aspect]
        assert verdict.answer is Answer.UNKNOWN, aspect
        assert "composite, and what it calls is not followed" in verdict.reasons[0].text


def test_a_formula_that_calls_such_a_composite_is_unknown(bundled_natives: NativeFunctions) -> None:
    text = "- name: sin(Tensor self) -> Tensor\n  self: at::cdist(grad, self)\n"
    model = build_model(SourceFile("d.yaml", text), bundled_natives)
    (row,) = coverage_of(model).rows()
    verdict = row.verdicts[Aspect.DOUBLE_BACKWARD]
    assert verdict.answer is Answer.UNKNOWN
    assert [reason.operator for reason in verdict.reasons] == ["cdist"]


def test_every_composite_of_which_a_yes_is_said_is_a_known_one(model: Model) -> None:
    said = set()
    for function in model.natives.written:
        found = derivatives_of(model).of(function)
        if found.way is Way.DECOMPOSES and Answer.YES in (found.backward.answer, found.forward.answer):
            said.add(str(function.name).replace("_.", ".").removesuffix("_"))
    assert said <= Book.by_hand("decomposes-differentiably")


def test_the_known_composites_are_composites(bundled_natives: NativeFunctions) -> None:
    for name in Book.by_hand("decomposes-differentiably"):
        function = bundled_natives.operator(name)
        assert function is not None, name
        assert decomposes(function), name


@pytest.mark.filterwarnings("ignore")
def test_no_composite_is_said_to_be_what_pytorchs_own_samples_deny(model: Model) -> None:
    """The flags of OpInfo: which samples of an operator PyTorch's tests differentiate, and in which ways."""
    common = pytest.importorskip("torch.testing._internal.common_methods_invocations")
    wrong = []
    for op in common.op_db:
        flags = (
            op.supports_autograd,
            op.supports_forward_ad,
            op.supports_autograd and op.supports_gradgrad,
            op.supports_autograd and op.supports_fwgrad_bwgrad,
        )
        for function in model.natives.named(op.aten_name or op.name):
            if function.schema.is_out or derivatives_of(model).of(function).way is not Way.DECOMPOSES:
                continue
            for row in coverage_of(model).of(function):
                wrong += [
                    (row.name, aspect.value)
                    for aspect, flag in zip(ASPECTS, flags, strict=True)
                    if row.verdicts[aspect].answer is Answer.YES and not flag
                ]
    assert not wrong


def test_the_command_says_unknown_in_every_format(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text("- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos()\n")
    result = run("coverage", "derivatives.yaml", "--ops", "ctc_loss", "--output-format", "json")
    rows = json.loads(result.out)["files"][0]["operators"]
    for row in rows:
        assert {row[aspect.value]["answer"] for aspect in ASPECTS} == {"unknown"}
    for output_format in ("table", "markdown"):
        found = run("coverage", "derivatives.yaml", "--ops", "ctc_loss", "--output-format", output_format)
        assert "unknown" in found.out
        assert " yes" not in found.out
