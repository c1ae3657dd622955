"""A parameter is not passed the argument of the same name.

## What it detects
A call of a backward or forward helper in which a parameter has the name of a tensor argument of the operator, but is
passed another argument or, in the operator's own backward function, its result, while the argument of that name is not
passed at all. Also a tensor that a helper is passed twice: for the parameter of its name and for another one; an output
that a helper is passed twice; an output that holds no indices for a parameter that takes indices or a mask, where
another output holds them; a gradient, the only output or the argument whose gradient is computed, for an index or for
the mask of "where" or "masked_fill", or a mask with a minus or a number ("mask * 2"); an operand of "&", "|" or "~"
that is floating-point; a flag for an integer, or an integer for a flag, also "-keepdim"; "true" for "is_result" or
"self_is_result" beside an argument, or "false" beside the result; the layout of one tensor for "layout" beside the
sizes of another for "sizes"; the layout of another tensor than the one in the key for "self_layout"; and strides for
"sizes" or sizes for "strides". Values that operators refuse as masks or indices are errors, and so are strides for
sizes and other arguments in a backward or forward helper for an operator of PyTorch.

## Why it is bad
Both are tensors, so either compiles. "hardsigmoid_backward" uses "self" to decide where the function is flat; if it is
passed the result instead, the gradient is wrong for clamped values.

## Example
    - name: hardsigmoid(Tensor self) -> Tensor
      self: hardsigmoid_backward(grad, result)

## Instead
    - name: hardsigmoid(Tensor self) -> Tensor
      self: hardsigmoid_backward(grad, self)

## Fix safety
Passing the argument of the same name is unsafe: it changes what the formula computes.

## What it cannot see
Functions whose parameters have other names, methods, and values that are not plain variables ("f(x + 1)"). A backward
helper that is used for a different argument takes the arguments in other roles and is not checked.

## Sources
torch/csrc/autograd/FunctionsManual.h and native_functions.yaml, for the names of parameters; Rice and others, Detecting
Argument Selection Defects (OOPSLA 2017).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.calls.argument_order import MismatchKind, floating_bits
from derivlint.cpp.cpp_type import BOOL, DOUBLE
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy
from derivlint.lint.engine.precedence import UNCOMPILED_HERE
from derivlint.lint.judging import judges
from derivlint.lint.shared.argument_order import order_finding, parameter, passed, with_parameters, wrongly_passed
from derivlint.lint.shared.typed_edits import as_named, with_opposite
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="arguments",
    yields_to=(UNCOMPILED_HERE, SupersededBy(("miscast-gradient",), "a cast to the dtype of another argument")),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    # a comparison, and a mask
    """\
- name: relu(Tensor self) -> Tensor
  self: grad.masked_fill(self <= 0, 0)
- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
  self: grad.masked_fill(mask, 0)
  mask: non_differentiable
""",
    """\
- name: relu(Tensor self) -> Tensor
  self: threshold_backward(grad, result, 0)
""",
    # "self" is the argument of the key, and sizes and strides are where they belong
    """\
- name: addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
  self: maybe_multiply(grad, beta.conj())
  mat1: mm_mat1_backward(grad, mat2, mat1.sym_sizes(), mat1.sym_strides(), mat1.layout(), alpha)
  mat2: mm_mat2_backward(grad, mat1, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), alpha)
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
""",
)

NATIVES = """\
- func: my::best(Tensor self, int k, int dim=-1) -> (Tensor values, Tensor indices)
  dispatch:
    CPU: best
"""

INVALID = (
    Invalid(
        at="2:36-42",
        message='"hardsigmoid_backward" is passed "result" for "self"',
        help="pass the argument of the parameter's name",
        fixed="  self: hardsigmoid_backward(grad, self)",
    ),
    Invalid(
        """\
- name: huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor
  self: huber_loss_backward(grad, self, self, reduction, delta)
  target: huber_loss_backward(grad, target, self, reduction, delta)
""",
        at="2:41-45",
        message='"huber_loss_backward" is passed "self" for "target"',
        help="pass the argument of the parameter's name",
        fixed="  self: huber_loss_backward(grad, self, target, reduction, delta)",
    ),
    # another output
    Invalid(
        """\
- name: log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)
  self: log_sigmoid_backward(grad, self, output)
  output_differentiability: [True, False]
""",
        at="2:42-48",
        message='"log_sigmoid_backward" is passed "output" for "buffer"',
        help="pass the argument of the parameter's name",
        fixed="  self: log_sigmoid_backward(grad, self, buffer)",
    ),
    # no mask
    Invalid(
        """\
- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
  self: grad.masked_fill(self, 0)
  mask: non_differentiable
""",
        at="2:26-30",
        message='"masked_fill" is passed "self" for "mask", which is not boolean',
        help="pass a mask or a comparison",
    ),
    Invalid(
        """\
- name: where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
  condition: non_differentiable
  self: where(self, grad, 0)
  other: where(condition, 0, grad)
""",
        at="3:15-19",
        message='"where" is passed "self" for "condition", which is not boolean',
        help="pass a mask or a comparison",
    ),
    Invalid(
        """\
- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
  self: grad.masked_fill((mask * 2), 0)
  mask: non_differentiable
""",
        at="2:26-36",
        message='"masked_fill" is passed "(mask * 2)" for "mask", which is not boolean',
        help="pass a mask or a comparison",
    ),
    # converted
    Invalid(
        """\
- name: where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
  condition: non_differentiable
  self: where(condition.to(grad.scalar_type()), grad, 0)
  other: where(condition, 0, grad)
""",
        at="3:15-47",
        message='"where" is passed "condition.to(grad.scalar_type())" for "condition", which is not boolean',
        help="pass a mask or a comparison",
    ),
    Invalid(
        """\
- name: where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
  condition: non_differentiable
  self: where(-condition, grad, 0)
  other: where(condition, 0, grad)
""",
        at="3:15-25",
        message='"where" is passed "-condition" for "condition", which is not boolean',
        help="pass a mask or a comparison",
    ),
    # bitwise operators
    Invalid(
        """\
- name: xlogy.Tensor(Tensor self, Tensor other) -> Tensor
  self: at::xlogy(grad, other).masked_fill((0.) & (other <= 0.), 0.)
  other: grad * self / other
""",
        at="2:44-48",
        message='"&" takes masks and integers, and "(0.)" is floating-point',
        help="compare it with a number",
    ),
    Invalid(
        """\
- name: xlogy.Tensor(Tensor self, Tensor other) -> Tensor
  self: at::xlogy(grad, other).masked_fill((self == 0.) & (other <= 0.), 0.)
  other: grad * self / other
  result: at::xlogy(self_t, other_p).masked_fill(~self_p | (other_p <= 0.), 0.) + other_t * self_p / other_p
""",
        at="4:51-57",
        message='"~" takes masks and integers, and "self_p" is floating-point',
        help="compare it with a number",
    ),
    Invalid(
        """\
- name: index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
  self: grad.index_fill(dim, result, 0)
""",
        at="2:30-36",
        message='"index_fill" is passed "result" for "index", which holds no integers',
        help="pass the indices",
    ),
    Invalid(
        """\
- name: cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
  self: cumprod_backward(grad.to(self.scalar_type()), self, true, result)
""",
        at="2:61-65",
        message='"cumprod_backward" is passed "true" for "dim", which is a flag',
        help="pass a value of the type of the parameter",
    ),
    Invalid(
        """\
- name: mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
  values: gather_with_keepdimed_indices(self_t, dim, indices, -keepdim)
""",
        at="3:63-71",
        message='"gather_with_keepdimed_indices" is passed "-keepdim" for "keepdim", which is an integer',
        help="pass a value of the type of the parameter",
    ),
    Invalid(
        """\
- name: leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor
  self: leaky_relu_backward(grad, self, negative_slope, true)
""",
        at="2:57-61",
        message='"leaky_relu_backward" is passed "true" for "self_is_result", but "self", an argument',
        help='pass "false"',
        fixed="  self: leaky_relu_backward(grad, self, negative_slope, false)",
    ),
    Invalid(
        """\
- name: elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)
  self: elu_backward(grad, alpha, scale, input_scale, false, result)
""",
        at="2:55-60",
        message='"elu_backward" is passed "false" for "is_result", but "result", the result',
        help='pass "true"',
        fixed="  self: elu_backward(grad, alpha, scale, input_scale, true, result)",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  mat2: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), self.layout(), 1)
""",
        at="2:76-89",
        message='"mm_mat2_backward" is passed "self.layout()" for "layout", and "mat2.sym_sizes()" for "sizes"',
        help="pass the properties of one tensor",
    ),
    Invalid(
        """\
- name: _to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
  self: _to_copy_backward(grad, result.options())
""",
        at="2:33-49",
        message='"_to_copy_backward" is passed "result.options()" for "self_options", in the formula for "self"',
        help='pass the property of "self"',
    ),
    # twice in a call, where the other argument is in another one
    Invalid(
        """\
- name: upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor
  self: "scales_w.has_value() ? upsample_nearest2d_backward_symint(grad, output_size, self.sym_sizes(), scales_h, \
scales_h) : upsample_nearest2d_backward_symint(grad, output_size, self.sym_sizes(), scales_h, scales_w)"
""",
        at="2:115-123",
        message='"upsample_nearest2d_backward_symint" is passed "scales_h" for "scales_w"',
        help="pass the argument of the parameter's name",
        fixed=(
            '  self: "scales_w.has_value() ? upsample_nearest2d_backward_symint(grad, output_size, self.sym_sizes(), '
            "scales_h, scales_w) : upsample_nearest2d_backward_symint(grad, output_size, self.sym_sizes(), scales_h, "
            'scales_w)"'
        ),
    ),
    # for sizes and for strides, the first one of a call only
    Invalid(
        """\
- name: mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
  self: grad.expand_symint(self.sym_strides()) / self.sym_numel()
""",
        at="2:28-46",
        message='"expand_symint" is passed "self.sym_strides()" for "size", which are strides',
        help="pass the sizes",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), (self.sym_sizes()), self.layout(), 1)
""",
        at="2:56-74",
        message='"mm_mat1_backward" is passed "(self.sym_sizes())" for "mat1_strides", which are sizes',
        help="pass the strides",
    ),
    Invalid(
        """\
- name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  input, weight, bias: linear_backward(input, grad.view_symint(input.sym_strides()), weight, grad_input_mask)
""",
        at="2:64-83",
        message='"view_symint" is passed "input.sym_strides()" for "size", which are strides',
        help="pass the sizes",
    ),
    Invalid(
        """\
- name: best(Tensor self, int k, int dim=-1) -> (Tensor values, Tensor indices)
  self: value_selecting_reduction_backward_symint(grad, k, indices, self.sym_sizes(), true)
  output_differentiability: [True, False]
""",
        at="2:57-58",
        message='"value_selecting_reduction_backward_symint" is passed "k" for "dim"',
        help="pass the argument of the parameter's name",
        fixed="  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), true)",
        natives=NATIVES,
    ),
    Invalid(
        """\
- name: _cudnn_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, \
bool deterministic, bool zero_infinity) -> (Tensor, Tensor)
  log_probs: _cudnn_ctc_loss_backward(grad, result0, result1, deterministic)
""",
        at="2:63-76",
        message='"_cudnn_ctc_loss_backward" is passed "deterministic" for "zero_infinity"',
        help="pass the argument of the parameter's name",
        fixed="  log_probs: _cudnn_ctc_loss_backward(grad, result0, result1, zero_infinity)",
    ),
    Invalid(
        """\
- name: _cudnn_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, \
bool deterministic, bool zero_infinity) -> (Tensor, Tensor)
  log_probs: _cudnn_ctc_loss_backward(grad, result0, result1, retain_variables)
""",
        at="2:63-79",
        message='"_cudnn_ctc_loss_backward" is passed "retain_variables" for "zero_infinity"',
        help="pass the argument of the parameter's name",
        fixed="  log_probs: _cudnn_ctc_loss_backward(grad, result0, result1, zero_infinity)",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the calls that are passed another argument of the operator."""
    for interpretation in analyses_of(model).interpretations(entry):
        for op, operand in floating_bits(interpretation):
            text = quoted(interpretation.formula.source_of(operand))
            yield Finding(
                interpretation.formula.span_of(operand),
                f"{quoted(op)} takes masks and integers, and {text} is floating-point",
                help="compare it with a number",
                at=interpretation.formula.written,
                severity=Severity.ERROR,
            )
    for problem in wrongly_passed(entry, model):
        kind, names = problem.kind, problem.names
        if kind in (MismatchKind.OTHER_ARGUMENT, MismatchKind.RESULT_FOR_ARGUMENT):
            message = with_parameters(problem, passed(problem))
            yield order_finding(problem, message, "pass the argument of the parameter's name", as_named(problem))
        elif kind is MismatchKind.REPEATED_VALUE:
            message = f"{quoted(names[0])} for both {parameter(problem, 1)} and {parameter(problem)}"
            yield order_finding(problem, message, "pass another value for one of the two")
        elif kind is MismatchKind.FLOATING_MASK:
            message = f"{with_parameters(problem, passed(problem))}, which is not boolean"
            yield order_finding(problem, message, "pass a mask or a comparison")
        elif kind is MismatchKind.FLOATING_INDEX:
            message = f"{with_parameters(problem, passed(problem))}, which holds no integers"
            yield order_finding(problem, message, "pass the indices")
        elif kind is MismatchKind.FLAG_AND_NUMBER:
            type = problem.formula.type_of(problem.arguments[0].node)
            noun = "a flag" if type is BOOL else "a number" if type is DOUBLE else "an integer"
            message = f"{with_parameters(problem, passed(problem))}, which is {noun}"
            yield order_finding(problem, message, "pass a value of the type of the parameter")
        elif kind is MismatchKind.RESULT_FLAG:
            literal = problem.formula.source_of(problem.arguments[0].node)
            is_result = literal == "false"
            message = f"{with_parameters(problem, passed(problem))}, but {quoted(names[0])}, "
            message += "the result" if is_result else "an argument"
            yield order_finding(problem, message, f"pass {quoted(str(is_result).lower())}", with_opposite(problem))
        elif kind is MismatchKind.OTHER_PROPERTY:
            message = with_parameters(problem, passed(problem), quoted(names[0]))
            yield order_finding(problem, message, "pass the properties of one tensor")
        elif kind is MismatchKind.OTHER_OWNER:
            message = f"{with_parameters(problem, passed(problem))}, in the formula for {quoted(names[1])}"
            yield order_finding(problem, message, f"pass the property of {quoted(names[1])}")
        elif kind is MismatchKind.SIZES_AND_STRIDES:
            message = f"{with_parameters(problem, passed(problem))}, which are {names[0]}"
            yield order_finding(problem, message, f"pass the {names[1]}")
        elif kind is MismatchKind.NOT_DISCRETE:
            message = f"{with_parameters(problem, quoted(names[0]))}, and {quoted(names[1])} holds integers or a mask"
            yield order_finding(problem, message, "pass the output that holds the indices")
