"""The forward formulas do not cover exactly the differentiable outputs.

## What it detects
An entry with forward formulas for some of its differentiable outputs only, or with one for an output that is not
differentiable: switched off by ``output_differentiability``, or not the first one while a backward formula uses
``grad``, which makes the first output the only differentiable one.

## Why it is bad
Forward mode is all or nothing. PyTorch's generator counts names and outputs and rejects the entry if the numbers
differ; if they happen to agree, it sets tangents on the wrong output.

## Example
    - name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
      A: linalg_qr_backward(grad_Q, grad_R, Q, R, mode)
      Q: std::get<0>(linalg_qr_jvp(A_t, Q, R, mode))

## Instead
    - name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
      A: linalg_qr_backward(grad_Q, grad_R, Q, R, mode)
      Q, R: linalg_qr_jvp(A_t, Q, R, mode)

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``emit_body``; torchgen/api/autograd.py,
``gen_differentiable_outputs``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import OUTPUT_OF_INTEGERS
from derivlint.lint.judging import judges
from derivlint.lint.wording import counted, quoted, quoted_list
from derivlint.model import Differentiability, DispatchBody, Entry, EntryFunction, Model, NameKind, Role
from derivlint.model.generated.gradients import body_gradients, counted_gradients
from derivlint.model.keys import RESULT
from derivlint.model.scope import undeclared_names

META = RuleMeta(
    severity=Severity.ERROR,
    group="keys",
    checks=("G4", "X4"),
    yields_to=(
        SupersededBy(("undeclared-tangent",), "the argument's formula is missing", Within.ENTRY),
        OUTPUT_OF_INTEGERS,
    ),
)

VALID = (
    """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
  result0: std_backward(result0, self_p, result0, dim, correction, keepdim) * self_t
  result1: mean(self_t, dim.value_or(IntArrayRef({})), keepdim)
""",
    """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
  values: gather_with_keepdimed_indices(self_t, dim, indices, keepdim)
""",
    # having no forward formula is fine
    """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
""",
)

INVALID = (
    Invalid(
        at="3:3-4",
        message='"linalg_qr" has no forward formula for its differentiable output "R"',
        help="give all differentiable outputs a forward formula, or none of them",
    ),
    Invalid(
        """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
  indices: gather_with_keepdimed_indices(self_t, dim, indices, keepdim)
""",
        at="4:3-10",
        message='"indices" is not differentiable: output_differentiability is False for it',
    ),
    # a mistake in a backward formula makes two forward formulas superfluous
    Invalid(
        """\
- name: native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, \
float eps) -> (Tensor, Tensor, Tensor)
  input: group_norm_backward(grad, input, result1, result2, weight, N, C, HxW, group)
  result0: group_norm_jvp(input_p, input_t, weight.value(), Tensor(), bias.value(), Tensor(), result1, result2, group)
  result1: group_norm_mean_jvp(input_t, result1, group)
  result2: group_norm_invstd_jvp(input_p, input_t, result1, result2, group)
""",
        at="4:3-10",
        message='"result1" and "result2" are not differentiable: a backward formula uses "grad", the gradient of '
        '"result0" only',
    ),
    Invalid(
        """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_backward(result0, grad, self, dim, correction, keepdim)
  result0: std_backward(result0, self_p, result0, dim, correction, keepdim) * self_t
  result1: mean(self_t, dim.value_or(IntArrayRef({})), keepdim)
""",
        at="4:3-10",
        message='"result1" is not differentiable: a backward formula uses "grad", the gradient of "result0" only',
        help='use "grads[i]" in the backward formulas, or remove this formula',
        also=("mismatched-argument",),
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Compare the forward keys of each entry and dispatch key with the differentiable outputs."""
    for body in entry.bodies:
        if body.with_role(Role.FORWARD) and _is_clear(body):
            findings = list(_judge(model, body)) or list(_judge_variants(model, body))
            if findings and _gradients_agree(model, body):
                yield from findings


def _is_clear(body: DispatchBody) -> bool:
    """Whether the forward keys name each output once, so that no other rule reports them."""
    formulas = body.with_role(Role.FORWARD)
    resolved = [name for formula in formulas for _, name in formula.resolved_names]
    proper = all(
        name.kind is NameKind.OUTPUT and name.output is not None and name.output.has_tangent for name in resolved
    )
    indices = {name.output.index for name in resolved if name.output is not None}
    once = len(indices) == len(resolved)
    if not (proper and once and body.is_resolved) or any(formula.says_non_differentiable for formula in formulas):
        return False
    # keywords only allow one output
    return len(resolved) == 1 or all(formula.auto is None for formula in formulas)


def _gradients_agree(model: Model, body: DispatchBody) -> bool:
    """Whether the backward formulas use gradients correctly; otherwise the number of outputs is unclear."""
    own = model.canonical_differentiability(body)
    if body.info is None or own is None or own.output_indices is None:
        return False
    if counted_gradients(body.info.derivatives).refusal is not None:
        return False
    number = len(own.output_indices)
    if any(use.index >= number for uses in body_gradients(body) for use in uses.indexed):
        return False
    return not any(undeclared_names(formula) for formula in body.with_role(Role.BACKWARD))


def _is_checked(differentiability: Differentiability) -> bool:
    applies = differentiability.is_generated and differentiability.requires_derivative
    return applies and not differentiability.is_inplace_foreach and bool(differentiability.forwards)


def _judge(model: Model, body: DispatchBody) -> Iterator[Finding]:
    function = body.entry.function
    own = model.canonical_differentiability(body)
    if function is None or own is None or not _is_checked(own) or own.output_indices is None:
        return
    covered = {
        resolved.output.index: (formula, name)
        for formula in body.with_role(Role.FORWARD)
        for name, resolved in formula.resolved_names
        if resolved.output is not None
    }
    superfluous = [place for index, place in covered.items() if index not in own.output_indices]
    missing = [function.output_names[index] for index in own.output_indices if index not in covered]
    if superfluous:
        names = [name.text for _, name in superfluous]
        reason, help_text = _reason(own, function, "it" if len(names) == 1 else "them")
        formula, first = superfluous[0]
        yield Finding(
            formula.name_span(first),
            f"{quoted_list(names)} {'is' if len(names) == 1 else 'are'} not differentiable: {reason}",
            help=help_text,
            related=_declaration(body),
            at=formula,
            rests_on=(body.entry.operator or "",),
        )
    elif missing:
        yield Finding(
            body.with_role(Role.FORWARD)[0].key_span,
            f'"{body.entry.operator}" has no forward formula for its differentiable '
            f"{'output' if len(missing) == 1 else 'outputs'} {quoted_list(missing)}",
            help="give all differentiable outputs a forward formula, or none of them",
            related=_declaration(body),
            at=body,
            rests_on=(body.entry.operator or "",),
        )


def _reason(own: Differentiability, function: EntryFunction, them: str) -> tuple[str, str]:
    if own.info.output_differentiability is not None:
        return f"output_differentiability is False for {them}", "remove the formula, or write True there"
    first = function.output_names[own.output_indices[0]] if own.output_indices else RESULT
    return (
        f'a backward formula uses "grad", the gradient of {quoted(first)} only',
        'use "grads[i]" in the backward formulas, or remove this formula',
    )


def _declaration(body: DispatchBody) -> tuple[Related, ...]:
    declared = body.entry.output_differentiability
    if declared is None:
        return ()
    return (Related("the differentiable outputs are declared here", body.entry.place(declared.node)),)


def _judge_variants(model: Model, body: DispatchBody) -> Iterator[Finding]:
    for variant in model.differentiabilities_of(body):
        if not _is_checked(variant) or variant.output_indices is None:
            continue
        covered = sum(len(forward.var_names) for forward in variant.forwards)
        if covered != len(variant.output_indices):
            first = body.with_role(Role.FORWARD)[0]
            yield Finding(
                first.key_span,
                f'"{variant.function.name}", which the formulas also serve, has '
                f"{counted(len(variant.output_indices), 'differentiable output')}, not {covered}",
                help="give all differentiable outputs a forward formula, or none of them",
                at=body,
            )
            return
