"""An ``out`` variant has no functional or in-place variant that its entry could apply to.

## What it detects
An entry for an ``out`` variant whose functional or in-place variant does not exist or has another name.

## Why it is bad
An entry never applies to the ``out`` variant itself: PyTorch's generator looks for the function with the same name and
signature, and fails with an assertion if there is none.

## Example
    - name: adaptive_avg_pool3d_backward.grad_input(Tensor grad_output, Tensor self, *, ...) -> Tensor(a!)
      grad_output: grad

## Instead
    - name: _adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor
      grad_output: _adaptive_avg_pool3d(grad, {grad_output.size(-3), grad_output.size(-2), grad_output.size(-1)})

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``canonical_function``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model, SchemaProblemKind

META = RuleMeta(severity=Severity.ERROR, group="schema", checks=("L3",))

VALID = (
    """\
- name: _adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor
  grad_output: _adaptive_avg_pool3d(grad, grad_output.sym_sizes())
""",
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
""",
)

INVALID = (
    Invalid(
        """\
- name: adaptive_avg_pool3d_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)
  grad_output: grad
""",
        at="1:9-48",
        message='no function called "adaptive_avg_pool3d_backward" has the signature of this out variant',
        help='write the entry for "_adaptive_avg_pool3d_backward"',
    ),
    Invalid(
        """\
- name: _slow_conv2d_backward.grad_input(Tensor grad_output, Tensor self, Tensor weight, SymInt[2] kernel_size, \
SymInt[2] stride, SymInt[2] padding, *, Tensor(a!) grad_input, Tensor(b!) grad_weight, Tensor(c!) grad_bias) -> \
(Tensor(a!), Tensor(b!), Tensor(c!))
  grad_output: grad
""",
        at="1:9-41",
        message='no function called "_slow_conv2d_backward" has the signature of this out variant',
        help='write the entry for "_slow_conv2d_backward.output_mask"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find schemas without a function that entries could apply to."""
    problem = entry.schema_problem
    if problem is None or problem.kind is not SchemaProblemKind.NO_CANONICAL or problem.declared is None:
        return
    name = problem.declared.name
    message = f"no function called {quoted(name.name_without_overload)} has the signature of this out variant"
    base = name.base
    near = [
        function
        for candidate in (base, f"_{base}", base.lstrip("_"))
        for function in model.natives.with_base(candidate)
        if not function.schema.is_out and not function.generated
    ]
    help_text = "entries are about functional or in-place functions"
    if near:
        help_text = f"write the entry for {quoted(str(near[0].name))}"
    yield Finding(entry.name_span, message, help=help_text, at=entry)
