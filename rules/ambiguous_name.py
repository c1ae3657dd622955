"""An unqualified name is a function in one namespace and a type in another.

## What it detects
An unqualified name that C++ finds in several namespaces as different kinds of entity, such as "complex" in a forward
formula: "at::complex" and "c10::complex".

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: complex(Tensor real, Tensor imag) -> Tensor
      real: at::real(grad)
      imag: at::imag(grad)
      result: complex(real_t, imag_t)

## Instead
    - name: complex(Tensor real, Tensor imag) -> Tensor
      real: at::real(grad)
      imag: at::imag(grad)
      result: at::complex(real_t, imag_t)

## Fix safety
Adding ``at::`` is unsafe: it selects the function, and the type may have been meant.

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.lint.shared.typed_edits import refused_text, replaced
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(severity=Severity.ERROR, group="types", checks=("X2",), reads=AnalysisDepth.TYPES)

VALID = (
    """\
- name: polar(Tensor abs, Tensor angle) -> Tensor
  abs, angle: polar_backward(grad, result)
""",
)

INVALID = (
    Invalid(
        at="4:11-18",
        message='"complex" is a function of one namespace and a type of another',
        help='write "at::complex" for the function',
        fixed="  result: at::complex(real_t, imag_t)",
    ),
    Invalid(
        """\
- name: polar(Tensor abs, Tensor angle) -> Tensor
  abs, angle: polar_backward(grad, result)
  result: complex(abs_t * angle_p.cos() - angle_t * imag(result), abs_t * angle_p.sin() + angle_t * real(result))
""",
        at="3:11-18",
        message='"complex" is a function of one namespace and a type of another',
        help='write "at::complex" for the function',
        fixed=(
            "  result: at::complex(abs_t * angle_p.cos() - angle_t * imag(result), abs_t * angle_p.sin() + "
            "angle_t * real(result))"
        ),
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.AMBIGUOUS_NAME,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the bare names of formulas."""
    text = refused_text(problem)
    fix = replaced(problem, 0, 0, "at::", safe=False) if text == problem.problem.name else None
    yield type_finding(problem, fix)
