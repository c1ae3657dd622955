"""A key below ``dispatch`` is not an autograd dispatch key.

## What it detects
A key below ``dispatch`` that is neither ``Default`` nor one of PyTorch's autograd dispatch keys: a misspelt one, a
backend such as ``CUDA``, or the alias key ``Autograd``.

## Why it is bad
PyTorch's generator fails with "Invalid dispatch key".

## Example
    - name: abs(Tensor self) -> Tensor
      dispatch:
        Default:
          self: grad * self.sgn()
        CUDA:
          self: grad * self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      dispatch:
        Default:
          self: grad * self.sgn()
        AutogradCUDA:
          self: grad * self.sgn()

## Fix safety
Replacing a key is unsafe: the formulas below it then apply to tensors with that key.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info``; torchgen/model.py, ``AUTOGRAD_KEYS``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.wording import closest, quoted
from derivlint.model import DispatchBody, Entry, Model
from derivlint.model.entry_syntax import FormProblemKind
from derivlint.model.keys import DEFAULT
from derivlint.yaml_reader import Scalar

META = RuleMeta(severity=Severity.ERROR, group="dispatch", checks=("L7",))

PREFIX = "Autograd"
NO_BACKENDS = (DEFAULT, "AutogradNestedTensor")
#: Common names of backends that differ from PyTorch's.
USUAL_NAMES = {"GPU": "CUDA", "Nested": "NestedTensor"}

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    Default:
      self: grad * self.sgn()
    AutogradNestedTensor:
      self: grad * self.sgn()
""",
)

INVALID = (
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    Default:
      self: grad * self.sgn()
    AutogradGPU:
      self: grad * self.sgn()
""",
        at="5:5-16",
        message='"AutogradGPU" is not a dispatch key that derivatives can have',
        help='did you mean "AutogradCUDA"?',
        fixed="    AutogradCUDA:",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    default:
      self: grad * self.sgn()
""",
        at="3:5-12",
        message='"default" is not a dispatch key that derivatives can have',
        help='did you mean "Default"?',
        fixed="    Default:",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    Default:
      self: grad * self.sgn()
    CompositeImplicitAutograd:
      self: grad * self.sgn()
""",
        at="5:5-30",
        message='"CompositeImplicitAutograd" is not a dispatch key that derivatives can have',
        help='allowed are "Default", "AutogradNestedTensor" and "Autograd" with a backend: CPU, CUDA, HIP, XLA, MTIA, '
        "MPS, IPU, XPU, HPU, VE, Lazy, Meta, PrivateUse1, PrivateUse2, PrivateUse3",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Compare the keys below ``dispatch`` with the allowed ones."""
    allowed = (DEFAULT, *model.natives.autograd_keys)
    # another rule reports formulas in place of dispatch keys
    if any(problem.kind is FormProblemKind.DISPATCH_BODY_TYPE for problem in entry.problems):
        return
    taken = {body.key for body in entry.bodies}
    for body in entry.bodies:
        if body.key_node is not None and body.key not in allowed:
            finding = _finding(body, body.key_node, allowed, taken)
            # a fix must not create a duplicate key
            taken.update(edit.text for fix in finding.fixes for edit in fix.edits)
            yield finding


def _finding(body: DispatchBody, node: Scalar, allowed: Sequence[str], taken: Collection[str]) -> Finding:
    guess = _guess(body.key, allowed)
    fix = None
    if guess is not None:
        help_text = f'did you mean "{guess}"?'
        if guess not in taken and node.style == "plain":
            fix = Fix(f"replace it by {quoted(guess)}", (TextEdit(body.entry.place(node), guess),), safe=False)
    else:
        backends = ", ".join(key.removeprefix(PREFIX) for key in allowed if key not in NO_BACKENDS)
        help_text = f'allowed are "Default", "AutogradNestedTensor" and "Autograd" with a backend: {backends}'
    message = f"{quoted(body.key)} is not a dispatch key that derivatives can have"
    return Finding(body.entry.place(node), message, help=help_text, fix=fix, at=body)


def _guess(key: str, allowed: Sequence[str]) -> str | None:
    """Return the intended key: the backend's autograd key, or the closest spelling."""
    backend = key.removeprefix(PREFIX)
    for name in (USUAL_NAMES.get(backend, backend), backend):
        if PREFIX + name in allowed:
            return PREFIX + name
    # the rest is not a backend; "Autograd" alone is close to several keys
    return closest(key, allowed) if key != PREFIX else None
