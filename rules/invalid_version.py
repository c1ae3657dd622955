"""An entry names versions that the file does not declare.

## What it detects
In a file that serves several versions of PyTorch: an entry whose ``version`` names a version that is not in the file's
list, a range that ends before it begins, and a value that is neither a range nor the names of versions; and a file
without that list.

## Why it is bad
The back end's generator compares the entry with the version that it builds for. An entry with a misspelt version is
left out of every build, and its operator silently loses its gradient.

## Example
    all_version: [v2.1, v2.2, v2.3]
    backward:
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
      version: [v2.3, v2.1]

## Instead
    all_version: [v2.1, v2.2, v2.3]
    backward:
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
      version: [v2.1, v2.3]

## Sources
torch_npu, op_plugin/codegen/utils.py, which keeps the entries of one version.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import did_you_mean, quoted, quoted_list
from derivlint.model import Model
from derivlint.schema.versions import NEWEST, FileVersions, VersionProblem, VersionProblemKind

META = RuleMeta(severity=Severity.ERROR, group="yaml")

FORMS = 'versions are a range "[{first}, newest]", names "{first}, {last}", or "{word}"'

VALID = (
    """\
all_version: [v2.1, v2.2, v2.3]
backward:
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  version: [v2.1, newest]

- name: neg(Tensor self) -> Tensor
  self: grad.neg()
  version: all_version
""",
    """\
all_version: [v2.1, v2.2, v2.3]
backward:
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  version: v2.1, v2.3

- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
)

INVALID = (
    Invalid(
        """\
all_version: [v2.1, v2.2, v2.3]
backward:
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  version: [v2.1, v22]
""",
        at="5:19-22",
        message='the file has no version "v22"',
        help='did you mean "v2.2"?',
    ),
    Invalid(
        """\
all_version: [v2.1, v2.2, v2.3]
backward:
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  version: v2.1, latest
""",
        at="5:12-24",
        message='the file has no version "latest"',
        help='the versions are "v2.1", "v2.2" and "v2.3"',
    ),
    Invalid(
        at="5:19-23",
        message='the range of versions ends at "v2.1", before it begins',
        help='the versions are "v2.1", "v2.2" and "v2.3"',
    ),
    Invalid(
        """\
all_version: [v2.1, v2.2, v2.3]
backward:
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  version: [v2.1, v2.2, v2.3]
""",
        at="5:12-30",
        message='"[v2.1, v2.2, v2.3]" is neither a range of versions nor names of them',
        help='versions are a range "[v2.1, newest]", names "v2.1, v2.3", or "all_version"',
    ),
    Invalid(
        """\
backward:
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  version: [v2.1, v2.2]
""",
        at="1:1-9",
        message='the file has no list of versions "all_version"',
        help='write "all_version: [...]" with the names of all versions, the oldest first',
    ),
)


@judges(Model)
def check(model: Model) -> Iterator[Finding]:
    """Report invalid versions in the list of the file and in its entries."""
    versions = model.versions
    if versions is None:
        return
    if versions.problem is not None:
        root = versions.problem.node
        keys = [pair.key for pair in getattr(root, "pairs", ())]
        yield Finding(
            keys[0].within if keys else root.within,
            f"the file has no list of versions {quoted(versions.word)}",
            help=f'write "{versions.word}: [...]" with the names of all versions, the oldest first',
        )
    for entry in model.all_entries:
        for problem in entry.versions.problems if entry.versions is not None else ():
            shown = quoted(" ".join(model.source.slice(entry.place(problem.node)).split()))
            message, help_text = _words(problem, versions, shown)
            yield Finding(entry.place(problem.node), message, help=help_text, at=entry)


def _words(problem: VersionProblem, versions: FileVersions, shown: str) -> tuple[str, str]:
    allowed = f"the versions are {quoted_list(versions.names)}"
    if problem.kind is VersionProblemKind.UNKNOWN and problem.name is not None:
        question = did_you_mean(problem.name, (*versions.names, NEWEST))
        return f"the file has no version {quoted(problem.name)}", question or allowed
    if problem.kind is VersionProblemKind.REVERSED:
        return f"the range of versions ends at {shown}, before it begins", allowed
    return f"{shown} is neither a range of versions nor names of them", FORMS.format(
        first=versions.names[0], last=versions.names[-1], word=versions.word
    )
