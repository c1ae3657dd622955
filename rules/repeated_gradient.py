"""The same gradient is passed twice.

## What it detects
A call in which the same gradient or tangent is passed for two of the parameters that take gradients or tangents. In a
backward or forward helper for an operator of PyTorch it is an error.

## Why it is bad
A backward helper of an operator with several outputs takes the gradient of each. If one is passed twice, the other is
dropped. The formula is still linear in its gradients, so no other rule reports it.

## Example
    - name: var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> \
(Tensor, Tensor)
      self: var_mean_backward(grads[0], grads[0], self, dim, correction, keepdim)

## Instead
    - name: var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> \
(Tensor, Tensor)
      self: var_mean_backward(grads[0], grads[1], self, dim, correction, keepdim)

## What it cannot see
Functions whose parameters have other names, methods, and values that are not plain variables ("f(x + 1)"). A backward
helper that is used for a different argument takes the arguments in other roles and is not checked.

## Sources
torch/csrc/autograd/FunctionsManual.h and native_functions.yaml, for the names of parameters; Rice and others, Detecting
Argument Selection Defects (OOPSLA 2017).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.calls.argument_order import MismatchKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED_HERE
from derivlint.lint.judging import judges
from derivlint.lint.shared.argument_order import order_finding, parameter, wrongly_passed
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING, group="arguments", yields_to=(UNCOMPILED_HERE,), reads=AnalysisDepth.SEMANTICS
)

VALID = (
    """\
- name: norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
  self: norm_backward(grad, self, p, result, dim, keepdim)
""",
)

INVALID = (
    Invalid(
        at="2:37-45",
        message='"var_mean_backward" is passed "grads[0]" for both "gvar" and "gmean"',
        help="pass the gradient of each output once",
    ),
    Invalid(
        """\
- name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
  A: linalg_qr_backward(grad_Q, grad_Q, Q, R, mode)
""",
        at="2:33-39",
        message='"linalg_qr_backward" is passed "grad_Q" for both "gQ" and "gR"',
        help="pass the gradient of each output once",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the calls with one gradient for two parameters."""
    for problem in wrongly_passed(entry, model):
        if problem.kind is MismatchKind.REPEATED_SEED:
            both = f"{quoted(problem.names[0])} for both {parameter(problem, 1)} and {parameter(problem)}"
            yield order_finding(problem, both, "pass the gradient of each output once")
