"""A key next to ``dispatch`` is ignored.

## What it detects
Keys of an entry with ``dispatch``, other than ``name`` and ``output_differentiability``.

## Why it is bad
In an entry with ``dispatch``, formulas belong below the dispatch keys. PyTorch's generator does not read any others, so
the gradient is silently missing.

## Example
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
      dispatch:
        AutogradNestedTensor:
          self: grad * self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      dispatch:
        Default:
          self: grad * self.sgn()
        AutogradNestedTensor:
          self: grad * self.sgn()

## Fix safety
Replacing a misspelt key is unsafe: PyTorch has ignored the formula so far, and would then use it.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``load_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, Related, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.wording import closest, quoted_list
from derivlint.model import Entry
from derivlint.model.entry_syntax import FormProblemKind
from derivlint.model.keys import OUTPUT_DIFFERENTIABILITY
from derivlint.yaml_reader import Mapping

META = RuleMeta(severity=Severity.ERROR, group="dispatch", checks=("X1",))

VALID = (
    """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  dispatch:
    Default:
      self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
)

INVALID = (
    Invalid(
        at="2:3-7",
        message='"self" next to "dispatch" is ignored',
        help='move it below a dispatch key such as "Default"',
    ),
    Invalid(
        """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
  dispatch:
    Default:
      self: mul_tensor_backward(grad, other, self.scalar_type())
""",
        at="2:3-7",
        message='"self" and "other" next to "dispatch" are ignored',
        help='move them below a dispatch key such as "Default"',
    ),
    Invalid(
        """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_diferentiability: [True, False]
  dispatch:
    Default:
      self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
        at="2:3-26",
        message='"output_diferentiability" next to "dispatch" is ignored',
        help='did you mean "output_differentiability"?',
        fixed="  output_differentiability: [True, False]",
    ),
)


@judges(Entry)
def check(entry: Entry) -> Iterator[Finding]:
    """Find the keys of an entry beside ``dispatch``; one finding for all."""
    # too little indentation below "dispatch" or a dispatch key puts a key next to it
    if not entry.beside_dispatch or not isinstance(entry.dispatch, Mapping):
        return
    if any(problem.kind is FormProblemKind.DISPATCH_BODY_TYPE for problem in entry.problems):
        return
    (first, value), *later = entry.beside_dispatch
    keys = [key.value for key, _ in entry.beside_dispatch]
    it, are = ("it", "is") if not later else ("them", "are")
    guess = closest(first.value, (OUTPUT_DIFFERENTIABILITY,))
    help_text = f'move {it} below a dispatch key such as "Default"'
    if guess is not None:
        help_text = f'did you mean "{guess}"?'
    elif isinstance(value, Mapping):
        help_text = f'indent {it} further, below "dispatch"'
    related = tuple(Related("ignored as well", entry.place(key)) for key, _ in later)
    fix = (
        Fix(f'replace it by "{guess}"', (TextEdit(entry.place(first), guess),), safe=False)
        if guess is not None
        else None
    )
    message = f'{quoted_list(keys)} next to "dispatch" {are} ignored'
    yield Finding(entry.place(first), message, help=help_text, related=related, fix=fix)
