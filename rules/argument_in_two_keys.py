"""An argument has two backward formulas, or an output two forward formulas.

## What it detects
An argument that occurs in two backward keys under one dispatch key, or an output in two forward keys.

## Why it is bad
Only one gradient can flow to an argument. PyTorch's generator emits both formulas, and the result of the second
overwrites that of the first.

## Example
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self, other: mul_backward(grad, self, other)
      other: grad * self

## Instead
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: grad * other
      other: grad * self

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``set_up_derivatives``; gen_autograd_functions.py, ``process_function``.
Neither looks for repetitions.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DerivativeFormula, DispatchBody, KeyName, NameKind, Role

META = RuleMeta(
    severity=Severity.ERROR,
    group="keys",
    checks=("X4",),
    yields_to=(
        SupersededBy(
            ("duplicate-yaml-key",), "the formulas of another entry may follow without its name", Within.ENTRY
        ),
    ),
)

VALID = (
    # one formula per dispatch key
    """\
- name: exp2(Tensor self) -> Tensor
  dispatch:
    Default:
      self: grad * result.conj() * M_LN2
    AutogradNestedTensor:
      self: grad * result.conj() * M_LN2
""",
)

INVALID = (
    Invalid(
        at="3:3-8",
        message='"other" already has a formula under the key "self, other"',
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self: grad * other / (self * self + other * other)
  other: grad * -self / (self * self + other * other)
  other, self: atan2_backward(grad, self, other, grad_input_mask)
""",
        at="4:3-8",
        message='"other" and "self" already have formulas under other keys',
    ),
    Invalid(
        """\
- name: linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)
  self: handle_r_to_c(self.scalar_type(), linalg_eig_backward(grads[0], grads[1], eigenvalues, eigenvectors, false))
  eigenvalues, eigenvectors: linalg_eig_jvp(self_t, eigenvalues, eigenvectors, false)
  eigenvectors: linalg_eig_jvp(self_t, eigenvalues, eigenvectors, true)
""",
        at="4:3-15",
        message='"eigenvectors" already has a formula under the key "eigenvalues, eigenvectors"',
    ),
)


@judges(DispatchBody)
def check(body: DispatchBody) -> Iterator[Finding]:
    """Find the keys with a name that an earlier key has; each key once."""
    first: dict[str, DerivativeFormula] = {}
    for formula in body.formulas:
        names = _own_names(formula)
        repeated = [text for text in names if text in first]
        if repeated:
            message = f"{quoted_list(repeated)} already have formulas under other keys"
            if len(repeated) == 1:
                key = quoted(first[repeated[0]].key_text)
                message = f"{quoted(repeated[0])} already has a formula under the key {key}"
            yield Finding(
                formula.name_span(names[repeated[0]]),
                message,
                help="keep one formula for each",
                related=tuple(
                    Related(f"the first formula for {quoted(text)}", first[text].key_span) for text in repeated
                ),
                at=formula,
            )
        for text in names:
            first.setdefault(text, formula)


def _own_names(formula: DerivativeFormula) -> dict[str, KeyName]:
    """Return the names whose derivative the key computes: tensor arguments, or outputs."""
    if formula.role is Role.BACKWARD:
        return {
            name.text: name
            for name, resolved in formula.resolved_names
            if resolved.argument is not None and resolved.argument.is_tensor_like and resolved.output is None
        }
    if formula.role is Role.FORWARD:
        return {name.text: name for name, resolved in formula.resolved_names if resolved.kind is NameKind.OUTPUT}
    return {}
