"""A variant or overload has a derivative, but the main form of the operator has none.

## What it detects
An entry for an in-place operator ("addmm_") whose functional form ("addmm") has no entry and does not consist of
differentiable operators. In PyTorch's own file also an entry for an overload with a name ("mm.dtype") where the
overload without one ("mm") has none.

## Why it is bad
PyTorch's generator uses the entry of the functional form for the in-place form, not the other way round, and an entry
of one overload for no other. The main form, which most callers use, silently stops the gradient. Almost always the
wrong schema was copied.

## Example
    - name: tril_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)
      self: grad.tril_symint(diagonal)
      result: auto_linear

## Instead
    - name: tril(Tensor self, SymInt diagonal=0) -> Tensor
      self: grad.tril_symint(diagonal)
      result: auto_linear

## What it cannot see
Overloads are compared in PyTorch's own file only, since the main form may have its entry in another one. An overload
without a name is taken for the main one; of several overloads with names none is. Where a forward formula needs the
value that the in-place form overwrites, the rules about that report it instead.

## Sources
torchgen/api/autograd.py, ``match_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.siblings import main_form_without_derivative
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WITHOUT_NAME
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING, group="schema", compares=True, yields_to=(WITHOUT_NAME,), reads=AnalysisDepth.SEMANTICS
)

VALID = (
    # the functional form has an entry of its own
    """\
- name: ge.Scalar(Tensor self, Scalar other) -> Tensor
  output_differentiability: [False]
- name: ge_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
  self: zeros_like(self)
  result: self_t.zero_()
""",
    # the functional form calls the in-place form
    """\
- name: conj_physical_(Tensor(a!) self) -> Tensor(a!)
  self: grad.conj_physical()
  result: self_t.conj_physical_()
""",
)

INVALID = (
    Invalid(
        at="1:9-14",
        message='"tril_" is the in-place form, and "tril" has no derivative',
        help='write the entry for "tril"',
    ),
    Invalid(
        """\
- name: index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)
  self: 'accumulate ? grad : grad.index_put(indices, zeros_like(values), false)'
  values: grad.index(indices)
  result: self_t.index_put(indices, values_t, accumulate)
""",
        at="1:9-19",
        message='"index_put_" is the in-place form, and "index_put" has no derivative',
        help='write the entry for "index_put"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Report the entries of other forms of an operator whose main form has none."""
    main_form = main_form_without_derivative(model, entry)
    if main_form is None:
        return
    name = str(main_form.function.name)
    form = "the in-place form" if main_form.is_inplace else "one overload"
    yield Finding(
        entry.name_span,
        f"{quoted(entry.operator or '')} is {form}, and {quoted(name)} has no derivative",
        help=f"write the entry for {quoted(name)}",
        at=entry,
        rests_on=(name,),
    )
