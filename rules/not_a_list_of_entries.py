"""The file is empty, or its top level is not a list.

## What it detects
A file without any YAML content, and one whose top level is a mapping or a single value.

## Why it is bad
A file of derivatives is one list of entries. PyTorch's generator fails with a TypeError on anything else.

## Example
    name: abs(Tensor self) -> Tensor
    self: grad * self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``load_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.model import Model
from derivlint.source import Span
from derivlint.yaml_reader import Mapping, Scalar

META = RuleMeta(severity=Severity.ERROR, group="yaml", checks=("Y8",))

#: The name of the file that PyTorch's generator reads, which must be a list.
DERIVATIVES = "derivatives.yaml"
SHAPE = 'a file of derivatives is a list whose entries begin with "- name: "'

VALID = (
    """\
# Entries of a backend of its own.
---
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
  result: auto_element_wise
""",
    # an empty list is a list
    "[]\n",
    # the list of a back end for many versions of PyTorch
    """\
all_version: [v2.1, v2.2]
backward:
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
  version: all_version
""",
    # the entries of a back end are all in another file
    """\
all_version: [v2.1]
backward:
""",
)

INVALID = (
    Invalid("", at="1:1-1", message="the file has no entries", help=SHAPE),
    Invalid("# nothing but a comment\n", at="1:1-1", message="the file has no entries", help=SHAPE),
    Invalid(
        at="1:1-5",
        message="the top level of the file is a mapping, not a list of entries",
        help=SHAPE,
    ),
    Invalid(
        """\
abs(Tensor self) -> Tensor
""",
        at="1:1-27",
        message="the top level of the file is a single value, not a list of entries",
        help=SHAPE,
    ),
)


@judges(Model)
def check(model: Model) -> Iterator[Finding]:
    """Check the root of the document, or the value of the layout's key."""
    if model.document.problems or model.has_list:
        return
    root = model.document.root
    if model.layout.is_empty(root):
        return
    node = model.layout.list_in(root)
    key = model.layout.entries
    if key is not None and isinstance(root, Mapping):
        below = SHAPE.replace("a file of derivatives", f'the value of "{key}"')
        if node is None:
            yield Finding(
                root.pairs[0].key.within if root.pairs else root.within, f'the file has no key "{key}"', help=below
            )
        else:
            yield Finding(node.within, f'the value of "{key}" is not a list of entries', help=below)
        return
    has_comment = any(line.startswith("#") for line in model.source.text.splitlines())
    if root is None and Path(model.source.path).name != DERIVATIVES and has_comment:
        # op-plugin's aclnn_derivatives.yaml has nothing else
        return
    if root is None or (isinstance(root, Scalar) and root.kind == "null"):
        yield Finding(Span(0, 0) if root is None else root.within, "the file has no entries", help=SHAPE)
        return
    if isinstance(root, Mapping):
        where = root.pairs[0].key.within if root.pairs else root.within
        yield Finding(where, "the top level of the file is a mapping, not a list of entries", help=SHAPE)
        return
    yield Finding(root.within, "the top level of the file is a single value, not a list of entries", help=SHAPE)
