"""A key has fewer names than its formula returns values.

## What it detects
A key with several names whose formula returns a tuple of more tensors than that.

## Why it is bad
The generated code takes the first elements and drops the others. Where a name in the middle is missing, the names
after it receive the gradients of their neighbours.

## Example
    - name: linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask)
        -> (Tensor, Tensor, Tensor)
      self, weight: linear_double_backward(grads, self, grad_output, weight)

## Instead
    - name: linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask)
        -> (Tensor, Tensor, Tensor)
      self, grad_output, weight: linear_double_backward(grads, self, grad_output, weight)

## What it cannot see
The formula's type must be known: the function that it calls is an operator, or is declared in FunctionsManual.h or in a
header of ``--headers``. A key with one name is compared by "wrong-result-type".

## Sources
torchgen/packaged/autograd/gen_autograd_functions.py, ``emit_derivative``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.arguments import dropped_values
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted_list
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="keys",
    yields_to=(UNCOMPILED,),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    """\
- name: grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, \
int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)
  grad_output, input, grid: grid_sampler_2d_double_backward(grads[0], grads[1], grad_output, input, grid, \
interpolation_mode, padding_mode, align_corners, grad_input_mask)
""",
    # an unknown function
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: something_unknown(grad, self, other)
""",
)

INVALID = (
    Invalid(
        at="3:3-15",
        message='the formula returns 3 gradients, but its key names 2: "self" and "weight"',
        help="name an argument for each value",
    ),
    Invalid(
        """\
- name: _scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, \
bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)
  output_differentiability: [True, False]
  query, key: _scaled_dot_product_flash_attention_for_cpu_backward(grad, query, key, value, output, logsumexp, \
dropout_p, is_causal, attn_mask, scale)
""",
        at="3:3-13",
        message='the formula returns 3 gradients, but its key names 2: "query" and "key"',
        help="name an argument for each value",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Compare the names of keys with the types of formulas."""
    analyses = analyses_of(model)
    if not any(len(written.names) > 1 for written in entry.formulas):
        return
    for formula in analyses.formulas(entry):
        count = dropped_values(model, formula)
        if count is not None:
            names = [name.text for name in formula.written.names]
            values = "gradients" if formula.is_backward else "tangents"
            yield Finding(
                formula.written.key_span,
                f"the formula returns {count} {values}, but its key names {len(names)}: {quoted_list(names)}",
                help="name an argument for each value" if formula.is_backward else "name an output for each value",
                at=formula.written,
            )
