"""A backward function is not passed an argument of the operator.

## What it detects
A call of a backward function in a backward formula, or of a function for tangents ("batch_norm_jvp") in a forward
formula, in which a parameter has the name of an argument of the operator that is not a tensor, but is passed a literal,
left at its default, or passed the argument negated or combined with literals ("!align_corners", "2 * eps"). Also such a
call of the operator itself on a tangent, of "nll_loss" in the formula for the gradient of "nll_loss_backward", and a
forward formula that calls the operator itself without its dtype, so that the tangent has another dtype than the output.
A parameter may abbreviate the name ("eps" for "epsilon", "train" for "training"), or be the only number for the only
number that the formula does not mention ("p" for "ord"). A tensor or output that such a function is passed with another
sign or number ("-self", "2 * result"), or an elementwise function of it ("self.abs()"), is reported unless values prove
the formula right; for an operator that is not PyTorch's, where the parameter has its name or the function is the
operator's own. A dimension or another integer that the formula does not mention is reported at every call on a
gradient or tangent that takes a literal by its name. An argument other than a tensor that is negated or combined with
literals is an error, since no value of it makes the formula right.

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

## Fix safety
Passing the argument in place of the literal is unsafe: it changes what the formula computes.

## What it cannot see
Flags for parameters of other names, and backward functions in forward formulas, which have other purposes there.
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

from derivlint.analysis import FormulaAnalyses, analyses_of
from derivlint.analysis.calls.argument_order import IS_RESULT
from derivlint.analysis.calls.dropping import altered_tensors, dropped_arguments
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.analysis.shapes.compare import shape_judgement_of
from derivlint.analysis.small_tensors.compare import small_tensors_of
from derivlint.lint import AnalysisDepth, Confidence, Finding, Invalid, RuleMeta, Severity, SupersededBy
from derivlint.lint.edits import formula_fix
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.shared.typed_edits import written
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="arguments",
    yields_to=(
        UNCOMPILED,
        SupersededBy(("computed-for-sizes",), "only the sizes are used"),
        SupersededBy(("mismatched-argument",), "C++ converts the number to a flag"),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    # a number of another operator's backward function
    """\
- name: logit(Tensor self, float? eps=None) -> Tensor
  self: threshold_backward(grad, result, 0)
""",
    # the value of the flag in a branch, under any parameter name
    """\
- name: miopen_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, \
bool training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor)
  input, weight, bias: "grad.defined() ? (training ? miopen_batch_norm_backward(input, \
grad.contiguous(input.suggest_memory_format()), weight, running_mean, running_var, result1, result2, epsilon) : \
native_batch_norm_backward(grad, input, weight, running_mean, running_var, result1, result2, false, epsilon, \
grad_input_mask)) : std::tuple<Tensor, Tensor, Tensor>()"
  output_differentiability: [True, False, False]
""",
    # a literal is the only choice
    """\
- name: max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor
  self: max_pool_double_backward(grad, indices, 2)
  indices: non_differentiable
""",
    """\
- name: leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor
  self: leaky_relu_backward(grad, self, negative_slope, false)
""",
    # hardshrink_backward compares the absolute value
    """\
- name: hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor
  self: hardshrink_backward(grad, self.abs(), lambd)
""",
    # the same values
    """\
- name: _pdist_forward(Tensor self, float p=2) -> Tensor
  self: _pdist_backward(grad.neg(), self.contiguous(), p, at::zeros_like(result) + result * 1) * -1
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
        fixed=(
            "  self: upsample_trilinear3d_backward_symint(grad, output_size, self.sym_sizes()"
            ", align_corners, scales_d, scales_h, scales_w)"
        ),
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
        fixed="  result: linalg_lu_solve_jvp(result, LU_p, pivots, LU_t, B_t, left, adjoint)",
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
    # a tensor, but not as it is
    Invalid(
        """\
- name: _pdist_forward(Tensor self, float p=2) -> Tensor
  self: _pdist_backward(grad, -self, p, result)
""",
        at="2:31-36",
        message='"_pdist_backward" is passed "-self" for "self", not "self" itself',
        help='pass "self"',
        fixed="  self: _pdist_backward(grad, self, p, result)",
    ),
    Invalid(
        """\
- name: _cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor
  x1: _cdist_backward(grad.contiguous(), (x1 + 1), x2, p, result)
  x2: _cdist_backward(grad.mT().contiguous(), x2, x1, p, result.mT().contiguous())
""",
        at="2:42-50",
        message='"_cdist_backward" is passed "(x1 + 1)" for "x1", not "x1" itself',
        help='pass "x1"',
        fixed="  x1: _cdist_backward(grad.contiguous(), x1, x2, p, result)",
    ),
    Invalid(
        """\
- name: median(Tensor self) -> Tensor
  self: evenly_distribute_backward(grad, self, result)
  result: evenly_read_jvp(self_t, self_p, at::exp(result))
""",
        at="3:43-58",
        message='"evenly_read_jvp" is passed "at::exp(result)" for "value", not "result" itself',
        help='pass "result"',
        fixed="  result: evenly_read_jvp(self_t, self_p, result)",
    ),
    # an output that is a number
    Invalid(
        """\
- name: _scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool \
is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, \
Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor rng_state, Tensor unused, \
Tensor debug_attn_mask)
  output_differentiability: [True, False, False, False, False, False, False, False, False]
  query, key, value: _scaled_dot_product_flash_attention_backward_symint(grad, query, key, value, output, logsumexp, \
cum_seq_q, cum_seq_k, (max_q + 1), max_k, dropout_p, is_causal, rng_state, unused, scale)
""",
        at="3:140-151",
        message=(
            '"_scaled_dot_product_flash_attention_backward_symint" is passed "(max_q + 1)" for "max_q", not "max_q" '
            "itself"
        ),
        help='pass "max_q"',
        fixed=(
            "  query, key, value: _scaled_dot_product_flash_attention_backward_symint(grad, query, key, value, output, "
            "logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, rng_state, unused, scale)"
        ),
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
        fixed="  grad_output: nll_loss_symint(grad, target, weight, reduction, ignore_index)",
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
        fixed="  result: at::_upsample_bilinear2d_aa_symint(self_t, output_size, align_corners, scales_h, scales_w)",
    ),
    # parameters with other names
    Invalid(
        """\
- name: native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, \
bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
  input, weight, bias: "grad.defined() ? native_batch_norm_backward(grad, input, weight, running_mean, running_var, \
result1, result2, true, eps, grad_input_mask) : std::tuple<Tensor, Tensor, Tensor>()"
  output_differentiability: [True, False, False]
""",
        at="2:135-139",
        message='"native_batch_norm_backward" is passed "true" for "train", not "training", an argument of '
        '"native_batch_norm"',
        help='pass "training"',
        fixed=(
            '  input, weight, bias: "grad.defined() ? native_batch_norm_backward(grad, input,'
            " weight, running_mean, running_var, result1, result2, training, eps, grad_input_"
            'mask) : std::tuple<Tensor, Tensor, Tensor>()"'
        ),
    ),
    Invalid(
        """\
- name: _foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]
  self: norm_backward(grads[i], self[i], 0.5, result[i])
""",
        at="2:42-45",
        message='"norm_backward" is passed "0.5" for "p_", not "ord", an argument of "_foreach_norm.Scalar"',
        help='pass "ord"',
        fixed="  self: norm_backward(grads[i], self[i], ord, result[i])",
    ),
    # a dimension that the formula does not mention
    Invalid(
        """\
- name: slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) \
-> Tensor
  grad_output: grad.slice_symint(1, start, end, step)
""",
        at="2:34-35",
        message='"slice_symint" is passed "1" for "dim", an argument of "slice_backward"',
        help='pass "dim"',
        fixed="  grad_output: grad.slice_symint(dim, start, end, step)",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the arguments that are not passed to backward functions."""
    analyses = analyses_of(model)
    # a missing dtype affects neither sizes nor values
    wrong = {problem.formula for problem in shape_judgement_of(model, entry)}
    wrong |= {problem.formula for problem in small_tensors_of(model, entry)}
    for interpretation in analyses.interpretations(entry):
        yield from _altered(analyses, interpretation)
        for dropped in dropped_arguments(interpretation):
            formula, name = dropped.formula, dropped.name
            if dropped.literal is None and formula in wrong and not formula.is_backward:
                continue
            callee = quoted(dropped.call.spelling)
            argument = f"{quoted(name)}, an argument of {quoted(formula.written.entry.operator or '')}"
            fix = None
            if dropped.literal is None:
                where = formula.span_of(dropped.call.node)
                message = f"{callee} is called without {argument}: the default is used"
            else:
                where = formula.span_of(dropped.literal)
                literal = formula.source_of(dropped.literal)
                parameter = f"{quoted(dropped.parameter)}, not " if dropped.parameter != name else ""
                message = f"{callee} is passed {quoted(literal)} for {parameter}{argument}"
                place = written(formula, dropped.literal)
                if place is not None:
                    fix = formula_fix(formula.written, f"pass {quoted(name)}", [(*place, name)])
            # most backward functions return the same for the input and for the result
            confidence = Confidence.MEDIUM if name.endswith(IS_RESULT) else None
            help = f"pass {quoted(name)}"
            severity = Severity.ERROR if dropped.is_altered and confidence is None else None
            yield Finding(
                where, message, help=help, fix=fix, at=formula.written, confidence=confidence, severity=severity
            )


def _altered(analyses: FormulaAnalyses, interpretation: Interpretation) -> Iterator[Finding]:
    """Find the tensors that are changed before they are passed on."""
    for altered in altered_tensors(analyses, interpretation):
        formula, node, variable = altered.formula, altered.argument.node, altered.variable
        place = written(formula, node)
        message = f"{quoted(altered.call.spelling)} is passed {quoted(formula.source_of(node))} for "
        yield Finding(
            formula.span_of(node),
            f"{message}{quoted(altered.parameter)}, not {quoted(variable)} itself",
            help=f"pass {quoted(variable)}",
            fix=formula_fix(formula.written, f"pass {quoted(variable)}", [(*place, variable)]) if place else None,
            at=formula.written,
        )
