"""A list item is not an entry with a name.

## What it detects
A list item that is not a mapping, one without the key ``name``, and a name that is not a string.

## Why it is bad
The name is the schema of the operator. Without it PyTorch's generator fails with a KeyError or an AttributeError.

## Example
    - func: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Fix safety
Replacing a misspelt ``name`` is safe: the entry cannot be read without it, and nothing else can be meant.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``load_derivatives``; torchgen/utils.py, ``split_name_params``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import kind_of
from derivlint.lint.wording import quoted
from derivlint.model import Entry, FormProblem, Model
from derivlint.model.entry_syntax import FormProblemKind
from derivlint.model.keys import NAME
from derivlint.yaml_reader import Mapping, Scalar, YamlNode

META = RuleMeta(severity=Severity.ERROR, group="yaml", checks=("Y3", "Y8"))

KINDS = (FormProblemKind.ENTRY_TYPE, FormProblemKind.NO_NAME, FormProblemKind.NAME_TYPE)
SHAPE = 'an entry begins with "name: " and the schema of its operator'

VALID = (
    """\
- self: grad * self.sgn()
  name: 'abs(Tensor self) -> Tensor'
""",
    # the unknown tag is the finding
    """\
- !key name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
""",
)

INVALID = (
    Invalid(
        """\
- abs(Tensor self) -> Tensor
""",
        at="1:3-29",
        message="this list item is a string, not an entry with a name",
        help=SHAPE,
    ),
    Invalid(
        """\
- nmae: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
""",
        at="1:3-7",
        message='the entry has no "name"',
        help='did you mean "name" by "nmae"?',
        fixed="- name: abs(Tensor self) -> Tensor",
    ),
    Invalid(
        at="1:3-7",
        message='the entry has no "name"',
        help='"func" is the key of native_functions.yaml; here it is "name"',
        fixed="- name: abs(Tensor self) -> Tensor",
    ),
    Invalid(
        """\
- self: grad * self.sgn()
  result: auto_element_wise
""",
        at="1:3-7",
        message='the entry has no "name"',
        help=SHAPE,
    ),
    Invalid(
        """\
- name:
  self: grad * self.sgn()
""",
        at="1:3-7",
        message="the name of the entry is empty",
        help=SHAPE,
    ),
    Invalid(
        """\
- name: [abs(Tensor self) -> Tensor]
  self: grad * self.sgn()
""",
        at="1:9-37",
        message="the name of the entry is a list, not a schema",
        help=SHAPE,
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Report items that cannot be read as entries."""
    # a key with an unknown tag may be the name
    if any(
        problem.kind is FormProblemKind.KEY_TYPE and model.is_explained(entry, problem.node)
        for problem in entry.problems
    ):
        return
    for problem in entry.problems:
        if problem.kind in KINDS and not model.is_explained(entry, problem.node):
            yield _finding(entry, problem)


def _finding(entry: Entry, problem: FormProblem) -> Finding:
    node = problem.node
    if problem.kind is FormProblemKind.ENTRY_TYPE:
        if isinstance(node, Scalar) and node.kind == "null":
            return Finding(entry.place(node), "this list item is empty", help=SHAPE, at=entry)
        return Finding(
            entry.place(node), f"this list item is {kind_of(node)}, not an entry with a name", help=SHAPE, at=entry
        )
    if problem.kind is FormProblemKind.NAME_TYPE:
        if isinstance(node, Scalar) and node.kind == "null":
            pair = entry.mapping.find(NAME) if entry.mapping is not None else None
            where = entry.place(pair.key) if pair is not None and not node.value else entry.place(node)
            return Finding(where, "the name of the entry is empty", help=SHAPE, at=entry)
        return Finding(
            entry.place(node), f"the name of the entry is {kind_of(node)}, not a schema", help=SHAPE, at=entry
        )
    return _without_name(entry, node)


def _without_name(entry: Entry, node: YamlNode) -> Finding:
    message = 'the entry has no "name"'
    key = entry.misnamed
    if key is not None:
        help_text = f'did you mean "name" by {quoted(key.value)}?'
        if key.value == "func":
            help_text = '"func" is the key of native_functions.yaml; here it is "name"'
        fix = Fix(f'replace {quoted(key.value)} by "name"', (TextEdit(entry.place(key), NAME),))
        return Finding(entry.place(key), message, help=help_text, fix=fix, at=entry)
    where = entry.place(node.pairs[0].key) if isinstance(node, Mapping) and node.pairs else entry.place(node)
    return Finding(where, message, help=SHAPE, at=entry)
