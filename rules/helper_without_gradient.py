"""A backward helper does not depend on its gradients.

## What it detects
In the C++ source with the bodies of helpers (FunctionsManual.cpp of a checkout, or what ``--helper-bodies`` names), a
function with "backward" in its name that takes gradients and returns, on every path, a nonzero value that depends on
none of them.

## Why it is bad
Where the gradient of the output is zero, so is that of the input. A helper that drops the gradient returns the same
value for every loss.

## Example
    Tensor my_backward(const Tensor& grad, const Tensor& self) {
      auto result = grad * self.cos();
      return self.cos();
    }

## Instead
A body with ``return result;``.

## What it cannot see
A gradient that is dropped in some cases only, or one of several gradients. Variables in statements that cannot be read
are
unknown.

## Sources
Griewank and Walther, Evaluating Derivatives, section 3; the notes at the head of derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import shown_bodies
from derivlint.lint.wording import quoted_list
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
        bodies="Tensor f_backward(const Tensor& grad, const Tensor& self) {\n  return self.cos();\n}\n",
        at="1:8-18",
        message='the result of "f_backward" does not depend on "grad"',
        help='multiply the result by "grad"',
    ),
    Invalid(
        _ENTRY,
        bodies="""\
Tensor f_backward(const Tensor& grad, const Tensor& self, bool scaled) {
  auto result = self.cos();
  if (scaled) {
    grad.mul(result);
  }
  return result;
}
""",
        at="1:8-18",
        message='the result of "f_backward" does not depend on "grad"',
        help='multiply the result by "grad"',
    ),
)


@judges(Model)
def check(model: Model) -> Iterator[Finding]:
    """Report each backward helper that drops its gradients, at its name."""
    for source, name, body in shown_bodies(model):
        if body.lost:
            yield Finding(
                body.name_span,
                f'the result of "{name}" does not depend on {quoted_list(body.lost)}',
                help=f"multiply the result by {quoted_list(body.lost, 'or')}",
                source=source,
            )
