"""A formula modifies a gradient, a tangent, an argument or an output in place.

## What it detects
An in-place method, or a function that writes to an argument ("at::relu_", "at::mul_out"), on a variable of the formula
or on a view of one; and in a backward formula one on a new tensor that takes the gradient as an operand, such as
"helper(self).mul_(grad)". The forward formula of an in-place operator may change the tangent of what that changes, as
"self_t.zero_()" does. The statements of lambdas are read, with their variables: "auto g = grad; g.mul_(2);".

## Why it is bad
Autograd may pass the same gradient to other nodes, and a saved tensor is needed again if backward runs twice: both
would then be wrong. A forward formula is evaluated beside the operator: arguments and outputs are those of the user,
and their tangents belong to them. Writing the gradient into a new tensor in place fails if gradients are batched
("is_grads_batched", "vmap"), and prevents double backward.

## Example
    - name: sin(Tensor self) -> Tensor
      self: grad.mul_(self.cos().conj())

## Instead
    - name: sin(Tensor self) -> Tensor
      self: grad * self.cos().conj()

## What it cannot see
Helpers that write to their arguments, and tensors that are not known to be new.

## Sources
torch/csrc/autograd/saved_variable.cpp; the PyTorch note "In-place operations with autograd".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.aliasing import overwrites
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import OTHER_VARIABLE
from derivlint.lint.judging import judges
from derivlint.lint.shared.degree_wording import shown
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.ERROR, group="views", yields_to=(OTHER_VARIABLE,), reads=AnalysisDepth.SEMANTICS)

VALID = (
    # a copy
    """\
- name: sin(Tensor self) -> Tensor
  self: "[&]() { Tensor g = grad.clone(); g.mul_(self.cos().conj()); return g; }()"
""",
    """\
- name: maximum(Tensor self, Tensor other) -> Tensor
  self: at::where(self == other, grad / 2, grad).masked_fill_(self < other, 0)
  other: at::where(self == other, grad / 2, grad).masked_fill_(self > other, 0)
""",
    """\
- name: fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)
  self: zeros_like(grad)
  value: grad.sum()
  result: self_t.fill_(value_t)
""",
)

INVALID = (
    # the statements of a lambda
    Invalid(
        """\
- name: sin(Tensor self) -> Tensor
  self: "[&](const Tensor& g) { auto h = g; h.mul_(2); return h * self.cos().conj(); }(grad)"
""",
        at="2:45-54",
        message='"mul_" changes "grad" in place',
        help='use "mul", which returns a new tensor',
    ),
    Invalid(
        """\
- name: sin(Tensor self) -> Tensor
  self: "[&]() { if (self.dim() > 1) { grad *= 2; } return grad * self.cos().conj(); }()"
""",
        at="2:40-49",
        message='"*=" changes "grad" in place',
        help='use "*", which returns a new tensor',
    ),
    Invalid(
        """\
- name: sin(Tensor self) -> Tensor
  self: "[&]() { at::mul_out(grad, grad, self); return grad * self.cos().conj(); }()"
""",
        at="2:18-47",
        message='"mul_out" changes "grad" in place',
        help='use "mul", which returns a new tensor',
    ),
    Invalid(
        at="2:9-37",
        message='"mul_" changes "grad" in place',
        help='use "mul", which returns a new tensor',
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: result.conj().mul_(grad)
""",
        at="2:9-33",
        message='"mul_" changes "result" in place',
        help='use "mul", which returns a new tensor',
    ),
    Invalid(
        """\
- name: sinh(Tensor self) -> Tensor
  self: grad * self.cosh().conj()
  result: self_t * self_p.cosh_()
""",
        at="3:20-34",
        message='"cosh_" changes "self_p" in place',
        help='use "cosh", which returns a new tensor',
    ),
    # on the CPU it is the tensor itself
    Invalid(
        """\
- name: log(Tensor self) -> Tensor
  self: grad.div(self.conj())
  result: self_t.cpu().div_(self_p)
""",
        at="3:11-36",
        message='"div_" changes "self_t" in place',
        help='use "div", which returns a new tensor',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: self.sgn().mul_(grad)
""",
        at="2:9-30",
        message='"mul_" writes the gradient into "self.sgn()", which requires no gradient',
        help='use "mul", which returns a new tensor',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the calls that modify variables of the formula."""
    analyses = analyses_of(model)
    for interpretation in analyses.interpretations(entry):
        seen: set[tuple[str, ...]] = set()
        for overwrite in overwrites(interpretation):
            formula, write, names = overwrite.formula, overwrite.write, overwrite.names
            # "x.logical_or_(y).logical_not_()" is one mistake
            if names and names in seen:
                continue
            seen.add(names)
            method = quoted(write.spelling)
            if names:
                message = f"{method} changes {quoted_list(names, 'or')} in place"
            else:
                target = shown(formula, write.target)
                message = f"{method} writes the gradient into {target}, which requires no gradient"
            yield Finding(
                formula.span_of(write.node),
                message,
                help=f"use {quoted(_returning(write.returning))}, which returns a new tensor",
                at=formula.written,
            )


def _returning(name: str) -> str:
    """Return the name of the function that returns the value instead of writing to "out"."""
    return name.removesuffix("f").removesuffix("_out") if name.endswith(("_out", "_outf")) else name
