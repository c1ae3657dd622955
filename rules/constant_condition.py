"""A condition has the same value for all inputs, or a minus has no effect on it.

## What it detects
A number of dimensions, elements or a size that is compared with a number so that the result is the same for all tensors
("self.dim() < 0", "-self.sym_numel() > 0"); "defined()" of a required argument, except in
backward operators; and a minus before a flag or a comparison ("-grad.defined() ? ..."), which C++ converts to a number
that is true or false as before.

## Why it is bad
One branch of the formula is never taken. A minus before a condition was meant for a branch, or for the whole formula.

## Example
    - name: index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor
      source: "source.dim() < 0 ? grad.index_select(dim, index).expand_as(source) : grad.index_select(dim, \
index.squeeze(0))"

## Instead
    - name: index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor
      source: "source.dim() > 0 ? grad.index_select(dim, index).expand_as(source) : grad.index_select(dim, \
index.squeeze(0))"

## What it cannot see
Counts in variables and in sums, and conditions on several counts.

## Sources
The compiler warnings "-Wtype-limits" and "-Wbool-operation".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.calls.without_effect import always_defined, constant_comparisons, negated_conditions
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED_HERE
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.ERROR, group="arguments", yields_to=(UNCOMPILED_HERE,), reads=AnalysisDepth.SEMANTICS)

VALID = (
    """\
- name: trace(Tensor self) -> Tensor
  self: "self.dim() >= 2 ? trace_backward_symint(grad, self.sym_sizes()) : grad"
""",
    # an argument may be negative
    """\
- name: glu(Tensor self, int dim=-1) -> Tensor
  self: "dim < 0 ? glu_backward(grad, self, dim) : -glu_backward(-grad, self, dim)"
""",
    # optional, and a gradient
    """\
- name: _thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? input_bias=None, Tensor? \
hidden_bias=None) -> (Tensor, Tensor)
  output_differentiability: [True, False]
  input_gates, hidden_gates, hx, input_bias, hidden_bias: "grad.defined() ? _thnn_fused_gru_cell_backward(grad, \
result1, input_bias.defined()) : std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>()"
""",
)

INVALID = (
    Invalid(
        at="2:12-28",
        message='"source.dim() < 0" is always false: a number of dimensions is not negative',
        help="compare with another number",
    ),
    Invalid(
        """\
- name: trace(Tensor self) -> Tensor
  self: "self.sym_numel() >= 0 ? trace_backward_symint(grad, self.sym_sizes()) : Tensor()"
""",
        at="2:10-31",
        message='"self.sym_numel() >= 0" is always true: a number of elements is not negative',
        help="compare with another number",
    ),
    Invalid(
        """\
- name: index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor
  source: "-source.dim() > 0 ? grad.index_select(dim, index).expand_as(source) : grad.index_select(dim, \
index.squeeze(0))"
""",
        at="2:12-29",
        message='"-source.dim() > 0" is always false: a number of dimensions is not negative',
        help="compare with another number",
    ),
    Invalid(
        """\
- name: cudnn_grid_sampler(Tensor self, Tensor grid) -> Tensor output
  self, grid: "-grad.defined() ? cudnn_grid_sampler_backward(self, grid, grad) : std::tuple<Tensor, Tensor>()"
""",
        at="2:16-31",
        message='the minus has no effect on the condition "grad.defined()"',
        help='write it before a branch, or "!" to negate the condition',
    ),
    Invalid(
        """\
- name: grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) \
-> Tensor
  input, grid: "input.defined() ? grid_sampler_2d_backward(grad, input, grid, interpolation_mode, padding_mode, \
align_corners, grad_input_mask) : std::tuple<Tensor, Tensor>()"
""",
        at="2:17-32",
        message='"input.defined()" is always true: "input" is a required argument',
        help="ask for what may be undefined: a gradient or an optional argument",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find conditions that do not depend on the inputs, and negative conditions."""
    for written in entry.formulas:
        for node, value, count in constant_comparisons(written):
            text = written.parsed.text[node.start : node.end]
            yield Finding(
                written.span_of(node),
                f"{quoted(text)} is always {str(value).lower()}: {count} is not negative",
                help="compare with another number",
                at=written,
            )
    for formula in analyses_of(model).formulas(entry):
        for call, name in always_defined(formula):
            yield Finding(
                formula.span_of(call),
                f"{quoted(formula.source_of(call))} is always true: {quoted(name)} is a required argument",
                help="ask for what may be undefined: a gradient or an optional argument",
                at=formula.written,
            )
        for minus in negated_conditions(formula):
            yield Finding(
                formula.span_of(minus),
                f"the minus has no effect on the condition {quoted(formula.source_of(minus.operand))}",
                help='write it before a branch, or "!" to negate the condition',
                at=formula.written,
            )
