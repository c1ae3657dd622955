"""grads is indexed out of range.

## What it detects
``grads[i]`` where ``i`` is not below the number of outputs of the operator, or not below the number of those that are
differentiable.

## Why it is bad
``grads`` has one gradient for each differentiable output. PyTorch's generator rejects an index beyond the operator's
outputs; an index beyond the differentiable ones compiles and is undefined behavior.

## Example
    - name: abs(Tensor self) -> Tensor
      self: grads[1] * self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Fix safety
Writing ``grad`` where the operator has one output is unsafe: the number of outputs may be what is wrong.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``used_gradient_indices``; torchgen/api/autograd.py,
``gen_differentiable_outputs``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, Related, RuleMeta, Severity, TextEdit
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.wording import counted, quoted, quoted_list
from derivlint.model import DispatchBody, Entry, Model
from derivlint.model.generated.gradients import MIXED, MIXED_NAMED, BodyGradients, gradients_of

META = RuleMeta(severity=Severity.ERROR, group="names", checks=("L17", "X3"), yields_to=(UNREAD,))

VALID = (
    """\
- name: _linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)
  A: linalg_eig_backward(grads[0], grads[1], eigenvalues, eigenvectors, /*is_hermitian=*/true)
""",
    # a list of tensors has as many gradients as tensors
    """\
- name: unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
  self: f(grads, dim, grads[3])
""",
)

INVALID = (
    Invalid(
        at="2:9-17",
        message='"grads[1]" does not exist: "abs" has 1 output',
        help='use "grad"',
        fixed="  self: grad * self.sgn()",
    ),
    Invalid(
        """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: f(grads[0], grads[1], indices)
""",
        at="3:21-29",
        message='"grads[1]" does not exist: 1 of the 2 outputs of "max.dim" is differentiable',
        help='"grads" holds the gradient of "values"',
    ),
    Invalid(
        """\
- name: frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)
  self: f(grads[0], grads[2])
""",
        at="2:21-29",
        message='"grads[2]" does not exist: "frexp.Tensor" has 2 outputs',
        help='"grads" holds the gradients of "mantissa" and "exponent"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the literal indices of every backward formula."""
    for body in entry.bodies:
        yield from _check_body(model, body)


def _check_body(model: Model, body: DispatchBody) -> Iterator[Finding]:
    function = body.entry.function
    gradients = gradients_of(body)
    # with mixed spellings, "grads" may be the mistake rather than its index
    if function is None or not gradients.indexed or gradients.conflict in (MIXED, MIXED_NAMED):
        return
    outputs = function.outputs
    if not outputs or any(output.is_tensor_list for output in outputs):
        return
    facts = model.canonical_differentiability(body)
    differentiable = None
    if facts is not None and facts.outputs is not None and not facts.uses_single_grad:
        differentiable = [outputs[index].name for index in facts.output_indices or ()]
    operator = quoted(body.entry.operator or "")
    seen: set[int] = set()
    for formula, item in gradients.indexed:
        if item.index >= len(outputs):
            why = f"{operator} has {counted(len(outputs), 'output')}"
        elif differentiable is not None and item.index >= len(differentiable):
            number = len(differentiable)
            why = (
                f"{number} of the {len(outputs)} outputs of {operator} {'is' if number == 1 else 'are'} differentiable"
            )
        else:
            continue
        if item.index in seen:
            continue
        seen.add(item.index)
        names = differentiable if differentiable is not None else [output.name for output in outputs]
        declared = body.entry.output_differentiability
        related: tuple[Related, ...] = ()
        if item.index < len(outputs) and declared is not None:
            related = (Related("declared here", body.entry.place(declared.node)),)
        yield Finding(
            formula.span_of(item.node),
            f'"grads[{item.index}]" does not exist: {why}',
            help=_help(len(outputs), names),
            fix=_fix(gradients) if len(outputs) == 1 else None,
            related=related,
            at=formula,
        )


def _fix(gradients: BodyGradients) -> Fix | None:
    """Replace every gradient of the only output by its name."""
    if not all(formula.is_exact() for formula, _ in gradients.indexed):
        return None
    edits = tuple(TextEdit(formula.span_of(item.node), "grad") for formula, item in gradients.indexed)
    return Fix('write "grad"', edits, safe=False)


def _help(n_outputs: int, names: list[str]) -> str | None:
    if n_outputs == 1:
        return 'use "grad"'
    if not names:
        return None
    return f'"grads" holds the gradient{"s" if len(names) > 1 else ""} of {quoted_list(names)}'
