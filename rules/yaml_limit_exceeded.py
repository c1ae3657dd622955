"""The file is too deeply nested or too large to be a derivatives file.

## What it detects
Nesting of more than 64 levels, more than 150,000 nodes (keys, values, lists and mappings), and aliases that multiply
into more than 20,000.

## Why it is bad
An entry is at most 4 levels deep, and PyTorch's file has 5,200 nodes. Anything beyond the limits is not a derivatives
file or is an accident, and reading it could exhaust memory; nothing in it is checked.

## Example
    - name: abs(Tensor self) -> Tensor
      self: [[[[[[[[ ... ]]]]]]]]

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Sources
derivlint's own limits; PyYAML has none and fails with a RecursionError.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import document_findings
from derivlint.model import Model
from derivlint.yaml_reader.nodes import YamlProblemKind

META = RuleMeta(severity=Severity.ERROR, group="yaml")

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    Default:
      self: grad * self.sgn()
""",
)

INVALID = (
    Invalid(
        f"""\
- name: abs(Tensor self) -> Tensor
  self: {"[" * 70}{"]" * 70}
""",
        at="2:71-72",
        message="the YAML is nested more than 64 levels deep",
    ),
    Invalid(
        f"""\
- {"{a: " * 64}b{"}" * 64}
""",
        at="1:255-256",
        message="the YAML is nested more than 64 levels deep",
    ),
)


@judges(Model)
def check(model: Model) -> Iterator[Finding]:
    """Report the limit at which the reader stopped."""
    return document_findings(model, YamlProblemKind.LIMIT)
