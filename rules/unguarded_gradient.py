"""An operator is passed a gradient that may be undefined.

## What it detects
A backward formula that passes "grad" or "grads[i]" to an operator of native_functions.yaml, to "+" or to a method,
where it may be undefined: in a formula for several inputs, for a list of tensors, or in one that uses several
gradients. A use guarded by "grad.defined()" is fine. Helpers of FunctionsManual.h check for themselves, and so do some
backward operators.

## Why it is bad
The gradient of an output that the loss does not depend on is an undefined tensor. The generated code handles that only
for formulas with one input and one output. Operators raise an error if passed an undefined tensor.

## Example
    - name: _prelu_kernel(Tensor self, Tensor weight) -> Tensor
      self, weight: _prelu_kernel_backward(grad, self, weight)

## Instead
    - name: _prelu_kernel(Tensor self, Tensor weight) -> Tensor
      self, weight: "grad.defined() ? _prelu_kernel_backward(grad, self, weight) : std::tuple<Tensor, Tensor>()"

## What it cannot see
What helpers do with an undefined gradient, and which branch of a condition is the guarded one. A file with a hundred
entries or more, fewer than ten of them with a guard, is exempt: it follows the contract of PyTorch before 1.6.

## Options
- ``operators`` (default: none): names or patterns of operators and helpers that take undefined gradients, such as
  ``["npu_*_backward"]``.

## Sources
Head of derivatives.yaml, "Notes about undefined output gradients";
torchgen/packaged/autograd/gen_autograd_functions.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.dependence.undefined_tensors import unguarded_reads
from derivlint.lint import AnalysisDepth, Finding, Invalid, Option, Options, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import WRONG_VALUE
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import unguarded_findings
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="gradients",
    options=(Option("operators", (), "names or patterns of operators that take undefined gradients"),),
    yields_to=(
        WRONG_VALUE,
        SupersededBy(("constant-condition",), "the guard itself is wrong", Within.FORMULA),
        SupersededBy(("mixed-grad-and-grads",), "another gradient is meant", Within.FORMULA),
        SupersededBy(("wrong-result-type",), "one formula stands for several", Within.FORMULA),
        SupersededBy(("grads-index-out-of-range",), "the gradient that may be undefined is another one", Within.ENTRY),
        SupersededBy(
            ("uncalled-function", "undefined-function", "undefined-member", "undefined-name", "wrong-operand-types"),
            "the guard itself is wrong",
            Within.FORMULA,
        ),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
""",
)

INVALID = (
    Invalid(
        at="2:40-44",
        message='"_prelu_kernel_backward" is passed "grad", which may be undefined here',
        help='guard it: "grad.defined() ? ... : Tensor()"',
    ),
    Invalid(
        """\
- name: stack(Tensor[] tensors, int dim=0) -> Tensor
  tensors: unbind(grad, dim)
""",
        at="2:19-23",
        message='"unbind" is passed "grad", which may be undefined here',
        help='guard it: "grad.defined() ? ... : Tensor()"',
    ),
    # some of the outputs may not be used
    Invalid(
        """\
- name: unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
  self: at::stack(grads, dim)
""",
        at="2:19-24",
        message='"stack" is passed "grads", which may be undefined here',
    ),
)


@judges(Entry, Model, Options)
def check(entry: Entry, model: Model, options: Options) -> Iterator[Finding]:
    """Find unguarded gradients in arguments of operators."""
    yield from unguarded_findings(
        entry,
        model,
        options,
        unguarded_reads,
        when="which may be undefined here",
        otherwise="Tensor()",
    )
