"""A key is not a YAML string.

## What it detects
A key that YAML reads as a boolean (``on``, ``off``, ``yes``, ``no``, ``true``, ``false``), a number, null, a list or a
mapping, and the merge key ``<<``.

## Why it is bad
Keys are names of arguments, outputs and dispatch keys. PyTorch's generator splits and sorts them as strings and fails
with an AttributeError or a TypeError on anything else.

## Example
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      [self, other]: mul_backward(grad, self, other)

## Instead
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self, other: mul_backward(grad, self, other)

## Fix safety
Quoting a key and removing brackets around it are safe: the name does not change.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info``; torchgen/yaml_utils.py,
``YamlLoader.construct_mapping``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.edits import quote_scalar
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import kind_of
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.model.entry_syntax import FormProblemKind
from derivlint.yaml_reader import Scalar, Sequence, YamlNode

QUOTE = "put the key in double quotes"
META = RuleMeta(severity=Severity.ERROR, group="yaml", checks=("Y5",))


VALID = (
    """\
- name: switch(Tensor self, Tensor on) -> Tensor
  self: grad
  "on": grad
""",
)

INVALID = (
    Invalid(
        """\
- name: switch(Tensor self, Tensor on) -> Tensor
  self: grad
  on: grad
""",
        at="3:3-5",
        message='the key "on" is a boolean to YAML, not a name',
        help="put the key in double quotes",
        fixed='  "on": grad',
        natives="""\
- func: switch(Tensor self, Tensor on) -> Tensor
  dispatch:
    CPU: switch
""",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  0: grad * self.sgn()
""",
        at="2:3-4",
        message='the key "0" is an integer to YAML, not a name',
        help="a key names the arguments or outputs that its formula is for",
    ),
    Invalid(
        at="2:3-16",
        message="the key is a list, not a string",
        help="write the names without brackets",
        fixed="  self, other: mul_backward(grad, self, other)",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    Default: &default
      self: grad * self.sgn()
    AutogradCUDA:
      <<: *default
""",
        at="6:7-9",
        message='torchgen does not merge keys with "<<"',
        help="write the keys of the other mapping here",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Report keys that are not strings."""
    for problem in entry.problems:
        if problem.kind is FormProblemKind.KEY_TYPE and not model.is_explained(entry, problem.node):
            where, message, help_text, fix = _judge(entry, model, problem.node)
            yield Finding(entry.place(where), message, help=help_text, fix=fix, at=entry)


def _judge(entry: Entry, model: Model, key: YamlNode) -> tuple[YamlNode, str, str, Fix | None]:
    names = "a key names the arguments or outputs that its formula is for"
    if isinstance(key, Sequence):
        fix = None
        if key.flow and key.items and all(isinstance(item, Scalar) and item.value.isidentifier() for item in key.items):
            text = ", ".join(model.source.slice(entry.place(item)) for item in key.items)
            fix = Fix("remove the brackets", (TextEdit(entry.place(key), text),))
        return key, "the key is a list, not a string", "write the names without brackets", fix
    if not isinstance(key, Scalar):
        return key, "the key is a mapping, not a string", names, None
    if key.kind == "merge":
        return key, 'torchgen does not merge keys with "<<"', "write the keys of the other mapping here", None
    if key.kind == "null":
        return key, "the key is empty", names, None
    message = f"the key {quoted(key.value)} is {kind_of(key)} to YAML, not a name"
    if key.kind == "bool":
        return key, message, QUOTE, quote_scalar(entry, key, QUOTE)
    return key, message, names, None
