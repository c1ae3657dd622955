"""A differentiable view has an argument or an output that is not supported for views.

## What it detects
An entry that makes a view differentiable which takes an argument of a type that cannot be kept for replaying the view
(anything but integers, booleans, lists of integers and tensors), or which has more than one differentiable output.

## Why it is bad
After an in-place change of its base, autograd replays a view with its original arguments. PyTorch's generator writes a
function that stores them by value, and rejects types that it does not support and views with several differentiable
outputs.

## Example
    - name: view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
      self: grad.view(self.scalar_type())

## Instead
    - name: view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
      output_differentiability: [False]

## Sources
torchgen/packaged/autograd/gen_inplace_or_view_type.py, ``emit_view_func`` and ``emit_view_body``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Differentiability, Entry, Model
from derivlint.model.differentiable import fits_view_function
from derivlint.model.keys import DEFAULT

META = RuleMeta(
    severity=Severity.ERROR,
    group="views",
    checks=("V1", "V2"),
    yields_to=(SupersededBy(("undefined-name",), "which outputs are differentiable is not known", Within.ENTRY),),
)

NATIVES = """\
- func: select.pair(Tensor(a) self, int dim) -> (Tensor(a), Tensor)
  dispatch:
    CPU: select_pair
"""

VALID = (
    """\
- name: expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
  self: at::sum_to(grad, self.sym_sizes())
  result: auto_linear
""",
)

INVALID = (
    Invalid(
        at="1:9-19",
        message='"view.dtype" is a view, and its argument "dtype" is of type "ScalarType", which no view can replay',
        help='a differentiable view takes "int", "SymInt", "bool", lists of "int" or "SymInt", and "Tensor"',
    ),
    Invalid(
        """\
- name: select.pair(Tensor(a) self, int dim) -> (Tensor(a), Tensor)
  self: select_pair_backward(grads[0], grads[1], self.sym_sizes(), dim)
""",
        at="1:9-20",
        message='"select.pair" is a view with 2 differentiable outputs; a view can have one',
        help="write False for the others in output_differentiability",
        natives=NATIVES,
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the first view of each entry that the generator rejects."""
    if not model.layout.cpp or not all(body.is_resolved for body in entry.bodies):
        return
    for differentiability in model.differentiabilities(entry):
        # only the default formulas are generated for views
        if differentiability.key == DEFAULT and differentiability.is_generated:
            finding = _judge(entry, differentiability)
            if finding is not None:
                yield finding
                break


def _judge(entry: Entry, differentiability: Differentiability) -> Finding | None:
    function = differentiability.function
    indices = differentiability.output_indices
    if not indices or not differentiability.match.book.is_view(function):
        return None
    if len(indices) > 1:
        return Finding(
            entry.name_span,
            f'"{function.name}" is a view with {len(indices)} differentiable outputs; a view can have one',
            help="write False for the others in output_differentiability",
            at=entry,
        )
    for argument in function.schema.arguments.flat_non_out:
        if argument.name != "self" and not fits_view_function(argument.type):
            return Finding(
                entry.name_span,
                f'"{function.name}" is a view, and its argument {quoted(argument.name)} is of type '
                f'"{argument.type}", which no view can replay',
                help='a differentiable view takes "int", "SymInt", "bool", lists of "int" or "SymInt", and "Tensor"',
                at=entry,
            )
    return None
