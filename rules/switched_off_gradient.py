"""A formula uses the gradient of an output that is not differentiable.

## What it detects
``grad_<output>`` in a backward formula, where ``output_differentiability`` switches this output off or the output is
not a tensor.

## Why it is bad
The generated node has gradients of differentiable outputs only. PyTorch's generator treats the name like any other
identifier, and the C++ compiler reports it as undeclared.

## Example
    - name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
      output_differentiability: [True, False]
      self: f(grad_values, grad_indices)

## Instead
    - name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
      output_differentiability: [True, False]
      self: f(grad_values)

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info`` (``available_named_gradients``).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DerivativeFormula
from derivlint.model.scope import NotDeclared, first_undeclared

META = RuleMeta(severity=Severity.ERROR, group="differentiability", checks=("X2", "X3"))

VALID = (
    """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: f(grad_values, indices)
""",
    """\
- name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
  A: linalg_qr_backward(grad_Q, grad_R, Q, R, mode)
""",
)

INVALID = (
    Invalid(
        at="3:24-36",
        message='"grad_indices" does not exist: the output "indices" is not differentiable',
        help='the formula can use "grad_values"',
    ),
    Invalid(
        """\
- name: _linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)
  A: slogdet_backward(grad_sign, grad_logabsdet, A, sign, LU, grad_pivots)
  output_differentiability: [True, True, False, False]
""",
        at="2:63-74",
        message='"grad_pivots" does not exist: the output "pivots" is not differentiable',
        help='the formula can use "grad_sign" and "grad_logabsdet"',
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the named gradients of one backward formula."""
    info, declared = formula.body.info, formula.entry.output_differentiability
    for name in first_undeclared(formula, NotDeclared.SWITCHED_OFF):
        available = list(info.available_named_gradients) if info is not None else []
        yield Finding(
            formula.span_of(name.word),
            f"{quoted(name.word.text)} does not exist: the output {quoted(name.subject or '')} is not differentiable",
            help=f"the formula can use {quoted_list(available)}" if available else None,
            related=(Related("declared here", formula.entry.place(declared.node)),) if declared is not None else (),
        )
