"""``dispatch`` does not hold one mapping of formulas for each dispatch key.

## What it detects
``dispatch`` with anything but a mapping of dispatch keys, and a dispatch key with anything but a mapping of formulas.
Usually the indentation is wrong, or a formula is written where a dispatch key belongs.

## Why it is bad
PyTorch's generator fails with an AttributeError.

## Example
    - name: abs(Tensor self) -> Tensor
      dispatch:
        Default:
        self: grad * self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      dispatch:
        Default:
          self: grad * self.sgn()

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``load_derivatives`` and ``create_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import kind_of
from derivlint.lint.wording import quoted
from derivlint.model import Entry, FormProblem, Model
from derivlint.model.entry_syntax import FormProblemKind
from derivlint.model.keys import DEFAULT
from derivlint.yaml_reader import Scalar

META = RuleMeta(
    severity=Severity.ERROR,
    group="dispatch",
    checks=("Y6",),
    yields_to=(SupersededBy(("duplicate-yaml-key",), "the formulas are below another key", Within.ENTRY),),
)

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  dispatch: {Default: {self: grad * self.sgn()}}
""",
)

INVALID = (
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch:
  Default:
    self: grad * self.sgn()
""",
        at="2:3-11",
        message='"dispatch" has no dispatch keys below it',
        help='indent the dispatch keys further than "dispatch"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch: AutogradCUDA
""",
        at="2:13-25",
        message='"dispatch" is a string, not a mapping of dispatch keys',
        help='write "dispatch:", below it the dispatch keys, and below each of them its formulas',
    ),
    Invalid(
        at="3:5-12",
        message='the dispatch key "Default" has no formulas below it',
        help='indent the formulas further than "Default"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    self: grad * self.sgn()
""",
        at="3:5-9",
        message='"self" is where a dispatch key is expected',
        help='indent "self" below a dispatch key such as "Default"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    Default: grad * self.sgn()
""",
        at="3:14-31",
        message='the dispatch key "Default" is a string, not a mapping of formulas',
        help='write "Default:", and below it the keys with their formulas',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Report the first value of each entry that should be a mapping."""
    for problem in entry.problems:
        if problem.kind in (
            FormProblemKind.DISPATCH_TYPE,
            FormProblemKind.DISPATCH_BODY_TYPE,
        ) and not model.is_explained(entry, problem.node):
            yield _finding(model, entry, problem)
            break


def _finding(model: Model, entry: Entry, problem: FormProblem) -> Finding:
    node = problem.node
    is_empty = isinstance(node, Scalar) and node.kind == "null"
    if problem.kind is FormProblemKind.DISPATCH_TYPE:
        if is_empty and entry.dispatch_key_node is not None:
            message = '"dispatch" has no dispatch keys below it'
            help_text = 'indent the dispatch keys further than "dispatch"'
            return Finding(entry.place(entry.dispatch_key_node), message, help=help_text, at=entry)
        help_text = 'write "dispatch:", below it the dispatch keys, and below each of them its formulas'
        return Finding(
            entry.place(node),
            f'"dispatch" is {kind_of(node)}, not a mapping of dispatch keys',
            help=help_text,
            at=entry,
        )
    body = next(body for body in entry.bodies if body.key == problem.key)
    key = quoted(body.key)
    assert body.key_node is not None
    is_formula = body.key != DEFAULT and body.key not in model.natives.autograd_keys
    if is_formula:
        help_text = f'indent {key} below a dispatch key such as "Default"'
        return Finding(
            entry.place(body.key_node), f"{key} is where a dispatch key is expected", help=help_text, at=body
        )
    if is_empty:
        return Finding(
            entry.place(body.key_node),
            f"the dispatch key {key} has no formulas below it",
            help=f"indent the formulas further than {key}",
            at=body,
        )
    help_text = f'write "{body.key}:", and below it the keys with their formulas'
    return Finding(
        entry.place(node),
        f"the dispatch key {key} is {kind_of(node)}, not a mapping of formulas",
        help=help_text,
        at=body,
    )
