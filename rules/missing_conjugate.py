"""A factor in a backward formula is not conjugated.

## What it detects
A product of the gradient and a factor that depends on a differentiable input, an output or a "Scalar", through
holomorphic functions only, and that is not conjugated, in the entry of an operator on PyTorch's complex list, or of a
foreach operator that applies one. Also reported for an operator's call to itself in its double backward:
"tanh_backward(grad, output)" where "output.conj()" is due.

## Why it is bad
For complex numbers the gradient of a holomorphic function is the gradient of the output times the conjugate of the
derivative. Without "conj()", real gradients are right and complex ones silently wrong. 43 entries of PyTorch had this
bug, each found by a user.

## Example
    - name: addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
      self: maybe_multiply(grad, beta.conj())
      mat: maybe_multiply(grad.ger(vec), alpha.conj())
      vec: maybe_multiply(mat.t().conj().mv(grad), alpha.conj())

## Instead
    - name: addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
      self: maybe_multiply(grad, beta.conj())
      mat: maybe_multiply(grad.ger(vec.conj()), alpha.conj())
      vec: maybe_multiply(mat.t().conj().mv(grad), alpha.conj())

## Fix safety
Adding ``.conj()`` is unsafe: it changes the gradient of complex tensors, but not of real ones. In a product of
matrices, it is offered where numbers show that ``.mH()`` is not the missing part.

## What it cannot see
Factors in helpers, whose bodies are not read. Operators that are not holomorphic ("abs", "sgn", "vdot", "angle") follow
other rules and are not reported; neither are products with a factor that is partly conjugated. Which operators
take complex numbers is read from the checkout or the release.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, "GRADIENT_IMPLEMENTED_FOR_COMPLEX"; the PyTorch note "Autograd
mechanics", section "Autograd for Complex Numbers".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.automatic import NOT_ELEMENT_WISE
from derivlint.analysis.dependence.conjugation import Mistake, mistakes
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Call, Expr, Name
from derivlint.lint import AnalysisDepth, Confidence, Finding, Fix, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import UNCOMPILED_HERE, WRONG_SHAPE, WRONG_VALUE
from derivlint.lint.judging import judges
from derivlint.lint.shared.degree_wording import shown
from derivlint.lint.shared.typed_edits import adjoint, conjugate
from derivlint.lint.wording import quoted_list
from derivlint.model import Entry, Model
from derivlint.operators import holds_for

META = RuleMeta(
    severity=Severity.ERROR,
    group="complex",
    yields_to=(
        UNCOMPILED_HERE,
        WRONG_VALUE,
        WRONG_SHAPE,
        SupersededBy(("undefined-namespace-member",), "another function is called", Within.FORMULA),
        SupersededBy(("misspelt-keyword",), "it is not known which arguments are differentiable", Within.ENTRY),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    """\
- name: acosh(Tensor self) -> Tensor
  self: "self.is_complex() ? grad * ((self + 1).rsqrt() * (self - 1).rsqrt()).conj() : grad * (self * self - \
1).rsqrt()"
""",
    # a condition with an unknown function may test for real numbers
    """\
- name: acosh(Tensor self) -> Tensor
  self: "selfis_complex() ? grad * ((self + 1).rsqrt() * (self - 1).rsqrt()).conj() : grad * (self * self - 1).rsqrt()"
""",
    """\
- name: vdot(Tensor self, Tensor other) -> Tensor
  self: grad.conj() * other
  other: grad * self
""",
    # a mask is real, also with a formula
    """\
- name: where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
  condition: grad
  self: where(condition, grad, 0)
  other: where(condition, 0, grad)
""",
)

INVALID = (
    Invalid(
        at="3:32-35",
        message='the factor "vec" is not conjugated in the gradient of "mat"',
        help='append ".conj()": a gradient is multiplied by the conjugate of the derivative',
        fixed="  mat: maybe_multiply(grad.ger(vec.conj()), alpha.conj())",
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * result
""",
        at="2:16-22",
        message='the factor "result" is not conjugated in the gradient of "self"',
        help='append ".conj()": a gradient is multiplied by the conjugate of the derivative',
        fixed="  self: grad * result.conj()",
    ),
    # of a list of tensors
    Invalid(
        """\
- name: _foreach_pow.Scalar(Tensor[] self, Scalar exponent) -> Tensor[]
  self: grads[i] * (exponent * self[i].pow(exponent.toDouble() - 1))
""",
        at="2:20-69",
        message=(
            'the factor "(exponent * self[i].pow(exponent.toDouble() - 1))" is not conjugated in the gradient of "self"'
        ),
        help='append ".conj()": a gradient is multiplied by the conjugate of the derivative',
        fixed="  self: grads[i] * (exponent * self[i].pow(exponent.toDouble() - 1)).conj()",
    ),
    Invalid(
        """\
- name: tanh_backward(Tensor grad_output, Tensor output) -> Tensor
  grad_output: tanh_backward(grad, output)
  output: grad.conj() * (-2 * output.conj() * grad_output)
""",
        at="2:36-42",
        message='the factor "output" is not conjugated in the gradient of "grad_output"',
        help='append ".conj()": a gradient is multiplied by the conjugate of the derivative',
        fixed="  grad_output: tanh_backward(grad, output.conj())",
    ),
    # a sign stays in front
    Invalid(
        """\
- name: cos(Tensor self) -> Tensor
  self: grad * -self.sin()
""",
        at="2:16-27",
        message='the factor "-self.sin()" is not conjugated in the gradient of "self"',
        help='append ".conj()": a gradient is multiplied by the conjugate of the derivative',
        fixed="  self: grad * -self.sin().conj()",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the factors of backward formulas that are not conjugated."""
    confidence = Confidence.HIGH if holds_for(model.natives) else Confidence.MEDIUM
    for mistake in analyses_of(model).collect(entry, mistakes):
        if mistake.kind in (Mistake.MISSING, Mistake.OWN_OPERATOR):
            formula = mistake.interpretation.formula
            yield Finding(
                formula.span_of(mistake.node),
                f"the factor {shown(formula, mistake.node)} is not conjugated in the gradient of "
                f"{quoted_list(sorted(formula.names))}",
                help='append ".conj()": a gradient is multiplied by the conjugate of the derivative',
                fix=_fixes(formula, mistake.node),
                at=formula.written,
                confidence=confidence,
            )


def _fixes(formula: TypedFormula, node: Expr) -> tuple[Fix, ...]:
    """Add ".conj()"; a variable in a matrix product may need its adjoint."""
    calls = (formula.call(call) for call in formula.nodes if isinstance(call, Call) and node in call.args)
    mixes = isinstance(node, Name) and any(call is not None and call.name in NOT_ELEMENT_WISE for call in calls)
    fixes = (conjugate(formula, node), adjoint(formula, node) if mixes else None)
    return tuple(fix for fix in fixes if fix is not None)
