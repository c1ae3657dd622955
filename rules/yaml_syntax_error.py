"""The file is not valid YAML.

## What it detects
Everything that YAML's grammar refuses, unknown tags, aliases without an anchor and a second document. The usual cause
is a formula that starts with a character reserved by YAML, or that contains ``: ``.

## Why it is bad
PyTorch's generator loads the whole file at once and stops. derivlint still checks the other entries.

## Example
    - name: abs(Tensor self) -> Tensor
      self: at::GradMode::is_enabled() ? grad : grad * self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      self: "at::GradMode::is_enabled() ? grad : grad * self.sgn()"

## Sources
PyYAML, which torchgen/packaged/autograd/load_derivatives.py loads the file with.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import document_findings
from derivlint.model import Model
from derivlint.yaml_reader.nodes import YamlProblemKind

META = RuleMeta(severity=Severity.ERROR, group="yaml", checks=("Y2",))

KINDS = (YamlProblemKind.SYNTAX, YamlProblemKind.TAG, YamlProblemKind.SEVERAL_DOCUMENTS)

VALID = (
    """\
- name: div.Tensor(Tensor self, Tensor other) -> Tensor
  self: div_tensor_self_backward(grad, other, self.scalar_type())
  other: div_tensor_other_backward(grad, self, other)
""",
)

INVALID = (
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: at::GradMode::is_enabled() ? grad : grad * self.sgn()

- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
        at="2:43-44",
        message='": " inside an unquoted value starts a mapping',
        help="put the formula in double quotes",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: *grad
""",
        at="2:9-14",
        message='alias "*grad" has no anchor "&grad" before it',
    ),
    Invalid(
        """\
- name: logical_not(Tensor self) -> Tensor
  self: !self.defined()
""",
        at="2:9-24",
        message='unknown tag "!self.defined()"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
---
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
        at="3:1-4",
        message="a second YAML document starts here",
        help="keep one document per file",
    ),
)


@judges(Model)
def check(model: Model) -> Iterator[Finding]:
    """Report the reader's errors."""
    return document_findings(model, *KINDS)
