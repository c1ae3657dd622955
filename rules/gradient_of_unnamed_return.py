"""A named gradient reads the gradient of another output.

## What it detects
``grad_<return>`` in the backward formulas of an operator that names some of its outputs only, where a differentiable
output without a name comes first.

## Why it is bad
PyTorch's generator numbers the named outputs among themselves, but the gradients that arrive are numbered among all
differentiable outputs. The formula then silently uses the gradient of an earlier output.

## Example
    - name: halve(Tensor self) -> (Tensor, Tensor rest)
      self: grad_rest.neg()

## Instead
    - name: halve(Tensor self) -> (Tensor, Tensor rest)
      self: grads[1].neg()

## Fix safety
The fix replaces every named gradient in the formulas by ``grads[i]``, since the two forms cannot be mixed. It is
unsafe: the name may have been meant, and then the index is another.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``available_named_gradients``; gen_autograd_functions.py,
``process_function``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.edits import formulas_fix
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DispatchBody, Entry, EntryFunction, Model
from derivlint.model.generated.gradients import NAMED_PREFIX, body_gradients

META = RuleMeta(severity=Severity.ERROR, group="names", checks=("X3",))

NATIVES = """\
- func: halve(Tensor self) -> (Tensor, Tensor rest)
  dispatch:
    CPU: halve
- func: thirds(Tensor self) -> (Tensor first, Tensor, Tensor last)
  dispatch:
    CPU: thirds
"""

VALID = (
    """\
- name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
  A: linalg_qr_backward(grad_Q, grad_R, Q, R, mode)
""",
    """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
""",
)

INVALID = (
    Invalid(
        at="2:9-18",
        message='"grad_rest" reads "grads[0]", the gradient of "result0"',
        help='write "grads[1]"',
        fixed="  self: grads[1].neg()",
        natives=NATIVES,
    ),
    Invalid(
        """\
- name: thirds(Tensor self) -> (Tensor first, Tensor, Tensor last)
  self: grad_first + grad_last.neg()
""",
        at="2:22-31",
        message='"grad_last" reads "grads[1]", the gradient of "result1"',
        help='write "grads[2]"',
        fixed="  self: grads[0] + grads[2].neg()",
        natives=NATIVES,
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Compare the two numberings of gradients for each named gradient in use."""
    for body in entry.bodies:
        info = body.info
        if info is None or not info.used_named_gradients or body.entry.function is None or not body.is_resolved:
            continue
        positions = _positions(model, body, body.entry.function)
        if positions is not None:
            yield from _judge(body, positions, body.entry.function)


def _positions(model: Model, body: DispatchBody, function: EntryFunction) -> dict[str, int] | None:
    """Return the index in ``grads`` of each named gradient; None if the outputs are unknown."""
    own = model.canonical_differentiability(body)
    if own is None or own.output_indices is None or own.uses_single_grad:
        return None
    return {
        f"{NAMED_PREFIX}{function.outputs[index].declared_name}": position
        for position, index in enumerate(own.output_indices)
        if function.outputs[index].declared_name is not None
    }


def _judge(body: DispatchBody, positions: dict[str, int], function: EntryFunction) -> Iterator[Finding]:
    assert body.info is not None
    available = body.info.available_named_gradients
    uses = [(gradients.written, word) for gradients in body_gradients(body) for word in gradients.named]
    is_fixable = all(word.text in positions and formula.is_exact() for formula, word in uses)
    fix = None
    if is_fixable:
        changes = [(formula, (word.start, word.end, f"grads[{positions[word.text]}]")) for formula, word in uses]
        fix = formulas_fix('use "grads[i]" throughout', changes)
    seen = set()
    for formula, word in uses:
        read, right = available.index(word.text), positions.get(word.text)
        if right is None or read == right or word.text in seen:
            continue
        seen.add(word.text)
        by_position = {position: name for name, position in positions.items()}
        output = by_position.get(read, "").removeprefix(NAMED_PREFIX) or function.outputs[read].name
        yield Finding(
            formula.span_of(word),
            f'{quoted(word.text)} reads "grads[{read}]", the gradient of {quoted(output)}',
            help=f'write "grads[{right}]"',
            fix=fix,
            at=formula,
        )
