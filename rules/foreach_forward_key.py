"""The forward key of a foreach operator's reference is not result.

## What it detects
A forward formula for an output with a name of its own, such as ``values``, in an entry from which the formulas of a
foreach operator are made.

## Why it is bad
PyTorch derives the forward formula of ``_foreach_abs`` from that of ``abs`` and sets the tangents of ``result``. Its
generator fails with an assertion if the output has another name.

## Example
    - name: twist(Tensor self) -> Tensor twisted
      self: grad * 2
      twisted: self_t * 2

## Instead
Leave the name of the output out of the schema in native_functions.yaml, or give the foreach operator an entry of its
own.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``emit_fw_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, How, Model, NameKind, Role
from derivlint.model.keys import RESULT

META = RuleMeta(severity=Severity.ERROR, group="foreach", checks=("G14",))

NATIVES = """\
- func: twist(Tensor self) -> Tensor twisted
  dispatch:
    CPU: twist
- func: _foreach_twist(Tensor[] self) -> Tensor[]
  dispatch:
    CPU: _foreach_twist
- func: turn(Tensor self, Scalar angle) -> Tensor turned
  dispatch:
    CPU: turn
- func: _foreach_turn.ScalarList(Tensor[] self, Scalar[] angle) -> Tensor[]
  dispatch:
    CPU: _foreach_turn
"""

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  result: self_t * self_p.sgn()
""",
    # cummax has no foreach variant
    """\
- name: cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: cummaxmin_backward(grad, self, indices, dim)
  values: self_t.gather(dim, indices)
""",
)

INVALID = (
    Invalid(
        at="3:3-10",
        message='"_foreach_twist" shares this formula and has no output "twisted", only "result"',
        help='give "_foreach_twist" an entry of its own',
        natives=NATIVES,
    ),
    Invalid(
        """\
- name: turn(Tensor self, Scalar angle) -> Tensor turned
  self: grad * angle
  turned: auto_linear
""",
        at="3:3-9",
        message='"_foreach_turn.ScalarList" shares this formula and has no output "turned", only "result"',
        help='give "_foreach_turn.ScalarList" an entry of its own',
        natives=NATIVES,
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the forward keys of reference entries of foreach operators, one finding per entry."""
    # fast path: nearly every entry names its only output "result"
    if not any(formula.role is Role.FORWARD and formula.names[0].text != RESULT for formula in entry.formulas):
        return
    for kernel in model.differentiabilities(entry):
        if kernel.match.how is not How.FOREACH_GENERATED or not (kernel.is_generated and kernel.requires_derivative):
            continue
        for forward in kernel.forwards:
            formula = forward.written
            if formula is None or not formula.resolved_names or forward.var_names[0] == RESULT:
                continue
            key, resolved = formula.resolved_names[0]
            # another rule reports wrong output names
            if resolved.kind is not NameKind.OUTPUT:
                continue
            foreach = quoted(str(kernel.function.name))
            yield Finding(
                formula.name_span(key),
                f'{foreach} shares this formula and has no output {quoted(key.text)}, only "{RESULT}"',
                help=f"give {foreach} an entry of its own",
                at=formula,
            )
            return
