"""The file is not UTF-8 or contains characters that YAML forbids.

## What it detects
Bytes that are not UTF-8, a NUL or another control character, a second byte order mark.

## Why it is bad
YAML is read as Unicode text without control characters. Any other file cannot be read, so nothing in it is checked.

## Example
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn() # saved as Latin-1: a byte 0xE9

## Instead
Save the file as UTF-8 and delete the character that the message points at.

## Sources
PyYAML's reader, which torchgen/packaged/autograd/load_derivatives.py loads the file with.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import document_findings
from derivlint.model import Model
from derivlint.yaml_reader.nodes import YamlProblemKind

META = RuleMeta(severity=Severity.ERROR, group="yaml", checks=("Y2",))

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn() # é, in UTF-8
""",
    "\ufeff"
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
""",
)

INVALID = (
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn() # \udce9
""",
        at="2:29-30",
        message="the file is not UTF-8 text",
        help="save the file as UTF-8",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad * self\0.sgn()
""",
        at="2:20-21",
        message="YAML does not allow the character NUL",
        help="delete it",
    ),
)


@judges(Model)
def check(model: Model) -> Iterator[Finding]:
    """Report bytes and characters that the reader could not decode."""
    return document_findings(model, YamlProblemKind.ENCODING)
