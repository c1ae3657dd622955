"""A backward formula uses a list of tensors that the operator returns.

## What it detects
A backward formula that uses an output of type ``Tensor[]``, where the operator is not a foreach operator.

## Why it is bad
The generated node cannot save such an output. PyTorch's generator fails with an assertion.

## Example
    - name: unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]
      self: f(grads, result)

## Instead
    - name: unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]
      self: split_backward(grads, split_size, dim, self.sym_sizes(), self.options())

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``save_variables``; gen_autograd_functions.py, ``process_function``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula

META = RuleMeta(severity=Severity.ERROR, group="saving", checks=("G10", "F1"))

VALID = (
    """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
""",
)

INVALID = (
    Invalid(
        at="2:18-24",
        message='"result" cannot be saved: "unsafe_split.Tensor" returns it as a list of tensors',
        help="compute it from the arguments instead",
    ),
    Invalid(
        """\
- name: unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
  self: unbind_backward(grads, result.size())
""",
        at="2:32-38",
        message='"result" cannot be saved: "unbind.int" returns it as a list of tensors',
        also=("illegal-operand-shapes",),
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the outputs that one backward formula saves."""
    derivative, function = formula.derivative, formula.entry.function
    if derivative is None or function is None or function.canonical.name.is_foreach:
        return
    for saved in derivative.saved_outputs:
        if saved.is_tensor_vector and saved.word is not None:
            yield Finding(
                formula.span_of(saved.word),
                f'{quoted(saved.name)} cannot be saved: "{formula.entry.operator}" returns it as a list of tensors',
                help="compute it from the arguments instead",
            )
