"""A backward function is not passed an argument of the operator.

## What it detects
A call of a backward function in a backward formula, or of a function for tangents ("batch_norm_jvp") in a forward
formula, in which a parameter has the name of an argument of the operator that is not a tensor, but is passed a literal,
left at its default, or passed the argument negated or combined with literals ("!align_corners", "2 * eps"). Also such a
call of the operator itself on a tangent, of "nll_loss" in the formula for the gradient of "nll_loss_backward", and a
forward formula that calls the operator itself without its dtype, so that the tangent has another dtype than the output.

## Why it is bad
The function could take the operator's argument; with a literal, the formula is right for one value of it only.

## Example
    - name: embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, \
bool scale_grad_by_freq) -> Tensor
      grad_output: embedding_dense_double_backward_symint(grad, indices, -1)

## Instead
    - name: embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, \
bool scale_grad_by_freq) -> Tensor
      grad_output: embedding_dense_double_backward_symint(grad, indices, padding_idx)

## What it cannot see
Functions whose parameter has another name, and backward functions in forward formulas, which have other purposes there.
Operators of other projects may negate an argument, since their backward functions may be declared for the inverse. A
literal that is right for every value that the argument can have at this point is a false positive; for a flag that says
whether the function is passed its input or its result ("self_is_result") that is common, and the finding has medium
confidence.

## Sources
torch/csrc/autograd/FunctionsManual.h and native_functions.yaml, for the names of parameters; Rice and others, Detecting
Argument Selection Defects (OOPSLA 2017).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.calls.dropping import IS_RESULT, dropped_arguments
from derivlint.analysis.shapes.compare import shape_judgement_of
from derivlint.analysis.small_tensors.compare import small_tensors_of
from derivlint.lint import AnalysisDepth, Confidence, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.WARNING, group="arguments", yields_to=(UNCOMPILED,), reads=AnalysisDepth.SEMANTICS)

VALID = (
    """\
- name: leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor
  self: leaky_relu_backward(grad, self, negative_slope, false)
""",
)

INVALID = (
    Invalid(
        at="2:70-72",
        message=(
            '"embedding_dense_double_backward_symint" is passed "-1" for "padding_idx", an argument of '
            '"embedding_dense_backward"'
        ),
        help='pass "padding_idx"',
    ),
    Invalid(
        """\
- name: gelu(Tensor self, *, str approximate='none') -> Tensor
  self: gelu_backward(grad, self)
""",
        at="2:9-34",
        message='"gelu_backward" is called without "approximate", an argument of "gelu": the default is used',
        help='pass "approximate"',
    ),
    # an argument of the operator, but not its value
    Invalid(
        """\
- name: upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, \
float? scales_h=None, float? scales_w=None) -> Tensor
  self: upsample_trilinear3d_backward_symint(grad, output_size, self.sym_sizes(), !align_corners, scales_d, scales_h, \
scales_w)
""",
        at="2:83-97",
        message=(
            '"upsample_trilinear3d_backward_symint" is passed "!align_corners" for "align_corners", an argument of '
            '"upsample_trilinear3d"'
        ),
        help='pass "align_corners"',
    ),
    Invalid(
        """\
- name: linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor
  LU: linalg_lu_solve_LU(grad, LU, pivots, result, left, adjoint)
  B: "at::linalg_lu_solve(LU, pivots, grad, left, !adjoint)"
  result: linalg_lu_solve_jvp(result, LU_p, pivots, LU_t, B_t, left, false)
""",
        at="4:70-75",
        message='"linalg_lu_solve_jvp" is passed "false" for "adjoint", an argument of "linalg_lu_solve"',
        help='pass "adjoint"',
    ),
    # a tangent of another dtype than its output
    Invalid(
        """\
- name: cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
  self: cumsum_backward(grad.to(self.scalar_type()), dim)
  result: self_t.cumsum(dim)
""",
        at="3:11-29",
        message='"cumsum" is called without "dtype", an argument of "cumsum": the default is used',
        help='pass "dtype"',
    ),
    # the operator whose gradient a backward operator gives, and an operator on a tangent
    Invalid(
        """\
- name: nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, \
SymInt ignore_index, Tensor total_weight) -> Tensor
  grad_output: nll_loss_symint(grad, target, weight, reduction, -100)
  self: zeros_like(grad)
  target: non_differentiable
""",
        at="2:65-69",
        message='"nll_loss_symint" is passed "-100" for "ignore_index", an argument of "nll_loss_backward"',
        help='pass "ignore_index"',
    ),
    Invalid(
        """\
- name: _upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, \
float? scales_w=None) -> Tensor
  self: _upsample_bilinear2d_aa_backward_symint(grad, output_size, self.sym_sizes(), align_corners, scales_h, scales_w)
  result: at::_upsample_bilinear2d_aa_symint(self_t, output_size, false, scales_h, scales_w)
""",
        at="3:67-72",
        message='"_upsample_bilinear2d_aa_symint" is passed "false" for "align_corners", an argument of '
        '"_upsample_bilinear2d_aa"',
        help='pass "align_corners"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the arguments that are not passed to backward functions."""
    analyses = analyses_of(model)
    # a missing dtype explains neither sizes nor values
    wrong = {problem.formula for problem in shape_judgement_of(model, entry)}
    wrong |= {problem.formula for problem in small_tensors_of(model, entry)}
    for interpretation in analyses.interpretations(entry):
        for dropped in dropped_arguments(interpretation):
            formula, name = dropped.formula, dropped.name
            if formula in wrong and not formula.is_backward:
                continue
            callee = quoted(dropped.call.spelling)
            argument = f"{quoted(name)}, an argument of {quoted(formula.written.entry.operator or '')}"
            if dropped.literal is None:
                where = formula.span_of(dropped.call.node)
                message = f"{callee} is called without {argument}: the default is used"
            else:
                where = formula.span_of(dropped.literal)
                literal = formula.source_of(dropped.literal)
                message = f"{callee} is passed {quoted(literal)} for {argument}"
            # a backward function mostly returns the same for the input and for the result
            confidence = Confidence.MEDIUM if name.endswith(IS_RESULT) else None
            yield Finding(where, message, help=f"pass {quoted(name)}", at=formula.written, confidence=confidence)
