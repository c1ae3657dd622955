"""An output whose dtype is set by an argument is differentiable unconditionally.

## What it detects
An entry for "sum", "prod", "cumsum", "cumprod" or "nansum" with an argument ``dtype``, without a condition in
``output_differentiability``. The rule has medium confidence and is not shown by default: seven of PyTorch's own entries
have it.

## Why it is bad
With ``dtype=torch.int64`` the output is integral and cannot require a gradient. The kernel sets it nevertheless, and
the call fails with "Autograd not support dtype: Long" for an input that requires a gradient.

## Example
    - name: prod(Tensor self, *, ScalarType? dtype=None) -> Tensor
      self: prod_backward(grad, self.to(grad.scalar_type()), result)

## Instead
    - name: prod(Tensor self, *, ScalarType? dtype=None) -> Tensor
      self: prod_backward(grad, self.to(grad.scalar_type()), result)
      output_differentiability: ["!dtype || isDifferentiableType(*dtype)"]

## What it cannot see
Other operators with an argument ``dtype``: most reject integral dtypes, so the rule lists the five by name.

## Sources
PyTorch issue 62508; the entry of "_to_copy" in derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.outputs import has_unconditional_dtype
from derivlint.lint import AnalysisDepth, Confidence, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING, group="differentiability", confidence=Confidence.MEDIUM, reads=AnalysisDepth.SEMANTICS
)

VALID = (
    # it takes floating-point dtypes only
    """\
- name: mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
  self: grad.expand_symint(self.sym_sizes()) / self.sym_numel()
""",
)

INVALID = (
    Invalid(
        at="1:9-13",
        message='"dtype" may make the output of "prod" integral, which is then not differentiable',
        help='write a condition on "dtype" in output_differentiability, as "_to_copy" has it',
    ),
    Invalid(
        """\
- name: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
  self: sum_backward(grad, self.sym_sizes(), dim, keepdim)
  result: auto_linear
""",
        at="1:9-24",
        message='"dtype" may make the output of "sum.dim_IntList" integral, which is then not differentiable',
        help='write a condition on "dtype" in output_differentiability, as "_to_copy" has it',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Report the entries without a condition."""
    if any(has_unconditional_dtype(model, body) for body in entry.bodies):
        yield Finding(
            entry.name_span,
            f'"dtype" may make the output of {quoted(entry.operator or "")} integral, which is then not differentiable',
            help='write a condition on "dtype" in output_differentiability, as "_to_copy" has it',
            at=entry,
        )
