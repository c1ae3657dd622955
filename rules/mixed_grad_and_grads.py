"""One entry uses both grad and grads.

## What it detects
The backward formulas of one dispatch key use ``grad`` in one place and ``grads`` in another.

## Why it is bad
``grad`` is the gradient of the first output and declares that only this output is differentiable; ``grads`` is the list
of the gradients of all differentiable outputs. The generated node declares one of the two. PyTorch's generator rejects
the entry.

## Example
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grads[0], self, other.scalar_type())

## Instead
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())

## Fix safety
The fix makes all uses the same. It is unsafe, because it decides which outputs are differentiable.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``check_grad_usage``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import Word
from derivlint.lint import Finding, Fix, Invalid, Related, RuleMeta, Severity, TextEdit
from derivlint.lint.edits import formulas_fix
from derivlint.lint.engine.precedence import JOINED_ENTRIES
from derivlint.lint.judging import judges
from derivlint.model import DerivativeFormula, DispatchBody
from derivlint.model.generated.gradients import MIXED, BodyGradients, gradients_of

META = RuleMeta(
    severity=Severity.ERROR,
    group="names",
    checks=("L18",),
    yields_to=(JOINED_ENTRIES,),
)

VALID = (
    """\
- name: frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)
  self: f(grads, grads[1])
""",
)

INVALID = (
    Invalid(
        at="3:30-35",
        message='"grads" is used beside "grad"',
        help='use "grad" for the only differentiable output, or "grads" for all of them',
        fixed="  other: mul_tensor_backward(grad, self, other.scalar_type())",
    ),
    Invalid(
        """\
- name: _linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)
  A: "grads[1].defined() ? slogdet_backward(grad, grads[1], A, sign, LU, pivots) : Tensor()"
  output_differentiability: [True, True, False, False]
""",
        at="2:45-49",
        message='"grad" is used beside "grads"',
        fixed='  A: "grads[1].defined() ? slogdet_backward(grads[0], grads[1], A, sign, LU, pivots) : Tensor()"',
    ),
    # the only output has one gradient
    Invalid(
        """\
- name: diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor
  self: diagonal_scatter(grads, zeros_like(src), offset, dim1, dim2)
  src: grad.diagonal(offset, dim1, dim2)
""",
        at="2:26-31",
        message='"grads" is used beside "grad"',
        fixed="  self: diagonal_scatter(grad, zeros_like(src), offset, dim1, dim2)",
    ),
    # the first gradient is there
    Invalid(
        """\
- name: var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, \
Tensor)
  self: var_mean_backward(grads[0], grad, self, dim, correction, keepdim)
""",
        at="2:37-41",
        message='"grad" is used beside "grads"',
    ),
)


@judges(DispatchBody)
def check(body: DispatchBody) -> Iterator[Finding]:
    """Check the gradients that the formulas of one dispatch key use."""
    gradients = gradients_of(body)
    if gradients.conflict != MIXED:
        return
    grad, grads = gradients.grad, gradients.grads
    # the rarer spelling is the mistake; on a tie, the later one
    is_grad = len(grad) < len(grads) or (len(grad) == len(grads) and _place(grad[0]) > _place(grads[0]))
    function = body.entry.function
    is_foreach = function is not None and function.canonical.name.is_foreach
    if function is not None and len(function.outputs) == 1 and not is_foreach:
        is_grad = False
    (formula, word), (paired_formula, paired) = (grad[0], grads[0]) if is_grad else (grads[0], grad[0])
    yield Finding(
        formula.span_of(word),
        f'"{word.text}" is used beside "{paired.text}"',
        help='use "grad" for the only differentiable output, or "grads" for all of them',
        related=(Related(f'"{paired.text}" is used here', paired_formula.span_of(paired)),),
        fix=_fix(gradients, "grads[i]" if is_foreach else "grads[0]" if is_grad else "grad"),
        at=formula,
    )


def _place(use: tuple[DerivativeFormula, Word]) -> tuple[int, int]:
    return use[0].index, use[1].start


def _fix(gradients: BodyGradients, text: str) -> Fix | None:
    if not all(item.written.is_exact() for item in gradients.uses):
        return None
    if any(formula.parsed.tree is None for formula, _ in (*gradients.grad, *gradients.grads)):
        # "grad output", with a blank, means another name
        return None
    if text != "grad":
        first = {formula.index for formula, item in gradients.indexed if item.index == 0}
        if first & {formula.index for formula, _ in gradients.grad}:
            # another gradient is meant
            return None
        return formulas_fix(
            f'write "{text}"', [(formula, (word.start, word.end, text)) for formula, word in gradients.grad]
        )
    if any(item.index != 0 for _, item in gradients.indexed):
        return None
    indexed = {(formula.index, item.node.start): item.node for formula, item in gradients.indexed}
    edits = [
        TextEdit(formula.span_of(indexed.get((formula.index, word.start), word)), "grad")
        for formula, word in gradients.grads
    ]
    return Fix('write "grad"', tuple(edits), safe=False)
