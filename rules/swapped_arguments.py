"""Two arguments of a call are swapped.

## What it detects
A call in which a primal, "self_p", is passed for a parameter named like a tangent, "self_t", or the other way round;
the gradient for another parameter and another value for the parameter of the gradient; or two arguments of the
operator, each for the parameter with the other's name, numbers, lists and flags among them; or two outputs in the
opposite order, "result2, result1". Whatever the names are, two arguments of a call are reported if the formula
contradicts its operator, and with the two exchanged it compiles and gives the operator's derivative. By names, it is
an error in a backward or forward helper for an operator of PyTorch.

## Why it is bad
All tensors have the same C++ type, so any order compiles. The formula then computes a different derivative.

## Example
    - name: gelu(Tensor self, *, str approximate='none') -> Tensor
      self: gelu_backward(self, grad, approximate)

## Instead
    - name: gelu(Tensor self, *, str approximate='none') -> Tensor
      self: gelu_backward(grad, self, approximate)

## Fix safety
Swapping the two is unsafe: it changes what the formula computes.

## What it cannot see
Where the values of an operator are not known: functions whose parameters have other names, methods, and values that are
not plain variables ("f(x + 1)"). A backward helper that is used for a different argument takes the arguments in other
roles there.

## Sources
torch/csrc/autograd/FunctionsManual.h and native_functions.yaml, for the names of parameters; Rice and others, Detecting
Argument Selection Defects (OOPSLA 2017).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.calls.argument_order import MismatchKind
from derivlint.analysis.calls.swaps import swaps_of
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import OUTPUT_OF_INTEGERS, UNCOMPILED_HERE
from derivlint.lint.judging import judges
from derivlint.lint.shared.argument_order import order_finding, passed, with_parameters, wrongly_passed
from derivlint.lint.shared.typed_edits import swapped, with_other_suffix
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.operators.special import WHERE

META = RuleMeta(
    severity=Severity.WARNING,
    group="arguments",
    yields_to=(
        UNCOMPILED_HERE,
        OUTPUT_OF_INTEGERS,
        SupersededBy(
            ("dropped-argument", "missing-grad-output", "reordered-key"), "the slip itself is known", Within.FORMULA
        ),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    """\
- name: mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor
  self: mse_loss_backward(grad, self, target, reduction)
  target: mse_loss_backward(grad, target, self, reduction)
""",
    """\
- name: norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
  self: norm_backward(grad, self, p, result, dim, keepdim)
  result: norm_jvp(self_p, self_t, p, result, dim, keepdim)
""",
    # without the sign it is right, too
    """\
- name: huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor
  self: -huber_loss_backward(grad, self, target, reduction, delta)
  target: huber_loss_backward(grad, target, self, reduction, delta)
""",
    # the gradient is passed for its parameter
    """\
- name: linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor
  LU: linalg_lu_solve_LU(grad, LU, pivots, result, left, !adjoint)
""",
)

NATIVES = """\
- func: my::halves(Tensor self) -> (Tensor low, Tensor high)
  dispatch:
    CPU: halves
- func: my::halves_backward(Tensor? grad_low, Tensor? grad_high, Tensor low, Tensor high) -> Tensor
  dispatch:
    CPU: halves_backward
"""

INVALID = (
    # named gradients, and outputs
    Invalid(
        """\
- name: halves(Tensor self) -> (Tensor low, Tensor high)
  self: my::halves_backward(grad_high, grad_low, low, high)
""",
        at="2:29-38",
        message='"halves_backward" is passed "grad_high" for "grad_low", and "grad_low" for "grad_high"',
        help="swap the two",
        fixed="  self: my::halves_backward(grad_low, grad_high, low, high)",
        natives=NATIVES,
    ),
    Invalid(
        """\
- name: halves(Tensor self) -> (Tensor low, Tensor high)
  self: my::halves_backward(grad_low, grad_high, high, low)
""",
        at="2:50-54",
        message='"halves_backward" is passed "high" for "low", and "low" for "high"',
        help="swap the two",
        fixed="  self: my::halves_backward(grad_low, grad_high, low, high)",
        natives=NATIVES,
    ),
    # numbers of different types
    Invalid(
        """\
- name: huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor
  self: huber_loss_backward(grad, self, target, delta, reduction)
  target: huber_loss_backward(grad, target, self, reduction, delta)
""",
        at="2:49-54",
        message='"huber_loss_backward" is passed "delta" for "reduction", and "reduction" for "delta"',
        help="swap the two",
        fixed="  self: huber_loss_backward(grad, self, target, reduction, delta)",
    ),
    # a size for the parameter with the argument's name
    Invalid(
        """\
- name: embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, \
bool sparse=False) -> Tensor
  weight: embedding_backward_symint(grad, indices, padding_idx, weight.sym_size(0), scale_grad_by_freq, sparse)
""",
        at="2:52-63",
        message='"embedding_backward_symint" is passed "padding_idx" for "num_weights", and "weight.sym_size(0)" for '
        '"padding_idx"',
        help="swap the two",
        fixed="  weight: embedding_backward_symint(grad, indices, weight.sym_size(0), padding_idx, scale_grad_by_freq, "
        "sparse)",
    ),
    # an expression for the gradient
    Invalid(
        """\
- name: gelu(Tensor self, *, str approximate='none') -> Tensor
  self: gelu_backward(self + 1, grad, approximate)
""",
        at="2:33-37",
        message='"gelu_backward" is passed the gradient "grad" for "self", and "self + 1" for "grad_output"',
        help="swap the two",
    ),
    Invalid(
        """\
- name: norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
  self: norm_backward(grad, self, p, result, dim, keepdim)
  result: norm_jvp(self_t, self_p, p, result, dim, keepdim)
""",
        at="3:20-26",
        message='"norm_jvp" is passed "self_t" for "self_p"',
        help="swap the two",
        fixed="  result: norm_jvp(self_p, self_t, p, result, dim, keepdim)",
    ),
    Invalid(
        at="2:29-33",
        message='"gelu_backward" is passed the gradient "grad" for "self", and "self" for "grad_output"',
        help="swap the two",
        fixed="  self: gelu_backward(grad, self, approximate)",
    ),
    Invalid(
        """\
- name: mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor
  self: mse_loss_backward(grad, target, self, reduction)
  target: non_differentiable
""",
        at="2:33-39",
        message='"mse_loss_backward" is passed "target" for "self", and "self" for "target"',
        help="swap the two",
        fixed="  self: mse_loss_backward(grad, self, target, reduction)",
    ),
    # the helper's parameter for "self" has another name
    Invalid(
        """\
- name: masked_select(Tensor self, Tensor mask) -> Tensor
  self: masked_select_backward(grad, mask, self)
  mask: non_differentiable
""",
        at="2:44-48",
        message='"masked_select_backward" is passed "self" for "mask", and "mask" for "input"',
        help="swap the two",
        fixed="  self: masked_select_backward(grad, self, mask)",
    ),
    # only values reveal the swap
    Invalid(
        """\
- name: huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor
  self: huber_loss_backward(grad, self, target, delta, reduction)
  target: huber_loss_backward(grad, target, self, reduction, delta)
""",
        at="2:49-54",
        message='"huber_loss_backward" is passed "delta" for "reduction", and "reduction" for "delta"',
        help="swap the two",
        fixed="  self: huber_loss_backward(grad, self, target, reduction, delta)",
    ),
    Invalid(
        """\
- name: pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
  self: pow_backward_self(grad, exponent, self)
  exponent: pow_backward_exponent(grad, self, exponent, result)
""",
        at="2:33-41",
        message='"pow_backward_self" is passed "exponent" for "self", and "self" for "exponent"',
        help="swap the two",
        fixed="  self: pow_backward_self(grad, self, exponent)",
    ),
    Invalid(
        """\
- name: where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
  condition: non_differentiable
  self: where(condition, 0, grad)
  other: where(condition, 0, grad)
""",
        at="3:26-27",
        message='"where" is passed "0" for "self", and "grad" for "other"',
        help="swap the two, or negate the condition",
        fixed="  self: where(condition, grad, 0)",
    ),
    # not only tensors
    Invalid(
        """\
- name: im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor
  self: col2im_symint(grad, {self.sym_size(-2), self.sym_size(-1)}, kernel_size, padding, dilation, stride)
""",
        at="2:82-89",
        message='"col2im_symint" is passed "padding" for "dilation", and "dilation" for "padding"',
        help="swap the two",
        fixed=(
            "  self: col2im_symint(grad, {self.sym_size(-2), self.sym_size(-1)}, kernel_size, dilation, padding, "
            "stride)"
        ),
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the calls with swapped arguments."""
    by_name = tuple(wrongly_passed(entry, model))
    formulas = {problem.formula for problem in by_name}
    by_value = (problem for problem in swaps_of(model, entry) if problem.formula not in formulas)
    for problem in (*by_name, *by_value):
        kind, names = problem.kind, problem.names
        if kind is MismatchKind.PRIMAL_AND_TANGENT:
            message = with_parameters(problem, passed(problem))
            fix = with_other_suffix(problem)
            help = fix.title if fix is not None else 'a name with "_p" is a primal, one with "_t" a tangent'
            yield order_finding(problem, message, help, fix)
        elif kind in (MismatchKind.GRADIENT_ELSEWHERE, MismatchKind.SWAPPED):
            value = quoted(names[0]) if kind is MismatchKind.SWAPPED else f"the gradient {passed(problem)}"
            help = "swap the two, or negate the condition" if problem.call.name == WHERE else "swap the two"
            yield order_finding(problem, with_parameters(problem, value, quoted(names[-1])), help, swapped(problem))
        elif kind is MismatchKind.OUTPUT_DISORDER:
            message = f"{quoted(names[0])} before {quoted(names[1])}"
            yield order_finding(problem, message, "helpers take the outputs in their order", swapped(problem))
