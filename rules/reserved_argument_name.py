"""An operator has an argument whose name means something else in formulas.

## What it detects
An entry for an operator with an argument called ``grad_input_mask`` or ``result``. An argument called ``grad``,
``grads``, ``grad_<output>``, ``result<i>`` or ``retain_variables`` that a backward formula names, and one called like
the primal or tangent of another argument (``self_p``, ``self_t``) that a forward formula names.

## Why it is bad
In formulas these names are the mask of needed gradients, the incoming gradients, the outputs, the primals and the
tangents. PyTorch's generator rejects an argument ``grad_input_mask`` or ``result``; the code that it generates for the
others declares the name twice, or takes the tangent for the argument.

## Example
    - name: scale_grad(Tensor grad, Tensor self) -> Tensor
      self: grad * self

## Instead
Name the argument otherwise in native_functions.yaml, such as ``grad_output`` or ``output_mask``:

    - name: scale_grad(Tensor grad_output, Tensor self) -> Tensor
      grad_output: grad * self
      self: grad * grad_output

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info``; gen_autograd_functions.py,
``process_function``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Entry, Role
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRAD, GRADS, NAMED_PREFIX
from derivlint.model.keys import RESULT
from derivlint.model.resolve import EntryFunction, generic_output_index
from derivlint.model.scope import RETAIN_VARIABLES, variables

META = RuleMeta(severity=Severity.ERROR, group="schema", checks=("L4", "L5"))

#: The names that torchgen rejects for any argument.
REJECTED = {"grad_input_mask": "the mask of gradients", RESULT: "the output"}

NATIVES = """\
- func: scaled_backward(Tensor grad_output, Tensor self, bool[2] grad_input_mask) -> (Tensor, Tensor)
  dispatch:
    CPU: scaled_backward
- func: refine(Tensor self, Tensor result) -> Tensor
  dispatch:
    CPU: refine
- func: scale_grad(Tensor grad, Tensor self) -> Tensor
  dispatch:
    CPU: scale_grad
- func: scale_tangent(Tensor self, Tensor self_t) -> Tensor
  dispatch:
    CPU: scale_tangent
"""

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
""",
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
""",
    # no formula names the argument
    """\
- name: _pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor
  grad: not_implemented("_pdist_backward")
  self: not_implemented("_pdist_backward")
  pdist: not_implemented("_pdist_backward")
""",
)

INVALID = (
    Invalid(
        """\
- name: scaled_backward(Tensor grad_output, Tensor self, bool[2] grad_input_mask) -> (Tensor, Tensor)
  grad_output, self: scaled_double_backward(grads[0], grads[1], self)
""",
        at="1:66-81",
        message='"scaled_backward" has an argument "grad_input_mask", which is the mask of gradients in formulas',
        help="give the argument another name in native_functions.yaml",
        natives=NATIVES,
    ),
    Invalid(
        """\
- name: refine(Tensor self, Tensor result) -> Tensor
  self: refine_backward(grad, self)
""",
        at="1:36-42",
        message='"refine" has an argument "result", which is the output in formulas',
        help="give the argument another name in native_functions.yaml",
        natives=NATIVES,
    ),
    Invalid(
        at="1:27-31",
        message='"scale_grad" has an argument "grad", which is the gradient of the output in formulas',
        help="give the argument another name in native_functions.yaml",
        natives=NATIVES,
    ),
    Invalid(
        """\
- name: scale_tangent(Tensor self, Tensor self_t) -> Tensor
  self: grad * self_t
  self_t: grad * self
  result: self_t * self_p
""",
        at="1:43-49",
        message='"scale_tangent" has an argument "self_t", which is the tangent of "self" in formulas',
        help="give the argument another name in native_functions.yaml",
        natives=NATIVES,
    ),
)


@judges(Entry)
def check(entry: Entry) -> Iterator[Finding]:
    """Find arguments with reserved names."""
    if entry.function is None or entry.name is None:
        return
    declared = entry.function.declared.schema
    for name, meaning in _shadowed(entry, entry.function):
        where = entry.name_span
        argument = declared.arguments.by_name(name)
        if argument is not None and argument.name_span is not None and declared.text == entry.name.value:
            where = entry.place_in(entry.name, *argument.name_span)
        message = f'"{entry.operator}" has an argument "{name}", which is {meaning} in formulas'
        yield Finding(where, message, help="give the argument another name in native_functions.yaml")
        return


def _shadowed(entry: Entry, function: EntryFunction) -> Iterator[tuple[str, str]]:
    """Yield the arguments that formulas cannot access, with the meaning of their names in formulas."""
    names = [argument.name for argument in function.schema.arguments.flat_all]
    for name in names:
        if name in REJECTED:
            yield name, REJECTED[name]
    for body in entry.bodies:
        for formula in body.formulas:
            meanings = _meanings(formula, function)
            for word in variables(formula.parsed):
                if word.text in names and word.text in meanings:
                    yield word.text, meanings[word.text]


def _meanings(formula: DerivativeFormula, function: EntryFunction) -> dict[str, str]:
    """Return the names in scope of a formula, without arguments."""
    outputs = {output.name: "an output" for output in function.outputs if generic_output_index(output.name) is not None}
    info = formula.body.info
    if info is None:
        return outputs
    if formula.role is Role.BACKWARD:
        named = info.available_named_gradients
        return {
            **outputs,
            **{name: f"the gradient of {quoted(name.removeprefix(NAMED_PREFIX))}" for name in named},
            GRAD: "the gradient of the output",
            GRADS: "the list of the gradients of the outputs",
            RETAIN_VARIABLES: "a flag of the generated node",
        }
    if formula.role is not Role.FORWARD:
        return outputs
    inputs = [binding.name for binding in info.args_with_derivatives]
    return {
        **outputs,
        **{name + TANGENT: f"the tangent of {quoted(name)}" for name in inputs},
        **{name + PRIMAL: f"the value of {quoted(name)}" for name in inputs},
    }
