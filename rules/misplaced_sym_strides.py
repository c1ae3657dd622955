"""A formula uses the strides of an argument whose gradient it does not compute.

## What it detects
``x.sym_strides()`` in a formula whose key is not exactly ``x``: in another argument's formula, in a formula for several
arguments, or on an output.

## Why it is bad
Strides are saved together with a check that the argument has strides at all, which is only made for the argument that
the formula is for. PyTorch's generator fails with an assertion.

## Example
    - name: mm(Tensor self, Tensor mat2) -> Tensor
      self: mm_mat1_backward(grad, mat2, self.sym_sizes(), mat2.sym_strides(), self.layout(), 1)

## Instead
    - name: mm(Tensor self, Tensor mat2) -> Tensor
      self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``saved_variables`` (``stride_expr``).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity, SupersededBy
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DerivativeFormula

META = RuleMeta(
    severity=Severity.ERROR,
    group="saving",
    checks=("L16",),
    yields_to=(SupersededBy(("mismatched-argument",), "sizes are meant"),),
)

VALID = (
    """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: f(grad.sym_strides(), mat2)
""",
)

INVALID = (
    Invalid(
        at="2:56-60",
        message='the strides of "mat2" cannot be used in the formula for "self"',
        help='only a formula for "mat2" alone can use its strides',
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: f(grad, self.sym_strides(), grad_input_mask)
""",
        at="2:24-28",
        message='the strides of "self" cannot be used in the formula for "self" and "other"',
        help='only a formula for "self" alone can use its strides',
    ),
    Invalid(
        """\
- name: cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
  self: f(grad, result.sym_strides())
""",
        at="2:17-23",
        message='the strides of the output "result" cannot be used in a formula',
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the strides that one backward formula uses."""
    derivative, function = formula.derivative, formula.entry.function
    if derivative is None or function is None:
        return
    seen = set()
    for name, word in derivative.strides_of:
        # a key that names it twice has a rule of its own
        if set(derivative.var_names) == {name} or name in seen:
            continue
        seen.add(name)
        if function.argument(name) is None:
            message = f"the strides of the output {quoted(name)} cannot be used in a formula"
            yield Finding(
                formula.span_of(word), message, help="only the strides of the formula's own argument are saved"
            )
            continue
        arguments = quoted_list(list(derivative.var_names))
        yield Finding(
            formula.span_of(word),
            f"the strides of {quoted(name)} cannot be used in the formula for {arguments}",
            help=f"only a formula for {quoted(name)} alone can use its strides",
        )
