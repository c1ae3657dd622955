"""An integral or boolean output is left differentiable.

## What it detects
An output that is integral or boolean by nature (indices, counts, pivots, error codes, comparisons) and that the
generated kernel makes differentiable: there is no ``output_differentiability``, or it is ``True``, and some argument
can require a gradient. Operators that PyTorch's generator never differentiates are exempt, and so are the further
outputs where formulas use ``grad``, which makes the first output the only differentiable one.

## Why it is bad
Only floating-point and complex tensors can require a gradient. With an input that requires one, the call fails with an
internal assertion of autograd, even if no gradient of this output is wanted.

## Example
    - name: any(Tensor self) -> Tensor
      self: not_implemented("any")

## Instead
    - name: any(Tensor self) -> Tensor
      output_differentiability: [False]

## Fix safety
The fix is unsafe: formulas may use the gradient of an output that it switches off.

## What it cannot see
The dtypes of outputs come from a table of PyTorch's operators and from the names of returns ("indices", "pivots",
"info", "rank" and some more). For operators of other projects only these names count, and an output whose dtype is set
by an argument ("dtype") is not reported. The help lists all outputs that should be switched off.

## Sources
torchgen/api/autograd.py, ``gen_differentiable_outputs``; torch/csrc/autograd/variable.h, ``isDifferentiableType``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.outputs import differentiable_discrete_outputs, takes_first_gradient_only
from derivlint.lint import AnalysisDepth, Finding, Fix, Invalid, RuleMeta, Severity, SupersededBy, TextEdit, Within
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.yaml_reader import Sequence

META = RuleMeta(
    severity=Severity.WARNING,
    group="differentiability",
    yields_to=(
        SupersededBy(("undeclared-tangent",), "the backward formula that uses a gradient is missing", Within.ENTRY),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    # "grad" is the gradient of the values, so the indices are not differentiable
    """\
- name: sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), true)
""",
    # PyTorch's generator never differentiates it
    """\
- name: argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
  self: not_implemented("argmax")
""",
    # the output is the tensor itself, of any dtype
    """\
- name: ge_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
  self: zeros_like(self)
  result: self_t.zero_()
""",
)

INVALID = (
    # the flags are exchanged
    Invalid(
        """\
- name: sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), true)
  output_differentiability: [False, True]
""",
        at="3:37-41",
        message='the output "indices" of "sort" is integral and cannot be differentiable',
        help='write "output_differentiability: [True, False]"',
        fixed="  output_differentiability: [True, False]",
    ),
    Invalid(
        at="1:9-12",
        message='the output "result" of "any" is boolean and cannot be differentiable',
        help='write "output_differentiability: [False]"',
    ),
    Invalid(
        """\
- name: ge.Scalar(Tensor self, Scalar other) -> Tensor
  output_differentiability: [True]
""",
        # "ge_.Scalar" shares the entry, and the output of an in-place operator cannot be switched off
        at="2:30-34",
        message='the output "result" of "ge.Scalar" is boolean and cannot be differentiable',
        help='write "output_differentiability: [False]"',
    ),
    Invalid(
        """\
- name: _unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) \
-> (Tensor, Tensor, Tensor)
  self: not_implemented("_unique2")
""",
        at="1:9-17",
        message='the output "result1" of "_unique2" is integral and cannot be differentiable',
        help='write "output_differentiability: [True, False, False]"',
    ),
    Invalid(
        """\
- name: linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) \
-> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)
  output_differentiability: [True, True, True, False]
  self, b: linalg_lstsq_backward(grads[0], grads[1], self, b, solution, grad_input_mask)
""",
        at="2:42-46",
        message='the output "rank" of "linalg_lstsq" is integral and cannot be differentiable',
        help='write "output_differentiability: [True, True, False, False]"',
        fixed="  output_differentiability: [True, True, False, False]",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the first such output of each entry."""
    function, declared = entry.function, entry.output_differentiability
    if function is None:
        return
    for body in entry.bodies:
        discrete = list(differentiable_discrete_outputs(model, body))
        if not discrete:
            continue
        first = discrete[0]
        only_first = declared is not None and len(function.outputs) > 1 and takes_first_gradient_only(body)
        if only_first and not first.is_first:
            # ignored-output-gradient reports that the gradients of the other outputs are dropped
            continue
        off = {item.output.index for item in discrete}
        before = declared.values if declared is not None and not only_first else None
        flags = [
            str(output.index not in off and (before is None or before[output.index]) and output.type.is_tensor_like)
            for output in function.outputs
        ]
        value = f"[{', '.join(flags)}]"
        where, fix = entry.name_span, None
        if declared is not None and isinstance(declared.node, Sequence):
            where = entry.place(declared.value_node(first.output.index))
            edits = tuple(
                TextEdit(entry.place(declared.value_node(index)), flag)
                for index, (flag, was) in enumerate(zip(flags, declared.values or (), strict=False))
                if flag != str(was)
            )
            # outputs of in-place operators cannot be switched off
            if not any(item.is_inplace and item.is_generated for item in model.differentiabilities(entry)):
                fix = Fix('write "False"', edits, safe=False)
        which = f"the output {quoted(first.output.name)} of {quoted(entry.operator or '')}"
        yield Finding(
            where,
            f"{which} is {first.kind} and cannot be differentiable",
            help=f"write {quoted(f'output_differentiability: {value}')}",
            fix=fix,
            at=entry,
            rests_on=(entry.operator or "",) if declared is None else (),
        )
        return
