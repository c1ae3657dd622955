"""A formula that serves an in-place operator uses an output under another name than result.

## What it detects
A backward formula that uses a tensor output by its own name, where the formula also serves the in-place variant of the
operator.

## Why it is bad
An in-place operator returns ``self``, which is ``result`` in formulas. PyTorch's generator fails with an assertion if
the in-place variant would save an output under another name.

## Example
    - name: scale_shift(Tensor self) -> Tensor out
      self: grad * out

## Instead
Compute what the formula needs from the arguments.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``save_variables``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.model.keys import RESULT

META = RuleMeta(severity=Severity.ERROR, group="saving", checks=("G13",))

VALID = (
    """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
""",
    # no in-place variant uses this formula
    """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
)

NATIVES = """\
- func: scale_shift(Tensor self) -> Tensor out
  variants: function
  dispatch:
    CPU: scale_shift

- func: scale_shift_(Tensor(a!) self) -> Tensor(a!)
  variants: function
  dispatch:
    CPU: scale_shift_
"""

INVALID = (
    Invalid(
        at="2:16-19",
        message='"out" cannot be saved: the formula also serves "scale_shift_", whose output is called "result"',
        help="compute it from the arguments instead",
        natives=NATIVES,
    ),
    Invalid(
        """\
- name: scale_shift(Tensor self) -> Tensor out
  self: f(grad, out.conj(), out.sym_sizes())
""",
        at="2:17-20",
        message='"out" cannot be saved: the formula also serves "scale_shift_", whose output is called "result"',
        natives=NATIVES,
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the outputs that formulas of in-place operators save."""
    seen = set()
    for facts in model.differentiabilities(entry):
        # other rules judge the values that foreach operators may save
        if not facts.is_inplace or facts.is_foreach or not facts.is_generated or not facts.requires_derivative:
            continue
        for derivative in facts.info.derivatives:
            formula = derivative.written
            for saved in derivative.saved_outputs:
                if formula is None or saved.word is None or not saved.is_tensor or saved.name == RESULT:
                    continue
                if (formula, saved.name) not in seen:
                    seen.add((formula, saved.name))
                    yield Finding(
                        formula.span_of(saved.word),
                        f"{quoted(saved.name)} cannot be saved: the formula also serves "
                        f'{quoted(str(facts.function.name))}, whose output is called "result"',
                        help="compute it from the arguments instead",
                        at=formula,
                    )
