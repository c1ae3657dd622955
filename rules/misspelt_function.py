"""A function or method is called by a name that is one slip away from a declared one.

## What it detects

A call of a function or method that no operator, no helper of FunctionsManual.h and no C++ class of PyTorch declares,
while a declared name differs from it by one letter: a letter too many, too few or another one, or two swapped.

## Why it is bad

PyTorch's generator copies calls without a look at them, so that only the C++ compiler finds the slip, after a rebuild.

## Example

    - name: exp(Tensor self) -> Tensor
      self: grad * result.conjj()

## Instead

    - name: exp(Tensor self) -> Tensor
      self: grad * result.conj()

## Fix safety

The fix is unsafe: a function of that name could be declared in a header that derivlint does not know.

## Sources

torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBase.h; native_functions.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.model import Model
from derivlint.model.callees import misspelt_callees

META = RuleMeta(severity=Severity.ERROR, checks=("X2",))

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  result: handle_r_to_c(result.scalar_type(), self_t.conj() * self_p.sgn())
""",
    # a name that is merely unknown may be declared in a header of one's own
    """\
- name: neg(Tensor self) -> Tensor
  self: my_backend_neg_backward(grad, self).my_method()
""",
)

INVALID = (
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conjj()
""",
        at="2:23-28",
        message='no method "conjj" is declared',
        help='did you mean "conj"?',
        fixed="""\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
""",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_bakward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
  mat2: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), 1)
""",
        at="2:9-24",
        message='no function "mm_mat1_bakward" is declared',
        help='did you mean "mm_mat1_backward"?',
        fixed="""\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
  mat2: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), 1)
""",
    ),
)


def check(model: Model) -> Iterator[Finding]:
    """Judge the calls of every formula."""
    for body in model.bodies():
        for line in body.lines:
            for callee in misspelt_callees(line, model.natives):
                where = line.span_of(callee.word)
                fix = None
                if line.is_exact():
                    fix = Fix(f'replace it by "{callee.meant}"', (TextEdit(where, callee.meant),), safe=False)
                kind = "method" if callee.is_method else "function"
                yield Finding(
                    where,
                    f'no {kind} "{callee.word.text}" is declared',
                    help=f'did you mean "{callee.meant}"?',
                    fix=fix,
                    at=line,
                )
