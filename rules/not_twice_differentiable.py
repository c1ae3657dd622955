"""A gradient flows through an operator that has no derivative, so there is no double backward.

## What it detects
A backward formula sends the gradient, or an input or output that can be differentiated, through an operator that
autograd cannot differentiate: it has no entry and does not decompose, its entry says ``not_implemented``, or the helper
raises. Branches of ``GradMode::is_enabled() ? ... : ...`` that run only where nothing is recorded do not count.

Many backward operators are fused kernels without a derivative on purpose, so most findings have medium confidence and
are shown with "--min-confidence medium". Confidence is high where the file or PyTorch shows that the gradient is meant
to be differentiated: in the branch that ``GradMode::is_enabled()`` chooses, and where a differentiable form of the same
operator exists (``_thnn_differentiable_lstm_cell_backward`` for ``_thnn_fused_lstm_cell_backward``).

## Why it is bad
``torch.autograd.grad(..., create_graph=True)`` works, and differentiating its result raises "derivative for ... is not
implemented". Gradient penalties, Hessians and ``gradgradcheck`` need second derivatives.

## Example
    - name: logit(Tensor self, float? eps=None) -> Tensor
      self: logit_backward(grad, self, eps)

## Instead
    - name: logit(Tensor self, float? eps=None) -> Tensor
      self: "GradMode::is_enabled() ? infinitely_differentiable_logit_backward(grad, self, eps) : logit_backward(grad,
        self, eps)"

## What it cannot see
Helpers of FunctionsManual.cpp count as differentiable, since they are made of operators; neither their callees nor the
decompositions of composite operators are analyzed. If the file is only a part of PyTorch's, operators whose entry may
be elsewhere are not reported. Saved outputs that are declared non-differentiable count as constants, as in autograd,
even where they depend on an input. "derivlint coverage --missing double-backward" lists every operator with the
reasons.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``AUTOGRAD_NOT_IMPLEMENTED_REGISTRATION``; pytorch/pytorch#26660.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.differentiability.coverage import coverage_of
from derivlint.analysis.differentiability.flow import OuterMode
from derivlint.analysis.differentiability.operators import Answer, Reason
from derivlint.analysis.typed import TypedFormula
from derivlint.lint import AnalysisDepth, Confidence, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="higher-order",
    confidence=Confidence.MEDIUM,
    compares=True,
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    # only the branch without grad mode is fused
    """\
- name: _thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? input_bias=None, Tensor? \
hidden_bias=None) -> (Tensor, Tensor)
  input_gates, hidden_gates, hx, input_bias, hidden_bias: "grad.defined() ? (GradMode::is_enabled() ? \
_thnn_differentiable_gru_cell_backward(grad, input_gates, hidden_gates, hx, input_bias, hidden_bias) : \
_thnn_fused_gru_cell_backward(grad, result1, input_bias.defined())) : std::tuple<Tensor, Tensor, Tensor, Tensor, \
Tensor>()"
""",
    # the gradient does not flow through the mask
    """\
- name: relu(Tensor self) -> Tensor
  self: threshold_backward(grad, result, 0)
- name: threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor
  grad_output: grad * (self > threshold)
  self: zeros_like(grad)
""",
    # the operator may have an entry in another file
    """\
- name: hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor
  self: hardtanh_backward(grad, self, min_val, max_val)
""",
)

INVALID = (
    Invalid(
        at="2:9-40",
        message='the gradient cannot be differentiated again: "logit_backward" has no derivative',
    ),
    Invalid(
        """\
- name: _standard_gamma(Tensor self, Generator? generator=None) -> Tensor
  self: grad * _standard_gamma_grad(self, result)
- name: _standard_gamma_grad(Tensor self, Tensor output) -> Tensor
  self: not_implemented("_standard_gamma_grad")
""",
        at="2:16-50",
        message=(
            'the gradient cannot be differentiated again: the derivative of "_standard_gamma_grad" for '
            '"self" is not implemented'
        ),
    ),
    # the branches are the wrong way round
    Invalid(
        """\
- name: logit(Tensor self, float? eps=None) -> Tensor
  self: "GradMode::is_enabled() ? logit_backward(grad, self, eps) : \
infinitely_differentiable_logit_backward(grad, self, eps)"
""",
        at="2:35-66",
        message='the gradient cannot be differentiated again: "logit_backward" has no derivative',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the backward formulas."""
    analyses = analyses_of(model)
    coverage = coverage_of(model)
    for formula in analyses.formulas(entry):
        if not formula.is_backward or coverage.is_refused(formula):
            continue
        for reason in coverage.flow.verdict(formula, OuterMode.REVERSE).reasons:
            if reason.answer is not Answer.UNKNOWN and reason.node is not None:
                yield _finding(formula, reason, coverage.differentiable_forms(reason))


def _finding(formula: TypedFormula, reason: Reason, forms: tuple[str, ...]) -> Finding:
    assert reason.node is not None
    help = 'a formula of differentiable operators, chosen by "GradMode::is_enabled()", can be differentiated again'
    if forms:
        help = f'"{forms[0]}" can be differentiated again; choose it with "GradMode::is_enabled()"'
    is_meant = reason.guarded or bool(forms)
    return Finding(
        formula.span_of(reason.node),
        f"the gradient cannot be differentiated again: {reason.text}",
        help=help,
        at=formula.written,
        confidence=Confidence.HIGH if is_meant else None,
        rests_on=(reason.operator,) if reason.operator not in (None, formula.written.entry.operator) else (),
    )
