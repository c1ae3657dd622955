"""A backward helper is not linear in a gradient.

## What it detects
In the C++ source with the bodies of helpers (FunctionsManual.cpp of a checkout, or what ``--helper-bodies`` names), a
function with "backward" in its name that multiplies a gradient by itself, or by a value computed from it, across
statements and helpers of that file.

## Why it is bad
A backward formula is a vector-Jacobian product, and a helper that computes a part of it is linear in the gradients that
it is given. One that is not is wrong for every loss, and it compiles.

## Example
    Tensor my_backward(const Tensor& grad, const Tensor& self) {
      return grad * self * grad;
    }

## Instead
A body with ``return grad * self;``.

## What it cannot see
Nonlinearity in some cases only, and functions that may cancel (``exp`` of ``log``). Variables in statements
that cannot be read are unknown. Double backward helpers are products of several gradients, and are not judged.

## Sources
Griewank and Walther, Evaluating Derivatives, section 3; the notes at the head of derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import shown_bodies
from derivlint.lint.wording import once_in_each_term, quoted_list
from derivlint.model import Model

META = RuleMeta(severity=Severity.ERROR, group="gradients")

_ENTRY = """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
"""

VALID = (
    _ENTRY,
    """\
- name: cos(Tensor self) -> Tensor
  self: grad * -self.sin()
""",
)

INVALID = (
    Invalid(
        _ENTRY,
        bodies="Tensor f_backward(const Tensor& grad, const Tensor& self) {\n  return grad * self * grad;\n}\n",
        at="1:8-18",
        message='"f_backward" is not linear in "grad"',
        help='use "grad" once in each term, as a factor',
    ),
    Invalid(
        _ENTRY,
        bodies="""\
static Tensor scaled(const Tensor& x, const Tensor& by) {
  auto result = x.clone();
  result.mul_(by);
  return result;
}
Tensor f_backward(const Tensor& grad_output, const Tensor& self) {
  Tensor grad_input;
  if (grad_output.defined()) {
    grad_input = scaled(grad_output, grad_output);
  }
  return grad_input;
}
""",
        at="6:8-18",
        message='"f_backward" is not linear in "grad_output"',
        help='use "grad_output" once in each term, as a factor',
    ),
)


@judges(Model)
def check(model: Model) -> Iterator[Finding]:
    """Report each backward helper that is not linear in a gradient, at its name."""
    for source, name, body in shown_bodies(model):
        if body.nonlinear:
            yield Finding(
                body.name_span,
                f'"{name}" is not linear in {quoted_list(body.nonlinear)}',
                help=once_in_each_term(body.nonlinear),
                source=source,
            )
