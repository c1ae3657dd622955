"""The names in a key are in a different order than the values of its formula.

## What it detects
A key with several names where two names of the same kind are the other way round everywhere else their order is given:
the schema, and every call in the formula that takes both. If one of them agrees with the key, nothing is reported.
Where exchanging two names does not fix the key, the finding has medium confidence, since the helper may use an order of
its own.

## Why it is bad
The formula returns a tuple that is taken apart by position. In a different order, an argument receives the gradient of
another: if the shapes agree the error is silent, otherwise backward fails with a shape mismatch.

## Example
    - name: atan2(Tensor self, Tensor other) -> Tensor
      other, self: atan2_backward(grad, self, other, grad_input_mask)

## Instead
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, other: atan2_backward(grad, self, other, grad_input_mask)

## Fix safety
The fix is unsafe: a helper may return its gradients in an order of its own.

## What it cannot see
What a helper returns is not read: the rule assumes the order of their arguments or of the schema, which is nearly
always right. Where the two differ ("batchnorm_double_backward"), an order that agrees with
either is accepted. Lists of tensors are only compared with lists, since C++ distinguishes them from tensors.

## Sources
torchgen/packaged/autograd/gen_autograd_functions.py, ``emit_derivative``; FunctionsManual.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.calls.key_order import reordered_key
from derivlint.lint import (
    AnalysisDepth,
    Confidence,
    Finding,
    Fix,
    Invalid,
    RuleMeta,
    Severity,
    SupersededBy,
    TextEdit,
    Within,
)
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula

META = RuleMeta(
    severity=Severity.WARNING,
    group="keys",
    yields_to=(
        UNREAD,
        SupersededBy(
            ("argument-in-two-keys", "repeated-name-in-key", "wrong-result-type"),
            "the key has a name too many",
            Within.FORMULA,
        ),
        SupersededBy(("conflicting-non-differentiable",), "the key has a name too many", Within.ENTRY),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    # the order of the call, not of the schema
    """\
- name: cudnn_batch_norm_backward(Tensor input, Tensor grad_output, Tensor weight, Tensor? running_mean, \
Tensor? running_var, Tensor? save_mean, Tensor? save_var, float epsilon, Tensor reserveSpace) \
-> (Tensor, Tensor, Tensor)
  input, weight, grad_output: batchnorm_double_backward(input, weight, grads[0], grads[1], grads[2], grad_output, \
running_mean, running_var, true, epsilon, save_mean, save_var, grad_input_mask)
""",
    # a list of tensors is distinguished from tensors by its type
    """\
- name: _cudnn_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor? weight_buf, Tensor hx, Tensor? cx, \
int mode, SymInt hidden_size, SymInt proj_size, int num_layers, bool batch_first, float dropout, bool train, \
bool bidirectional, SymInt[] batch_sizes, Tensor? dropout_state) -> (Tensor, Tensor, Tensor, Tensor, Tensor)
  input, hx, cx, weight: "_cudnn_rnn_backward_symint(input, weight, weight_stride0, result4, hx, cx, result0, \
grads[0], grads[1], grads[2], mode, hidden_size, proj_size, num_layers, batch_first, dropout, train, bidirectional, \
batch_sizes, dropout_state, retain_variables ? result3.clone() : result3, grad_input_mask)"
""",
)

INVALID = (
    Invalid(
        at="2:3-14",
        message=('"other" comes before "self", but the schema and "atan2_backward" have them the other way round'),
        help='write "self, other"',
        fixed="  self, other: atan2_backward(grad, self, other, grad_input_mask)",
    ),
    # the call takes "A" only
    Invalid(
        """\
- name: _linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) \
-> (Tensor result, Tensor LU, Tensor pivots, Tensor info)
  B, A: linalg_solve_backward(grad, result, A, LU, pivots, left, grad_input_mask[1])
  output_differentiability: [True, False, False, False]
""",
        at="2:3-7",
        message='"B" comes before "A", but the schema has them the other way round',
        help='write "A, B"',
        fixed="  A, B: linalg_solve_backward(grad, result, A, LU, pivots, left, grad_input_mask[1])",
    ),
    # the call and the schema disagree about "weight" and "grad_output", but not about "weight" and "input"
    Invalid(
        """\
- name: cudnn_batch_norm_backward(Tensor input, Tensor grad_output, Tensor weight, Tensor? running_mean, \
Tensor? running_var, Tensor? save_mean, Tensor? save_var, float epsilon, Tensor reserveSpace) \
-> (Tensor, Tensor, Tensor)
  weight, input, grad_output: batchnorm_double_backward(input, weight, grads[0], grads[1], grads[2], grad_output, \
running_mean, running_var, true, epsilon, save_mean, save_var, grad_input_mask)
""",
        at="2:3-29",
        message=(
            '"weight" comes before "input", but the schema and "batchnorm_double_backward" have them the '
            "other way round"
        ),
        help="write the names in the order of the values that the formula returns",
    ),
    # outputs
    Invalid(
        """\
- name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
  A: linalg_qr_backward(grad_Q, grad_R, Q, R, mode)
  R, Q: linalg_qr_jvp(A_t, Q, R, mode)
""",
        at="3:3-7",
        message='"R" comes before "Q", but the schema and "linalg_qr_jvp" have them the other way round',
        help='write "Q, R"',
        fixed="  Q, R: linalg_qr_jvp(A_t, Q, R, mode)",
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the order of the names in a key."""
    order = reordered_key(formula) if len(formula.names) > 1 else None
    if order is None:
        return
    source = "the schema has them"
    if order.call is not None:
        source = f"the schema and {quoted(order.call.callee)} have them"
    fix, cure = None, "write the names in the order of the values that the formula returns"
    text = formula.key_written_with(order.right) if order.right is not None else None
    if text is not None and order.right is not None:
        cure = f"write {quoted(', '.join(order.right))}"
        fix = Fix("reorder the names", (TextEdit(formula.key_span, text),), safe=False)
    yield Finding(
        formula.key_span,
        f"{quoted(order.first)} comes before {quoted(order.second)}, but {source} the other way round",
        help=cure,
        fix=fix,
        confidence=None if order.is_exchange else Confidence.MEDIUM,
    )
