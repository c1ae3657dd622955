"""An operator is passed an optional argument that may be omitted.

## What it detects
A formula that passes an argument declared as "Tensor?" to an operator of native_functions.yaml whose parameter is a
"Tensor", to "+" or to a method, without checking whether it is defined. A formula that checks "weight.defined()" first
is fine, and so is the backward formula of that argument alone, which is only evaluated where it is given. Helpers of
FunctionsManual.h check by themselves.

## Why it is bad
An omitted argument is an undefined tensor in formulas. Operators raise an error for an undefined tensor, in the
backward pass of every call without the argument.

## Example
    - name: clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
      self: "min.defined() ? grad * ((self >= min) & (self <= max)) : clamp_backward(grad, self, min, max)"

## Instead
    - name: clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
      self: clamp_backward(grad, self, min, max)

## What it cannot see
What helpers do with an omitted argument, and which branch of a condition is the guarded one.

## Options
- ``operators`` (default: none): names or patterns of operators and helpers that take undefined arguments.

## Sources
[pytorch/pytorch#9596](https://github.com/pytorch/pytorch/pull/9596): ``clamp`` with one bound.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.dependence.undefined_tensors import unguarded_optionals
from derivlint.lint import AnalysisDepth, Finding, Invalid, Option, Options, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import PYTHON, WRONG_VALUE
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import unguarded_findings
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="gradients",
    options=(Option("operators", (), "names or patterns of operators that take undefined arguments"),),
    yields_to=(
        WRONG_VALUE,
        SupersededBy(
            ("uncalled-function", "undefined-function", "undefined-member", "undefined-name", "wrong-operand-types"),
            "the guard itself is wrong",
            Within.FORMULA,
        ),
        PYTHON,
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    """\
- name: clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
  self: "min.defined() && max.defined() ? grad * (self >= min) * (self <= max) : clamp_backward(grad, self, min, max)"
""",
    # evaluated only where there is a minimum
    """\
- name: clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
  min: grad * (self < min)
""",
    # the parameter is optional, too
    """\
- name: clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
  self: grad * at::clamp(self, min, max).eq(self)
""",
)

INVALID = (
    Invalid(
        """\
- name: _batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, \
float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)
  input, weight, bias: "grad.defined() ? batch_norm_backward(grad, input, weight, running_mean, running_var, result1, \
result2, /*update*/false, eps, grad_input_mask, result3) : std::tuple<Tensor, Tensor, Tensor>()"
""",
        at="2:75-81",
        message='"batch_norm_backward" is passed "weight", which is undefined where the argument is omitted',
        help='guard it: "weight.defined() ? ... : ..."',
    ),
    Invalid(
        at="2:59-62",
        message='"<=" is applied to "max", which is undefined where the argument is omitted',
        help='guard it: "max.defined() ? ... : ..."',
    ),
)


@judges(Entry, Model, Options)
def check(entry: Entry, model: Model, options: Options) -> Iterator[Finding]:
    """Find unguarded optional arguments in arguments of operators."""
    yield from unguarded_findings(
        entry,
        model,
        options,
        unguarded_optionals,
        when="which is undefined where the argument is omitted",
        otherwise="...",
    )
