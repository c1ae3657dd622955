"""A tensor argument has no formula, but evidence suggests that it should.

## What it detects
An argument without a formula in an entry that gives other arguments formulas, or an argument declared
``non_differentiable``, if there is evidence against that:

- the formula of another argument reads its value: then the result depends on it (medium confidence where an operator
  that is not PyTorch's declares it ``non_differentiable``: quantized weights, constants by contract);
- nine of ten other entries that have an argument of that name give it a formula, and there are at least three of them
  (eight, where the formulas of the entry are all ``not_implemented``);
- the formula of another argument passes it on to a helper, and nothing declares it ``non_differentiable``. Unless at
  least five other entries give an argument of that name a formula, or the operator's values vary with it, this has
  medium confidence;
- the operator's values vary with an argument that is declared ``non_differentiable``, also in an entry without any
  formula (medium confidence in one with formulas).

Arguments that hold indices, masks, lengths, running statistics, noise or work space by their names are exempt. An
argument of any name without a key is reported if a sibling declares it ``non_differentiable``: another overload, the
forward or backward operator, or the one for other dimensions or another library; or, for an entry that declares other
arguments, an operator whose name begins with the same word. Three of the latter are enough for any entry.

## Why it is bad
The gradient of an argument declared ``non_differentiable`` is silently zero. For an argument without any key, the
generated kernel rejects every input that requires a gradient, although a derivative exists.

## Example
    - name: lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor
      self: grad * (1 - weight).conj()
      end: grad * weight.conj()

## Instead
    - name: lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor
      self: grad * (1 - weight).conj()
      end: grad * weight.conj()
      weight: grad * (end - self).conj()

## What it cannot see
What an argument holds is inferred from its name. That a helper ("foo_backward(grad, self, target)") takes an argument
does not mean that it reads its value; for optional arguments this is therefore not evidence. The second kind of
evidence needs a file with several entries; for an optional argument that the entry does not mention it has medium
confidence, since many kernels refuse such arguments. Where a forward formula uses the tangent that does not exist,
"undeclared-tangent" reports it instead.

## Options
- ``arguments`` (default: none): names or patterns of further arguments that have no derivative, such as
  ``["*_scale"]``.
- ``usual`` (default: 5): how many other entries must give an argument of that name a formula if the only evidence is
  that a helper takes it; with fewer, the confidence is medium.

## Sources
PyTorch pull requests 28219 (lerp), 44437 (mse_loss), 59447 (binary_cross_entropy); the Bessel functions, which have
formulas since PyTorch 2.15.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.arguments import MissingDerivative, missing_derivatives
from derivlint.lint import (
    AnalysisDepth,
    Confidence,
    Finding,
    Invalid,
    Option,
    Options,
    Related,
    RuleMeta,
    Severity,
    SupersededBy,
    Within,
)
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="keys",
    options=(
        Option("arguments", (), "names or patterns of arguments that have no derivative"),
        Option("usual", 5, "so many other entries must give an argument a formula for high confidence", minimum=1),
    ),
    compares=True,
    yields_to=(
        SupersededBy(("ignored-derivative",), "no formula counts", Within.ENTRY),
        SupersededBy(("dropped-override-key",), "PyTorch's entry has the formula", Within.ENTRY),
        SupersededBy(
            ("formula-for-non-tensor", "grad-input-mask-of-single-argument", "missing-grad-output"),
            "formulas are exchanged",
            Within.ENTRY,
        ),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    # the operator itself may take it for an index, also where the file declares it linear in another argument
    """\
- name: hspmm(Tensor mat1, Tensor mat2) -> Tensor
  mat1: hspmm(grad, mat2)
  mat2: non_differentiable
  result: auto_linear
""",
    # classes, by their use
    """\
- name: multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, \
int reduction=Mean) -> Tensor
  self: grad * (self.exp() - at::one_hot(target.clamp_min(0), 10)) * target.ne(-100).unsqueeze(-1)
  target: non_differentiable
  weight: non_differentiable
""",
    # no sibling declares "index", and "indices" is another name
    """\
- name: gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
  self: gather_backward(grad, self, dim, index, sparse_grad)
- name: index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor
  self: grad
  source: "maybe_multiply(source.dim() > 0 ? grad.index_select(dim, index).expand_as(source) : \
grad.index_select(dim, index.squeeze(0)), alpha)"
  index: non_differentiable
""",
    # indices have no gradient
    """\
- name: index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
  self: grad.index_fill(dim, index, 0)
""",
    # metadata of the argument, not its value
    """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad.to(other.scalar_type())
""",
)

INVALID = (
    # a sibling declares it
    Invalid(
        """\
- name: nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> \
(Tensor output, Tensor total_weight)
  self: nll_loss_backward_symint(grad, self, target, weight, reduction, ignore_index, total_weight)
  target: non_differentiable
  output_differentiability: [True, False]
- name: nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> \
(Tensor output, Tensor total_weight)
  self: nll_loss2d_backward_symint(grad, self, target, weight, reduction, ignore_index, total_weight)
  output_differentiability: [True, False]
""",
        at="5:9-27",
        message='"target" has no key, but "nll_loss_forward" declares it non_differentiable',
        help='write "target: non_differentiable"',
    ),
    # an entry with declarations, and a sibling with the same first word
    Invalid(
        """\
- name: _nested_from_padded_tensor(Tensor padded, Tensor offsets, Tensor dummy, int ragged_idx=1, \
Tensor? min_seqlen=None, Tensor? max_seqlen=None, SymInt? sum_S=None) -> Tensor
  padded: grad.to_padded_tensor_symint(0.0, at::OptionalArrayRef<c10::SymInt>(padded.sym_sizes()))
  offsets: non_differentiable
  dummy: non_differentiable
  max_seqlen: non_differentiable
- name: _nested_view_from_jagged(Tensor(a) self, Tensor offsets, Tensor dummy, Tensor? lengths=None, \
int ragged_idx=1, Tensor? min_seqlen=None, Tensor? max_seqlen=None) -> Tensor(a)
  self: grad.values()
  offsets, lengths, dummy, min_seqlen, max_seqlen: non_differentiable
""",
        at="1:9-35",
        message='"min_seqlen" has no key, but "_nested_view_from_jagged" declares it non_differentiable',
        help='write "min_seqlen: non_differentiable"',
    ),
    Invalid(
        at="1:9-20",
        message='"weight" has no formula, but the formula of "self" reads its value',
        help='write its formula, or not_implemented("...") where there is none',
    ),
    Invalid(
        """\
- name: logaddexp(Tensor self, Tensor other) -> Tensor
  self: grad / (1 + exp(other - self)).conj()
  other: non_differentiable
""",
        at="3:10-28",
        message='"other" is non_differentiable, but the formula of "self" reads its value',
        help='write its formula, or not_implemented("...") where there is none',
    ),
    # a helper takes it
    Invalid(
        """\
- name: mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor
  self: mse_loss_backward(grad, self, target, reduction)
""",
        at="1:9-17",
        message='"target" has no formula, but the formula of "self" uses it',
        help='write its formula, or not_implemented("...") where there is none',
    ),
    # all other entries give "self" a formula
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
- name: _masked_scale(Tensor self, Tensor mask, float scale) -> Tensor
  self: non_differentiable
  mask: grad * scale
""",
        at="8:9-27",
        message='"self" is non_differentiable, but other entries with such an argument give it a formula',
        help='write its formula, or not_implemented("...") where there is none',
    ),
    # the operator is known
    Invalid(
        """\
- name: special_bessel_j0(Tensor self) -> Tensor
  self: non_differentiable
""",
        at="2:9-27",
        message='"self" is non_differentiable, but the values of "special_bessel_j0" vary with it',
        help='write its formula, or not_implemented("...") where there is none',
    ),
)


@judges(Entry, Model, Options)
def check(entry: Entry, model: Model, options: Options) -> Iterator[Finding]:
    """Find the arguments that should have a formula."""
    analyses = analyses_of(model)
    for missing in missing_derivatives(analyses, entry, options.number("usual")):
        if not options.lists("arguments", missing.argument):
            yield _finding(missing)


def _finding(missing: MissingDerivative) -> Finding:
    if missing.sibling is not None:
        return _undeclared(missing, missing.sibling)
    fact = "has no formula" if missing.written is None else "is non_differentiable"
    related: tuple[Related, ...] = ()
    confidence = None if missing.is_usual else Confidence.MEDIUM
    evidence = missing.reader
    if evidence is None and not missing.n_entries:
        evidence = missing.passer
    if evidence is not None:
        key = f"the formula of {quoted(evidence.written.key_text)}"
        reason = f"{key} reads its value" if missing.reader is not None else f"{key} uses it"
        related = (Related(key, evidence.written.value_span),)
    elif missing.has_derivative:
        reason = f"the values of {quoted(missing.body.entry.operator or '')} vary with it"
    else:
        # omit the number, which depends on unrelated entries
        noun = "one" if missing.written is None else "a formula"
        reason = f"other entries with such an argument give it {noun}"
        if missing.is_optional and missing.written is None:
            confidence = Confidence.MEDIUM
    return Finding(
        missing.body.entry.name_span if missing.written is None else missing.written.value_span,
        f"{quoted(missing.argument)} {fact}, but {reason}",
        help='write its formula, or not_implemented("...") where there is none',
        related=related,
        at=missing.written or missing.body,
        confidence=confidence,
        rests_on=() if missing.written is not None else (missing.body.entry.operator or "",),
    )


def _undeclared(missing: MissingDerivative, sibling: Entry) -> Finding:
    operator = quoted(sibling.operator or "")
    return Finding(
        missing.body.entry.name_span,
        f"{quoted(missing.argument)} has no key, but {operator} declares it non_differentiable",
        help=f"write {quoted(f'{missing.argument}: non_differentiable')}",
        related=(Related(f"the entry of {operator}", sibling.name_span),),
        at=missing.body,
        rests_on=(missing.body.entry.operator or "", sibling.operator or ""),
    )
