"""A key names neither an argument nor an output of the operator.

## What it detects
A name in a key that is not an argument or output of the entry's operator: a misspelt name, a stray comma, a tensor
option such as ``dtype``, or ``output_differentiability`` where it is not read.

## Why it is bad
PyTorch's generator infers from the names of a key what its formula computes. It rejects an unknown first name with "No
matching output for forward derivative definition" and an unknown later one with "Missing arguments for derivatives";
with ``non_differentiable`` it accepts an unknown name, which then has no effect.

## Example
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, othr: atan2_backward(grad, self, other, grad_input_mask)

## Instead
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, other: atan2_backward(grad, self, other, grad_input_mask)

## Fix safety
The fix is safe if there is only one close name; with several, the closest is offered as an unsafe fix.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_forward_derivative``; gen_variable_type.py,
``find_args_with_derivatives``; gen_autograd_functions.py, ``process_function``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.engine.precedence import JOINED_ENTRIES
from derivlint.lint.judging import judges
from derivlint.lint.wording import closest, quoted, quoted_list
from derivlint.model import DerivativeFormula, EntryFunction, KeyName, NameKind
from derivlint.model.keys import ENTRY_KEYS

META = RuleMeta(
    severity=Severity.ERROR,
    group="keys",
    checks=("L9", "G2", "F3"),
    yields_to=(JOINED_ENTRIES,),
)

VALID = (
    """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
  values: gather_with_keepdimed_indices(self_t, dim, indices, keepdim)
""",
    # keys of an unknown operator are not checked
    """\
- name: no_such_operator(Tensor self) -> Tensor
  slef: grad
""",
)

INVALID = (
    Invalid(
        at="2:9-13",
        message='"othr" is not an argument or output of "atan2"',
        help='did you mean "other"?',
        fixed="  self, other: atan2_backward(grad, self, other, grad_input_mask)",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  "self, matrix": mm_backward(grad, self, mat2)
""",
        at="2:10-16",
        message='"matrix" is not an argument or output of "mm"',
        help='a key can name "self", "mat2" or "result"',
    ),
    Invalid(
        """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  'self, ': mul_tensor_backward(grad, other, self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
""",
        at="2:3-11",
        message='the key "self, " has a comma without a name',
        help="remove the comma",
        fixed="  'self': mul_tensor_backward(grad, other, self.scalar_type())",
    ),
    Invalid(
        """\
- name: new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, \
Device? device=None, bool? pin_memory=None) -> Tensor
  dtype: non_differentiable
""",
        at="2:3-8",
        message='"dtype" is a tensor option of "new_ones", which has no gradient',
        help='remove it; a key can name "self" or "result"',
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  dispatch:
    Default:
      output_differentiability: [True]
      self, other: atan2_backward(grad, self, other, grad_input_mask)
""",
        at="4:7-31",
        message='"output_differentiability" is not read under the dispatch key "Default"',
        help='put it next to "dispatch"; it holds for all dispatch keys',
    ),
    Invalid(
        """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_diferentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
        at="2:3-26",
        message='"output_diferentiability" is not an argument or output of "max.dim"',
        help='did you mean "output_differentiability"?',
        fixed="  output_differentiability: [True, False]",
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the names of one key."""
    function = formula.entry.function
    if function is None:
        return
    blank = False
    for name, resolved in formula.resolved_names:
        if resolved.kind is NameKind.TENSOR_OPTION:
            yield Finding(
                formula.name_span(name),
                f'{quoted(name.text)} is a tensor option of "{formula.entry.operator}", which has no gradient',
                help=f"remove it; {_can_name(function)}",
            )
        elif resolved.kind is NameKind.UNKNOWN and name.text:
            yield _unknown(formula, name, function)
        elif resolved.kind is NameKind.UNKNOWN and not blank:
            blank = True
            yield _without_name(formula, name)


def _unknown(formula: DerivativeFormula, name: KeyName, function: EntryFunction) -> Finding:
    if formula.body.key_node is not None and name.text in ENTRY_KEYS:
        return Finding(
            formula.name_span(name),
            f'{quoted(name.text)} is not read under the dispatch key "{formula.body.key}"',
            help='put it next to "dispatch"; it holds for all dispatch keys',
        )
    message = f'{quoted(name.text)} is not an argument or output of "{formula.entry.operator}"'
    written = formula.body.keys_with
    candidates = {name for name in (*function.tensor_arguments, *function.output_names) if name not in written}
    if len(formula.names) == 1 and formula.body.key_node is None:
        candidates.update(ENTRY_KEYS)
    near = closest(name.text, candidates)
    if near is None:
        return Finding(formula.name_span(name), message, help=_can_name(function))
    fix = None
    if formula.key.exact:
        # all names of one or two letters are near each other
        is_certain = len(name.text) > 2 and closest(name.text, candidates - {near}) is None
        fix = Fix(f'replace it by "{near}"', (TextEdit(formula.name_span(name), near),), safe=is_certain)
    return Finding(formula.name_span(name), message, help=f'did you mean "{near}"?', fix=fix)


def _without_name(formula: DerivativeFormula, name: KeyName) -> Finding:
    rest = [key_name.text for key_name in formula.names if key_name.text]
    if not rest:
        message = f"the key {quoted(formula.key_text)} names nothing"
        return Finding(formula.key_span, message, help="write the arguments that the formula is for")
    text = formula.key_written_with(rest)
    fix = Fix("remove the comma", (TextEdit(formula.key_span, text),)) if text is not None else None
    return Finding(
        formula.name_span(name),
        f"the key {quoted(formula.key_text)} has a comma without a name",
        "remove the comma",
        fix=fix,
    )


def _can_name(function: EntryFunction) -> str:
    names = [*function.tensor_arguments, *function.output_names]
    return f"a key can name {quoted_list(names, 'or')}" if names else "the operator has nothing that a key can name"
