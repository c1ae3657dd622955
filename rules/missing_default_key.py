"""An entry with ``dispatch`` lacks the ``Default`` formulas that other generated code needs.

## What it detects
An entry whose ``dispatch`` has no ``Default`` key, for a view or for an operator with foreach functions.

## Why it is bad
The derivatives of ``_foreach_<name>`` are derived from the ``Default`` formulas of its operator, and the kernel of a
view uses its ``Default`` outputs. PyTorch's generator fails with a KeyError without them.

## Example
    - name: log10(Tensor self) -> Tensor
      dispatch:
        AutogradCUDA:
          self: grad / (self.conj() * 2.3025850929940456)

## Instead
    - name: log10(Tensor self) -> Tensor
      dispatch:
        Default:
          self: grad / (self.conj() * 2.3025850929940456)

## Sources
torchgen/api/autograd.py, ``match_differentiability_info`` and ``gen_differentiable_outputs``;
gen_inplace_or_view_type.py, ``emit_view_body``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.model.entry_syntax import FormProblemKind
from derivlint.yaml_reader import Mapping

META = RuleMeta(severity=Severity.ERROR, group="dispatch", checks=("M7", "V3"))

VALID = (
    # no foreach function and no view needs the formulas
    """\
- name: bmm(Tensor self, Tensor mat2) -> Tensor
  dispatch:
    AutogradCUDA:
      self: grad.bmm(mat2.transpose(1, 2).conj())
""",
)

INVALID = (
    Invalid(
        at="2:3-11",
        message='the entry has no "Default" formulas, which "_foreach_log10" needs',
        help='add the key "Default" below "dispatch"',
    ),
    Invalid(
        """\
- name: unsqueeze(Tensor(a) self, int dim) -> Tensor(a)
  dispatch:
    AutogradCUDA:
      self: grad.squeeze(dim)
""",
        at="2:3-11",
        message='the entry has no "Default" formulas, which the view "unsqueeze" needs',
        help='add the key "Default" below "dispatch"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch: {}
""",
        at="2:3-11",
        message='the entry has no "Default" formulas, which "_foreach_abs" needs',
        help='add the key "Default" below "dispatch"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the first function of each entry that needs missing ``Default`` formulas."""
    # formulas next to "dispatch" are reported as ignored
    if entry.dispatch_key_node is None or not isinstance(entry.dispatch, Mapping) or entry.beside_dispatch:
        return
    # another rule reports a misspelt "Default"
    if any(body.key not in model.natives.autograd_keys for body in entry.bodies):
        return
    if any(
        problem.kind in (FormProblemKind.DISPATCH_BODY_TYPE, FormProblemKind.KEY_TYPE) for problem in entry.problems
    ):
        return
    needing = model.served_without_default(entry)
    if needing:
        name = quoted(str(needing[0].name))
        which = name if needing[0].name.is_foreach else f"the view {name}"
        message = f'the entry has no "Default" formulas, which {which} needs'
        help_text = 'add the key "Default" below "dispatch"'
        yield Finding(entry.place(entry.dispatch_key_node), message, help=help_text, at=entry)
