"""A back end's entry overrides PyTorch's but lacks formulas that PyTorch's has.

## What it detects
In a file whose entries override PyTorch's: an entry for an operator that PyTorch's derivatives.yaml has too, without a
formula for a name that has one there.

## Why it is bad
The back end's generator uses one entry or the other, never both. Where PyTorch has ``result: auto_linear`` and the
override has no forward formula, the operator loses forward-mode AD on that back end; where it lacks an argument, that
argument loses its gradient.

## Example
    all_version: [v2.1]
    backward:
    - name: neg(Tensor self) -> Tensor
      self: grad.neg()
      version: all_version

## Instead
    all_version: [v2.1]
    backward:
    - name: neg(Tensor self) -> Tensor
      self: grad.neg()
      result: auto_element_wise
      version: all_version

## Sources
torch_npu, codegen/autograd/load_derivatives.py, which replaces the entries of PyTorch by those of the back end.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import Entry, Model, NameKind

META = RuleMeta(severity=Severity.WARNING, group="registration")

VALID = (
    # an operator of the back end replaces nothing
    """\
all_version: [v2.1]
backward:
- name: neg(Tensor self) -> Tensor
  result: auto_element_wise
  self: grad.neg()
""",
    # a plain list does not override: it may be a part of PyTorch's file
    """\
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
)

INVALID = (
    Invalid(
        at="3:9-12",
        message='this entry replaces PyTorch\'s for "neg" and lacks its formula for "result"',
        help="write it here, too: without it, forward-mode AD fails with this back end",
    ),
    Invalid(
        """\
all_version: [v2.1]
backward:
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  version: all_version
""",
        at="3:9-19",
        message='this entry replaces PyTorch\'s for "mul.Tensor" and lacks its formulas for "other" and "result"',
        help='write them here, too: "other" gets no gradient with this back end',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Compare every entry with PyTorch's for the same operator."""
    upstream = model.natives.derivatives
    if not model.layout.overrides or upstream is None:
        return
    if entry.function is None or entry.operator is None:
        return
    covered = {name.text for body in entry.bodies for formula in body.formulas for name in formula.names}
    missing = [name for name in upstream.get(entry.operator, ()) if name not in covered]
    if missing:
        formulas = "formula" if len(missing) == 1 else "formulas"
        yield Finding(
            entry.name_span,
            f"this entry replaces PyTorch's for {quoted(entry.operator)} and lacks its {formulas} for "
            f"{quoted_list(missing)}",
            help=_consequence(entry, missing),
            at=entry,
        )


def _consequence(entry: Entry, missing: list[str]) -> str:
    function = entry.function
    assert function is not None
    inputs = [name for name in missing if function.resolve(name).kind is NameKind.ARGUMENT]
    if not inputs:
        return "write it here, too: without it, forward-mode AD fails with this back end"
    write = "write it here, too" if len(missing) == 1 else "write them here, too"
    return f"{write}: {quoted_list(inputs)} {'gets' if len(inputs) == 1 else 'get'} no gradient with this back end"
