"""The file that PyTorch ships: its defects, and exactly the warnings that have been examined."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch

from derivlint.lint import Confidence, Severity, run_rules
from derivlint.model import build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

pytestmark = pytest.mark.long

#: Each is shown to be real, the first here and the others in test_defects.py.
DEFECTS = {
    ("addcdiv", "foreach-value-indexed-twice"),
    # complex numbers of the argument give a wrong gradient: test_defects.py
    ("_sparse_addmm", "missing-conjugate"),
    ("index_add", "missing-conjugate"),
    ("native_dropout", "wrong-gradient"),
    ("masked_scatter_backward", "wrong-tangent-shape"),
    ("normal.Tensor_Tensor", "wrong-tangent-shape"),
    ("_conv_depthwise2d", "illegal-operand-shapes"),
    ("conv_depthwise3d", "illegal-operand-shapes"),
    ("squeeze.dim", "wrong-gradient-shape"),
    # frequencies are not counted: docs/pytorch-defects.md
    ("embedding_dense_backward", "wrong-gradient"),
    # windows of the tangent in place of those of the input: docs/pytorch-defects.md
    ("max_pool2d_backward", "wrong-tangent"),
    ("_foreach_minimum.Scalar", "affine-tangent"),
    ("_foreach_minimum.ScalarList", "affine-tangent"),
    ("_foreach_maximum.Scalar", "affine-tangent"),
    ("_foreach_maximum.ScalarList", "affine-tangent"),
}


def test_the_defect_of_addcdiv_is_real() -> None:
    """The backward of the foreach variant asks for the element of a tensor, and there may be none."""
    self, tensor1, tensor2 = (torch.tensor(value, requires_grad=True) for value in (1.0, 2.0, 3.0))
    (result,) = torch._foreach_addcdiv([self], [tensor1], [tensor2])
    with pytest.raises(IndexError, match="0-dim tensor"):
        torch.autograd.grad(result, [tensor2])


def test_the_installed_file_has_no_errors_but_its_defects(
    derivatives_path: Path, installed_natives: NativeFunctions
) -> None:
    """Against the operators of its files; test_released_findings.py has those of the bundled index."""
    result = run_rules(build_model(SourceFile.read(derivatives_path), installed_natives), load_rules())
    assert result.internal_errors == 0
    errors = [(item.entry, item.rule) for item in result.diagnostics if item.severity is Severity.ERROR]
    assert len(errors) == len(DEFECTS)
    assert set(errors) == DEFECTS


def test_a_file_of_before_2_1_shares_nothing_with_foreach_operators(
    bundled_natives: NativeFunctions, derivatives_path: Path
) -> None:
    """It has no entry for one; a part of a file does not tell."""
    text = derivatives_path.read_text(encoding="utf-8")
    entries = text.split("\n- name: ")
    old = "\n- name: ".join(entry for entry in entries if not entry.startswith("_foreach"))
    whole, part = (
        build_model(SourceFile("derivatives.yaml", each), bundled_natives)
        for each in (old, f"- name: {next(entry for entry in entries if entry.startswith('addcdiv('))}\n")
    )
    assert not whole.shares_foreach
    assert part.shares_foreach
    rules = tuple(rule for rule in load_rules() if "foreach" in rule.name)
    assert [item.rule for item in run_rules(whole, rules).diagnostics] == []
    assert [item.rule for item in run_rules(part, rules).diagnostics] == ["foreach-value-indexed-twice"]


#: The warnings that a user sees of the file of PyTorch 2.13, in file order, each examined.
WARNINGS = [
    # the derivative of the tangent takes what was saved as constant: test_defects.py
    ("first-order-tangent", "_linalg_det"),
    ("first-order-tangent", "_linalg_slogdet"),
    # in-place operations on the output change the tangent of the input: test_defects.py
    ("aliased-tangent", "native_dropout"),
    ("aliased-tangent", "fmod.Scalar"),
    ("aliased-tangent", "frac"),
    # of negative integers as exponents: docs/pytorch-defects.md
    ("integer-base", "ldexp.Tensor"),
    ("integer-base", "ldexp.Tensor"),
    ("first-order-tangent", "native_batch_norm"),
    ("first-order-tangent", "_native_batch_norm_legit"),
    ("first-order-tangent", "_native_batch_norm_legit.no_stats"),
    ("first-order-tangent", "native_layer_norm"),
    # without a weight the backward raises an error: test_defects.py
    ("unguarded-optional", "_batch_norm_with_update"),
    ("first-order-tangent", "_batch_norm_with_update"),
    ("unguarded-optional", "_batch_norm_no_update"),
    ("aliased-tangent", "remainder.Scalar"),
    ("first-order-tangent", "_linalg_solve_ex"),
    ("aliased-tangent", "sub.Scalar"),
    ("aliased-tangent", "triangular_solve"),
    # a target that requires a gradient is refused, where other losses have the formula: test_defects.py
    ("missing-argument-derivative", "soft_margin_loss"),
    ("missing-argument-derivative", "soft_margin_loss_backward"),
    ("first-order-tangent", "cudnn_batch_norm"),
    ("first-order-tangent", "miopen_batch_norm"),
    # an undefined gradient raises an error: test_defects.py
    ("unguarded-gradient", "mkldnn_linear"),
    # a float is never differentiable
    ("useless-non-differentiable", "to_padded_tensor"),
    # "min_seqlen" and "max_seqlen", which "_nested_view_from_jagged" declares
    ("missing-argument-derivative", "_nested_from_padded_tensor"),
    ("missing-argument-derivative", "_nested_from_padded_tensor"),
    # the window of the forward call is not known to the backward call
    ("dropped-argument", "_efficient_attention_forward"),
    # a derivative that is not zero: docs/pytorch-defects.md
    ("missing-argument-derivative", "special_bessel_j0"),
    ("missing-argument-derivative", "special_bessel_j1"),
    ("missing-argument-derivative", "special_bessel_y0"),
    ("missing-argument-derivative", "special_bessel_y1"),
    ("missing-argument-derivative", "special_modified_bessel_i0"),
    ("missing-argument-derivative", "special_modified_bessel_i1"),
    ("missing-argument-derivative", "special_modified_bessel_k0"),
    ("missing-argument-derivative", "special_modified_bessel_k1"),
]

#: What else is reported, as infos: values that are saved since their names occur in the text (they are members of the
#: generated nodes), placeholders, an entry of a composite operator.
INFOS = {
    "accidental-save": 5,
    "entry-without-formulas": 2,
    "ignored-composite-entry": 1,
}

#: What is hidden since its confidence is not high, by rule. Backward functions without derivative; channels that are
#: divisible by groups; sums of integers whose outputs count as differentiable; a bias that may be absent; flags that
#: make no difference.
HIDDEN = {
    "dropped-argument": 2,
    "integer-division": 1,
    "missing-argument-derivative": 1,
    "not-twice-differentiable": 43,
    "unconditional-output-dtype": 7,
}


def test_what_is_said_of_the_installed_file_has_been_examined(
    derivatives_path: Path, installed_natives: NativeFunctions
) -> None:
    stable = [rule for rule in load_rules() if rule.meta.status == "stable"]
    result = run_rules(build_model(SourceFile.read(derivatives_path), installed_natives), stable)
    rest = [item for item in result.diagnostics if item.severity is not Severity.ERROR]
    shown = [item for item in rest if item.confidence is Confidence.HIGH]
    hidden = [item for item in rest if item.confidence is not Confidence.HIGH]
    assert [(item.rule, item.entry) for item in shown if item.severity is Severity.WARNING] == WARNINGS
    assert Counter(item.rule for item in shown if item.severity is Severity.INFO) == INFOS
    assert Counter(item.rule for item in hidden) == HIDDEN
