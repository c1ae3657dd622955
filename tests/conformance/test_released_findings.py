"""The reviewed list of what is found in PyTorch's releases: compared with the installed one, and shown to be right."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from derivlint.operators.book import DEFAULT_RELEASE
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.conformance import released_findings
from tests.conformance.released_findings import Found, differences, found_in, main, reviewed_findings

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
aten: Any = torch.ops.aten


@pytest.fixture(scope="module")
def findings(derivatives_path: Path, bundled_natives: NativeFunctions) -> set[Found]:
    """What is found in the installed release."""
    return found_in(SourceFile.read(derivatives_path), bundled_natives)


def test_the_installed_release_has_the_findings_of_the_list(findings: set[Found]) -> None:
    assert list(differences(DEFAULT_RELEASE, findings)) == []


def test_every_line_of_the_list_has_a_verdict_and_says_how_it_is_known() -> None:
    lines = list(reviewed_findings())
    assert len({line.finding for line in lines}) == len(lines) > 140
    assert all(line.verdict.startswith(("true: ", "taste: ")) and line.shown for line in lines)


def test_the_command_compares_folders_of_releases(
    tmp_path: Path,
    derivatives_path: Path,
    native_functions_path: Path,
    findings: set[Found],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(released_findings, "found_in", lambda source, natives: findings)
    packaged = tmp_path / "2.13.0" / "torchgen" / "packaged"
    for path, name in ((native_functions_path, "ATen/native"), (derivatives_path, "autograd")):
        (packaged / name).mkdir(parents=True)
        (packaged / name / path.name).write_bytes(path.read_bytes())
    assert (main([tmp_path]), capsys.readouterr().out) == (0, "2.13: 0 differences\n")
    findings.remove(missing := min(findings))
    assert main([tmp_path]) == 1
    assert capsys.readouterr().out == f"2.13: 1 differences\n  - [{missing.rule}] {missing.entry} | {missing.key}\n"
    assert main([packaged]) == 1


# ---- what the list says of second derivatives


def _tensor(*sizes: int) -> torch.Tensor:
    return torch.rand(sizes, dtype=torch.double) + 0.1


def _nested(*rows: torch.Tensor) -> torch.Tensor:
    return torch.nested.as_nested_tensor(list(rows))


def _sparse() -> torch.Tensor:
    return torch.eye(3, dtype=torch.double).to_sparse()


def _query() -> torch.Tensor:
    return torch.rand(1, 1, 8, 16)


TARGETS = torch.tensor([[1, 2], [2, 3]])
LENGTHS = ([5, 5], [2, 2])
TENSORS = (torch.tensor([5, 5]), torch.tensor([2, 2]))
MASK = torch.zeros(2, 3, dtype=torch.bool)
RANGE = (0, 255, 1.0)
#: An operator with what it is called with.
Calls = dict[str, tuple[Callable[..., torch.Tensor], list[torch.Tensor]]]
TWICE: Calls = {
    "_cdist_forward": (lambda a, b: aten._cdist_forward(a, b, 3.0, None), [_tensor(3, 2), _tensor(4, 2)]),
    "_pdist_forward": (lambda a: aten._pdist_forward(a, 3.0), [_tensor(4, 2)]),
    "_ctc_loss": (lambda a: aten._ctc_loss(a, TARGETS, *LENGTHS)[0], [_tensor(5, 2, 4)]),
    "_ctc_loss.Tensor": (lambda a: aten._ctc_loss.Tensor(a, TARGETS, *TENSORS)[0], [_tensor(5, 2, 4)]),
    "_masked_softmax": (lambda a: torch._masked_softmax(a, MASK, 1, 2), [_tensor(2, 3)]),
    "_standard_gamma": (torch._standard_gamma, [_tensor(3)]),
    "hardsigmoid": (functional.hardsigmoid, [_tensor(3)]),
    "multi_margin_loss": (lambda a: functional.multi_margin_loss(a, torch.tensor([0, 1])), [_tensor(2, 3)]),
    "multilabel_margin_loss_forward": (
        lambda a: functional.multilabel_margin_loss(a, torch.tensor([[0, 1, -1], [1, -1, -1]])),
        [_tensor(2, 3)],
    ),
    "segment_reduce": (lambda a: torch.segment_reduce(a, "mean", lengths=torch.tensor([2, 2])), [_tensor(4)]),
    "_scaled_dot_product_flash_attention_for_cpu": (
        lambda a, b, c: aten._scaled_dot_product_flash_attention_for_cpu(a, b, c)[0],
        [_query(), _query(), _query()],
    ),
    "_fake_quantize_learnable_per_channel_affine": (
        lambda a, b, c: aten._fake_quantize_learnable_per_channel_affine(a, b, c, 0, *RANGE),
        [torch.rand(2, 3), torch.rand(2) + 0.1, torch.ones(2)],
    ),
    "_fake_quantize_learnable_per_tensor_affine": (
        lambda a, b, c: aten._fake_quantize_learnable_per_tensor_affine(a, b, c, *RANGE),
        [torch.rand(2, 3), torch.rand(1) + 0.1, torch.ones(1)],
    ),
    "_sparse_softmax": (lambda a: torch.sparse.softmax(a, 1).to_dense(), [_sparse()]),
    "_sparse_log_softmax": (lambda a: torch.sparse.log_softmax(a, 1).to_dense(), [_sparse()]),
    "_sparse_sum.dim": (lambda a: torch.sparse.sum(a, 0).to_dense(), [_sparse()]),
    "_sparse_mm_reduce_impl": (
        lambda a, b: torch.sparse.mm(a.to_sparse_csr(), b, "sum"),
        [torch.eye(3), torch.rand(3, 2)],
    ),
    "sum.dim_IntList": (lambda a, b: _nested(a, b).sum(-1, keepdim=True), [torch.rand(2, 3), torch.rand(3, 3)]),
    "select.int": (lambda a, b: _nested(a, b)[0], [torch.rand(2, 3), torch.rand(3, 3)]),
    "matmul": (
        lambda a, b, c: torch.matmul(_nested(a, b), _nested(c, c)),
        [torch.rand(2, 3), torch.rand(3, 3), torch.rand(3, 2)],
    ),
    "mkldnn_adaptive_avg_pool2d": (
        lambda a: aten.mkldnn_adaptive_avg_pool2d(a.to_mkldnn(), [2, 2]).to_dense(),
        [torch.rand(1, 1, 8, 8)],
    ),
    "mkldnn_linear": (
        lambda a, b, c: torch._C._nn.mkldnn_linear(a.to_mkldnn(), b, c).to_dense(),
        [torch.rand(2, 4), torch.rand(3, 4), torch.rand(3)],
    ),
}


def _sum(value: torch.Tensor) -> torch.Tensor:
    if value.is_nested:
        value = torch.nested.to_padded_tensor(value, 0.0)
    return (value if value.layout is torch.strided else value.to_dense()).pow(2).sum()


@pytest.mark.parametrize("operator", TWICE)
def test_second_derivatives_raise(operator: str) -> None:
    function, arguments = TWICE[operator]
    arguments = [argument.detach().requires_grad_() for argument in arguments]
    gradients = torch.autograd.grad(_sum(function(*arguments)), arguments, create_graph=True)
    total = sum(map(_sum, gradients), torch.zeros(()))
    with pytest.raises(RuntimeError, match=r"derivative for '?\S+ is not implemented"):
        torch.autograd.grad(total, arguments, allow_unused=True)


def test_the_list_says_which_second_derivatives_are_run() -> None:
    run = {line.finding.entry for line in reviewed_findings() if "test_second_derivatives_raise" in line.shown}
    assert run == set(TWICE)


# ---- other lines


def test_aliased_tangent_of_triangular_solve() -> None:
    """An in-place operation on the copied matrix changes the tangent of a matrix that is stored by columns."""
    forward_ad: Any = torch.autograd.forward_ad
    with forward_ad.dual_level():
        matrix = forward_ad.make_dual((torch.eye(3) + 1).mT, torch.ones(3, 3).mT)
        _, copied = torch.triangular_solve(torch.ones(3, 1), matrix)
        copied.mul_(3)
        tangent = forward_ad.unpack_dual(matrix).tangent
        assert tangent is not None
        assert tangent.tolist() == [[3.0] * 3] * 3


@pytest.mark.parametrize("training", [False, True])
def test_flags_that_make_no_difference(training: bool) -> None:
    grad, x, noise = torch.rand(5), torch.randn(5), torch.rand(5)
    of_input, of_result = (aten.leaky_relu_backward(grad, x, 0.1, flag) for flag in (False, True))
    assert torch.equal(of_input, of_result)
    of_input, of_result = (
        aten.rrelu_with_noise_backward(grad, x, noise, 0.1, 0.3, training, flag) for flag in (False, True)
    )
    assert torch.equal(of_input, of_result)


def test_the_gradients_of_fmax_in_2_14_add_up_to_two() -> None:
    """The formulas of that release: neither comparison with NaN holds, so that nothing is masked."""
    x, nan, grad = torch.ones(1), torch.full((1,), torch.nan), torch.ones(1)
    shared = torch.where(x == nan, grad / 2, grad)
    assert (shared.masked_fill(x < nan, 0) + shared.masked_fill(x > nan, 0)).item() == 2
