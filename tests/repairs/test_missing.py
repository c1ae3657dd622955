"""Missing forward formulas of PyTorch's own file: what is written for them, and why nothing else is."""

from __future__ import annotations

import pytest

from derivlint.analysis.differentiability.coverage import Aspect
from derivlint.model import build_model
from derivlint.project.settings import Settings
from derivlint.repair.judge import Judge
from derivlint.repair.missing import write_missing
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.conftest import packaged_folder

WRITTEN = {
    "_sparse_sparse_matmul": (
        "at::_sparse_sparse_matmul(self_t, other_p) + at::_sparse_sparse_matmul(self_p, other_t)"
    ),
    "_masked_softmax": (
        "result * (self_t.masked_fill(mask_type.value_or(2) == 1 && mask.dim() < self_p.dim() ? "
        "mask.unsqueeze(1).unsqueeze(1) : mask, 0) - logsumexp_jvp(self_p.masked_fill(mask_type.value_or(2) == 1 && "
        "mask.dim() < self_p.dim() ? mask.unsqueeze(1).unsqueeze(1) : mask, -INFINITY), "
        "self_t.masked_fill(mask_type.value_or(2) == 1 && mask.dim() < self_p.dim() ? "
        "mask.unsqueeze(1).unsqueeze(1) : mask, 0), {dim.value_or(-1)}, true))"
    ),
    "multi_margin_loss": (
        "result.dim() == 0 ? (multi_margin_loss_backward(at::ones_like(result), self_p, target, p, margin, weight, "
        "reduction) * self_t).sum() : (multi_margin_loss_backward(at::ones_like(result), self_p, target, p, margin, "
        "weight, reduction) * self_t).sum(-1).view_as(result)"
    ),
    "cholesky": "cholesky_jvp(self_t, result, upper)",
    "_to_dense": "auto_linear",
    "to_padded_tensor": "self_t.to_padded_tensor_symint(0, output_size)",
    "fake_quantize_per_tensor_affine_cachemask": "auto_element_wise",
    "_sparse_addmm": (
        "at::_sparse_addmm(self_t, mat1_t, mat2_p, beta, alpha) + at::_sparse_addmm(self_p, mat1_p, mat2_t, 0, alpha)"
    ),
    "_cdist_forward": (
        "linalg_vector_norm_jvp(x1_p.unsqueeze(-2) - x2_p.unsqueeze(-3), x1_t.unsqueeze(-2) - x2_t.unsqueeze(-3), p, "
        "result, {-1}, false)"
    ),
    "_foreach_pow.ScalarAndTensor": "pow_backward_exponent(exponent_t.conj(), self, exponent_p, result[i]).conj()",
    "rrelu_with_noise_": "rrelu_with_noise_backward(self_t, result, noise, lower, upper, training, true)",
    "slow_conv3d_forward": (
        "at::slow_conv3d_forward_symint(self_t, weight_p, kernel_size, bias_t.defined() ? std::optional<Tensor>(bias_t)"
        " : ::std::nullopt, stride, padding) + at::slow_conv3d_forward_symint(self_p, weight_t, kernel_size, "
        "::std::nullopt, stride, padding)"
    ),
}
REFUSED = {
    "grid_sampler_2d": "it has no reference definition",
    "matmul": "PyTorch makes no duals of the nested or compressed sparse tensors that it takes or gives",
    "linear": "PyTorch makes no duals of the nested or compressed sparse tensors that it takes or gives",
    "igamma": 'its gradient for "self" is not implemented',
    "_thnn_fused_gru_cell": "a derived formula is longer than anybody reads",
    "_ctc_loss": "it has the gradient of probabilities that add up to one, which its value does not say",
}


@pytest.fixture(scope="module")
def judge(bundled_natives: NativeFunctions) -> Judge:
    source = SourceFile.read(packaged_folder() / "autograd" / "derivatives.yaml")
    settings = Settings()
    rules = settings.selected(load_rules())
    return Judge(source, build_model(source, bundled_natives), rules, settings.shows)


@pytest.mark.parametrize("operator", WRITTEN)
def test_what_is_written(judge: Judge, operator: str) -> None:
    (suggestion,) = write_missing(judge, Aspect.FORWARD, {operator})
    (accepted,) = suggestion.candidates
    assert (accepted.candidate.text, suggestion.unsolved) == (WRITTEN[operator], "")


@pytest.mark.parametrize("operator", REFUSED)
def test_what_is_not_written_has_a_reason(judge: Judge, operator: str) -> None:
    (suggestion,) = write_missing(judge, Aspect.FORWARD, {operator})
    assert (suggestion.candidates, suggestion.unsolved) == ((), REFUSED[operator])


@pytest.mark.parametrize("operator", ["linear_backward", "mps_convolution_backward"])
def test_all_outputs_of_an_entry_are_written(judge: Judge, operator: str) -> None:
    suggestions = list(write_missing(judge, Aspect.FORWARD, {operator}))
    assert [item.target.key for item in suggestions] == ["result0", "result1", "result2"]
    assert all(item.candidates for item in suggestions)
