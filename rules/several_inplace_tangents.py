"""An in-place operator has several forward formulas.

## What it detects
More than one forward key in the entry of an in-place operator, or in an entry that an in-place variant shares.

## Why it is bad
The output of an in-place operator is ``self``, so there is one tangent to set. PyTorch's generator fails with an
assertion at the in-place operator, which the entry may not even mention.

## Example
    - name: _amp_update_scale(...) -> (Tensor, Tensor growth_tracker_out)
      self: f(grads[0], grads[1])
      result0: self_t
      growth_tracker_out: g(self_t)

## Instead
Leave the forward formulas out, so that forward mode raises "not implemented".

## Sources
torchgen/api/autograd.py, ``match_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import inplace_problems
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model, Role
from derivlint.model.generated.forward import MatchProblemKind
from derivlint.model.keywords import is_clear

META = RuleMeta(severity=Severity.ERROR, group="tangents", checks=("M2",))

VALID = (
    """\
- name: polygamma_(Tensor(a!) self, int n) -> Tensor(a!)
  self: grad * polygamma(n + 1, self)
  result: self_t.mul_(polygamma(n + 1, original_self_p))
""",
    # std_mean has no in-place variant
    """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
  result0: std_backward(result0, self_p, result0, dim, correction, keepdim) * self_t
  result1: mean(self_t, dim.value_or(IntArrayRef({})), keepdim)
""",
)

INVALID = (
    Invalid(
        """\
- name: _amp_update_scale(Tensor self, Tensor growth_tracker, Tensor found_inf, float scale_growth_factor, \
float scale_backoff_factor, int growth_interval) -> (Tensor, Tensor growth_tracker_out)
  self: f(grads[0], grads[1])
  result0: self_t
  growth_tracker_out: g(self_t)
""",
        at="4:3-21",
        message='"_amp_update_scale_", which the entry also serves, is in-place and has one tangent, not 2',
        help="keep one forward formula, or none",
    ),
    Invalid(
        """\
- name: _amp_foreach_non_finite_check_and_unscale(Tensor[] self, Tensor found_inf, Tensor inv_scale) \
-> (Tensor[] self_out, Tensor found_inf_out)
  inv_scale: f(grads[0], grads[1])
  found_inf_out: g(inv_scale_t)
  self_out: h(inv_scale_t)
""",
        at="4:3-11",
        message='"_amp_foreach_non_finite_check_and_unscale_", which the entry also serves, is in-place and has one '
        "tangent, not 2",
        help="keep one forward formula, or none",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the first in-place function of each entry that has several forward formulas."""
    for problem, formula in inplace_problems(entry, model, MatchProblemKind.SEVERAL_FORMULAS):
        if not is_clear(formula.body) or entry.function is None:
            continue
        formulas = formula.body.with_role(Role.FORWARD)
        name = quoted(str(problem.function.name))
        is_own = problem.function is entry.function.canonical
        subject = name if is_own else f"{name}, which the entry also serves,"
        first, second, *more = formulas
        yield Finding(
            second.key_span,
            f"{subject} is in-place and has one tangent, not {len(formulas)}",
            help="keep one forward formula, or none",
            related=tuple(Related("another forward formula", sibling.key_span) for sibling in (first, *more)),
            at=second,
        )
        return
