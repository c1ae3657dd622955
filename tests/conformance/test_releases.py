"""The file that PyTorch ships: its one defect, and exactly the warnings that have been examined."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from derivlint.lint import Severity, run_rules
from derivlint.model import build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

DEFECT = (
    'addcdiv: "_foreach_addcdiv.Scalar" shares this formula, in which "tensor2" becomes "tensor2[i][i]" '
    "[foreach-value-indexed-twice]"
)


def test_the_defect_of_the_release_is_real() -> None:
    """The backward of the foreach variant asks for the element of a tensor, and there may be none."""
    self, tensor1, tensor2 = (torch.tensor(value, requires_grad=True) for value in (1.0, 2.0, 3.0))
    (result,) = torch._foreach_addcdiv([self], [tensor1], [tensor2])
    with pytest.raises(IndexError, match="0-dim tensor"):
        torch.autograd.grad(result, [tensor2])


@pytest.mark.parametrize("operators", ["installed_natives", "bundled_natives"])
def test_the_installed_file_has_no_errors_but_its_defect(
    operators: str, derivatives_path: Path, request: pytest.FixtureRequest
) -> None:
    """Against the operators of the same release, read from its files or from the bundled index."""
    natives: NativeFunctions = request.getfixturevalue(operators)
    result = run_rules(build_model(SourceFile.read(derivatives_path), natives), load_rules())
    assert result.internal_errors == 0
    errors = [
        f"{item.entry}: {item.message} [{item.rule}]" for item in result.diagnostics if item.severity is Severity.ERROR
    ]
    assert errors == [DEFECT]


#: Everything there is to say of the file of PyTorch 2.13, each examined: the foreach variant of addcdiv really indexes
#: twice (its backward raises IndexError on tensors without dimensions), one_hot decomposes, a float is never
#: differentiable, the tensors are really saved (they are members of the generated nodes), and two entries are
#: placeholders. The findings of lower confidence: the gradient of ldexp with negative integers is 0, since
#: pow(2, -1) is; logaddexp2 takes floating point only; channels are divisible
#: by groups.
EXAMINED = [
    ("error", "foreach-value-indexed-twice", "addcdiv"),
    ("info", "accidental-save", "complex"),
    ("info", "accidental-save", "complex"),
    ("warning", "integer-base", "ldexp.Tensor"),
    ("warning", "integer-base", "ldexp.Tensor"),
    *[("warning", "integer-base", "logaddexp2")] * 4,
    ("info", "accidental-save", "batch_norm_backward"),
    ("warning", "ignored-composite-entry", "one_hot"),
    ("info", "accidental-save", "sparse_compressed_tensor.comp_plain_value_size"),
    ("warning", "integer-division", "channel_shuffle"),
    ("info", "accidental-save", "cudnn_batch_norm_backward"),
    ("info", "entry-without-formulas", "lstm_mps_backward"),
    ("info", "entry-without-formulas", "mkldnn_rnn_layer_backward"),
    ("warning", "useless-non-differentiable", "to_padded_tensor"),
]


def test_what_is_said_of_the_installed_file_has_been_examined(
    derivatives_path: Path, installed_natives: NativeFunctions
) -> None:
    result = run_rules(build_model(SourceFile.read(derivatives_path), installed_natives), load_rules())
    assert [(item.severity.value, item.rule, item.entry) for item in result.diagnostics] == EXAMINED
