"""A gradient does not have the sizes of its input.

## What it detects
A backward formula whose value cannot have the sizes of the input that it is for, nor be summed to them: a reduced
dimension is missing, there is one too many, or two are exchanged. The formula is evaluated over the sizes of tensors
only, for a few arguments that the operator takes, with a different prime for the size of each dimension. One tensor for
a list of tensors is reported, too.

## Why it is bad
The engine raises in the backward pass. Where sizes happen to agree, the gradient is silently wrong.

## Example
    - name: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
      self: grad

## Instead
    - name: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
      self: sum_backward(grad, self.sym_sizes(), dim, keepdim)

## What it cannot see
Operators and helpers whose sizes are not known or depend on values, and formulas that call them. A gradient that is
larger than its input is legal: the engine sums it, as it does for inputs that were broadcast.

## Sources
The engine's checks of gradients, validate_outputs in torch/csrc/autograd/engine.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.differentiability.operators import is_refusal
from derivlint.analysis.shapes.compare import ShapeProblem
from derivlint.cpp.cpp_type import TENSOR
from derivlint.cpp.expressions.consumer import Use
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WRONG_SIZES
from derivlint.lint.judging import judges
from derivlint.lint.shared.shape_wording import size_findings
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.ERROR, group="shapes", yields_to=WRONG_SIZES, reads=AnalysisDepth.SEMANTICS)


VALID = (
    """\
- name: logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
  self: logsumexp_backward(grad, self, result, dim, keepdim)
""",
    # the engine sums over broadcast dimensions
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self: grad * other / (self * self + other * other)
""",
)

INVALID = (
    Invalid(
        at="2:9-13",
        message='the gradient of "self" has sizes [3, 5], but "self" has [3, 2, 5] at dim = {1}, keepdim = false',
        help='dimension 1, "dim", is missing: put it back with unsqueeze, or keep it where it is reduced',
    ),
    Invalid(
        """\
- name: unsqueeze(Tensor(a) self, int dim) -> Tensor(a)
  self: grad.unsqueeze(dim)
""",
        at="2:9-28",
        message='the gradient of "self" has sizes [2, 1, 1, 3], but "self" has [2, 3] at dim = 1',
        help="autograd raises an error unless a gradient can be summed to the sizes of its input",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: grad.mm(mat2.t().conj()).t()
""",
        at="2:9-37",
        message='the gradient of "self" has sizes [3, 2], but "self" has [2, 3] at mat2.sizes() = [3, 5]',
        help="autograd raises an error unless a gradient can be summed to the sizes of its input",
    ),
    Invalid(
        """\
- name: cat(Tensor[] tensors, int dim=0) -> Tensor
  tensors: grad
""",
        at="2:12-16",
        message='the gradient of the list "tensors" is one tensor',
        help="return a list with a gradient for each of its tensors",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the backward formulas whose sizes do not fit their inputs."""
    yield from size_findings(entry, model, ShapeProblem.GRADIENT)
    for formula in analyses_of(model).formulas(entry):
        if (
            not formula.is_backward
            or is_refusal(formula.tree)
            or formula.evaluation.consumer.use is Use.ELEMENT_GRADIENT
        ):
            continue
        result = formula.type_of(formula.tree)
        types = result.arguments if result.head == "tuple" else (result,)
        for (name, resolved), type in zip(formula.written.resolved_names, types, strict=False):
            if type is TENSOR and resolved.argument is not None and resolved.argument.is_tensor_list:
                message = f"the gradient of the list {quoted(name.text)} is one tensor"
                help = "return a list with a gradient for each of its tensors"
                yield Finding(formula.written.value_span, message, help=help, at=formula.written)
