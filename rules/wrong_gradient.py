"""A backward formula is not the derivative of the operator.

## What it detects
A backward formula whose value for one-element tensors does not match the derivative of the operator: a wrong sign,
constant, factor, argument or condition. Both are computed at several points, real and, for operators on PyTorch's
complex list, complex ones. Where the result depends on a dimension, a mask or an index, tensors with a few elements,
of complex numbers for Fourier transforms, are tried as well: there, a value that is infinite or NaN is wrong too if the
derivative is finite. An undefined tensor counts as zero.

A formula that calls an unknown helper is wrong as well if its variables do not determine the gradient: two calls of the
operator give all of them the same values, and have different gradients.

## Why it is bad
The gradient is wrong wherever it is used, and nothing raises.

## Example
    - name: cos(Tensor self) -> Tensor
      self: grad * self.sin().conj()

## Instead
    - name: cos(Tensor self) -> Tensor
      self: grad * -self.sin().conj()

## What it cannot see
Operators whose values are not known, and most formulas that call unknown helpers. Formulas that "nonlinear-gradient"
reports are left to it, factors that only lack "conj()" to "missing-conjugate".

## Sources
Griewank and Walther, Evaluating Derivatives, section 3; the PyTorch note "Autograd mechanics", section "Autograd for
Complex Numbers".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.scalar_evaluation.compare import Disagreement, differ
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.lint import AnalysisDepth, Finding, Invalid, Related, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import (
    MASKED_OUT,
    OUTPUT_OF_INTEGERS,
    SLIP,
    UNCOMPILED,
    UNCOMPILED_BESIDE,
    WRONG_DEGREE,
)
from derivlint.lint.judging import judges
from derivlint.lint.shared.value_wording import scalar_finding, tensor_findings
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.ERROR,
    group="gradients",
    yields_to=(
        UNCOMPILED,
        SupersededBy(("only-first-of-grads", "missing-grad-input-mask"), "a gradient is missing", Within.FORMULA),
        WRONG_DEGREE,
        SLIP,
        MASKED_OUT,
        OUTPUT_OF_INTEGERS,
        UNCOMPILED_BESIDE,
        SupersededBy(("duplicate-entry",), "another operator is meant", Within.ENTRY),
        SupersededBy(("wrong-output-differentiability-length",), "the outputs of gradients are unknown", Within.ENTRY),
    ),
    reads=AnalysisDepth.VALUES,
)

VALID = (
    # the outer braces are those of the array
    """\
- name: cudnn_convolution(Tensor self, Tensor weight, SymInt[] padding, SymInt[] stride, SymInt[] dilation, \
SymInt groups, bool benchmark, bool deterministic, bool allow_tf32) -> Tensor
  self, weight: "_cudnn_convolution_backward(self, grad, weight, padding, std::vector<c10::SymInt>(padding.size(), 0), \
stride, dilation, false, groups, {{grad_input_mask[0], grad_input_mask[1]}})"
""",
    # another way to write it
    """\
- name: tanh(Tensor self) -> Tensor
  self: grad - grad * (result * result).conj()
""",
    # a convention, since there is no derivative
    """\
- name: relu(Tensor self) -> Tensor
  self: at::where(result <= 0, at::zeros({}, self.options()), grad)
""",
)

INVALID = (
    Invalid(
        at="2:9-33",
        message='the gradient of "self" is -0.54 at self = 0.571, grad = 1; the formula gives 0.54',
        help="computed with one-element tensors",
    ),
    Invalid(
        """\
- name: addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
  self: maybe_multiply(grad, beta.conj())
  mat1: mm_mat1_backward(grad, mat1, mat1.sym_sizes(), mat1.sym_strides(), mat1.layout(), alpha)
  mat2: mm_mat2_backward(grad, mat1, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), alpha)
""",
        at="3:9-97",
        message=(
            'the gradient of "mat1" is 0.405 at self = 0.571, mat1 = 0.483, mat2 = 0.405, alpha = 1, grad = '
            "1; the formula gives 0.483"
        ),
        help="computed with one-element tensors",
    ),
    Invalid(
        """\
- name: clamp_max(Tensor self, Scalar max) -> Tensor
  self: at::where(self > max, at::zeros_like(grad), 2 * grad)
""",
        at="2:9-62",
        message='the gradient of "self" is 1 at self = 0.571, max = 0.711, grad = 1; the formula gives 2',
        help="computed with one-element tensors",
    ),
    # an undefined gradient is zero
    Invalid(
        """\
- name: erfc(Tensor self) -> Tensor
  self: "grad.defined() ? Tensor() : grad"
""",
        at="2:10-42",
        message='the gradient of "self" is -0.814 at self = 0.571, grad = 1; the formula gives "Tensor()"',
        help="computed with one-element tensors",
    ),
    # two formulas are exchanged
    Invalid(
        """\
- name: fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)
  self: grad.sum()
  value: zeros_like(grad)
""",
        at="2:9-19",
        message=(
            'the gradient of "self" is 0 at self = 0.571, value = 0.483, grad = 1; the formula gives 1; '
            'exchanged with the formula of "value"'
        ),
        help="computed with one-element tensors",
    ),
    # on one element, prefix sum and suffix sum are equal
    Invalid(
        """\
- name: cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
  self: grad.cumsum(dim)
""",
        at="2:9-25",
        message='the gradient of "self[0][0][0][0]" is 4.77 at dim = -2; the formula gives 0.65',
        help="computed with small tensors of distinct elements",
    ),
    # a lambda for the items of a list
    Invalid(
        """\
- name: roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor
  self: "grad.roll_symint(fmap(reverse_list_symint(shifts), [](c10::SymInt i){return -i;}), dims)"
""",
        at="2:10-98",
        message=(
            'the gradient of "self[0][0][0]" is 0.931 at shifts = {-1, 4}, dims = {-1, 0}; the formula gives -0.146'
        ),
        help="computed with small tensors of distinct elements",
    ),
    # the gradients of a list of outputs
    Invalid(
        """\
- name: unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
  self: unbind_backward(grads, dim).flip({dim})
""",
        at="2:9-48",
        message='the gradient of "self[0][0][0]" is 0.276 at dim = 1; the formula gives 0.362',
        help="computed with small tensors of distinct elements",
    ),
    # no element equals the value, so their number is zero
    Invalid(
        """\
- name: min(Tensor self) -> Tensor
  self: evenly_distribute_backward(grad, self, result + result)
""",
        at="2:9-64",
        message='the gradient of "self[0][0][0]" is 0 at self.sizes() = [3, 2, 5]; the formula gives NaN',
        help="computed with small tensors of distinct elements",
    ),
    # an index is a tensor of integers
    Invalid(
        """\
- name: index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
  self: grad.index_fill(dim, result + 1, 0)
""",
        at="2:9-44",
        message=(
            'the gradient of "self" cannot be computed at dim = 1: the index is a tensor of floating-point numbers'
        ),
        help="computed with small tensors of distinct elements",
    ),
    # whatever the unknown function computes
    Invalid(
        """\
- name: sinh(Tensor self) -> Tensor
  self: my_backward(grad)
""",
        at="2:9-26",
        message=(
            'the gradient of "self" cannot be computed at self.sizes() = [3, 2, 5]: it depends on "self", which the '
            "formula does not use"
        ),
        help='compute it from "self"',
    ),
    Invalid(
        """\
- name: cosh(Tensor self) -> Tensor
  self: my_backward(grad, result)
""",
        at="2:9-34",
        message=(
            'the gradient of "self" cannot be computed: -3.01 and 3.01 have the same output, but not the same '
            "derivative"
        ),
        help='compute it from "self"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the backward formulas that contradict the operator."""
    wrong = [item for item in judgement_of(model, entry).wrong if item.formula.is_backward]
    exchanged: set[int] = set()
    for index, item in enumerate(wrong):
        if index in exchanged:
            continue
        more = ""
        related: tuple[Related, ...] = ()
        for later in range(index + 1, len(wrong)):
            second = wrong[later].formula.written
            if second.body is not item.formula.written.body:
                break
            if _are_exchanged(item, wrong[later]):
                exchanged.add(later)
                name = quoted(wrong[later].name)
                more = f"; exchanged with the formula of {name}"
                related = (Related(f"the formula of {name}", second.value_span),)
                break
        yield scalar_finding(item, more, related)
    yield from tensor_findings(entry, model, backward=True)


def _are_exchanged(first: Disagreement, second: Disagreement) -> bool:
    """Whether the formulas of two arguments compute each other's gradient."""
    if (
        first.formula is second.formula
        or differ(first.expected, second.actual)
        or differ(second.expected, first.actual)
    ):
        return False
    return dict(first.at).keys() == dict(second.at).keys()
