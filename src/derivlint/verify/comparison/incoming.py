"""Checks backward formulas with undefined gradients, other strides, and masks of needed gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.comparison.checked_point import CheckedPoint, MisshapenError, Variable
from derivlint.verify.comparison.differences import size_of
from derivlint.verify.comparison.failures import (
    MASK_IGNORED,
    OTHER_CONVENTION,
    WRONG_UNDEFINED,
    WRONG_VJP,
    Failure,
    first_line,
)
from derivlint.verify.inputs.layouts import dense, is_plain
from derivlint.verify.inputs.points import REFUSALS, require_memory

#: The tolerance for zero in a gradient that should be absent.
_ZERO = 1e-9


def check_mask(at: CheckedPoint, of: FunctionSpec, gradients: Sequence[Any]) -> Iterator[Failure]:
    """Check that a gradient does not depend on the mask of needed gradients; unneeded ones may have any value."""
    if not of.masked:
        return
    present = [name for name in of.targets if at.subject.variables([name])]
    for name in present:
        alone = at.gradients(of, at.cotangents, [name])
        for variable, actual, expected in zip(at.subject.targets(of), alone, gradients, strict=True):
            if variable[0] == name and not _same(at, variable, actual, expected):
                yield Failure(of.number, MASK_IGNORED, name, size_of([expected]), size_of([actual]))


def check_undefined(at: CheckedPoint, of: FunctionSpec) -> Iterator[Failure]:
    """Check that an undefined incoming gradient counts as zeros."""
    import torch

    present = [place for place, item in enumerate(at.cotangents) if item is not None]
    if len(present) < 2:
        return
    for index in present:
        zeros = [torch.zeros_like(item) if place == index else item for place, item in enumerate(at.cotangents)]
        expected = at.gradients(of, zeros)
        try:
            actual = at.gradients(of, [None if place == index else item for place, item in enumerate(at.cotangents)])
        except RuntimeError as error:
            require_memory(error)
            message = f"it raises an error when incoming gradient {index} is undefined: {first_line(error)}"
            yield Failure(of.number, WRONG_UNDEFINED, of.key, message=message)
            continue
        for variable, expected_gradient, gradient in zip(at.subject.targets(of), expected, actual, strict=True):
            if variable in at.directions and not _same(at, variable, expected_gradient, gradient):
                yield Failure(
                    of.number, WRONG_UNDEFINED, variable[0], size_of([expected_gradient]), size_of([gradient])
                )


def _is_guarded(of: FunctionSpec) -> bool:
    """Whether a node evaluates a backward formula only if some incoming gradient is defined.

    Follows tools/autograd/gen_autograd_functions.py, emit_derivative: only the formula of one tensor is guarded.
    """
    types = {argument.name: argument.type for argument in of.arguments}
    return len(of.targets) == 1 and types[of.targets[0]].partition("(")[0].rstrip("?") == "Tensor"


def check_all_undefined(at: CheckedPoint, of: FunctionSpec) -> Iterator[Failure]:
    """Check that an unguarded formula gives zeros if no incoming gradient is defined."""
    if _is_guarded(of):
        return
    try:
        gradients = at.gradients(of, [None for _ in at.cotangents])
    except RuntimeError as error:
        require_memory(error)
        message = f"it raises an error when all incoming gradients are undefined: {first_line(error)}"
        yield Failure(of.number, WRONG_UNDEFINED, of.key, message=message)
        return
    for variable, gradient in zip(at.subject.targets(of), gradients, strict=True):
        if variable in at.directions and size_of([gradient]) > _ZERO:
            yield Failure(of.number, WRONG_UNDEFINED, variable[0], 0.0, size_of([gradient]))


def check_strides(at: CheckedPoint, of: FunctionSpec, gradients: Sequence[Any]) -> Iterator[Failure]:
    """Check that gradients do not depend on the strides of incoming gradients."""
    strided = [None if item is None else _other_strides(item) for item in at.cotangents]
    again = at.gradients(of, strided)
    yield from _changed(at, of, gradients, again, "it depends on the strides of the incoming gradient")


def check_undifferentiated(at: CheckedPoint, of: FunctionSpec, gradients: Sequence[Any]) -> Iterator[Failure]:
    """Check that a gradient is the same without ``create_graph``, the usual case."""
    again = at.undifferentiated(of)
    yield from _changed(at, of, gradients, again, "it is another one without create_graph=True")


def _changed(
    at: CheckedPoint, of: FunctionSpec, gradients: Sequence[Any], again: Sequence[Any], message: str
) -> Iterator[Failure]:
    for variable, gradient, gradient_again in zip(at.subject.targets(of), gradients, again, strict=True):
        if variable in at.directions and not _same(at, variable, gradient, gradient_again):
            # without numbers, which would count as those of the gradient itself
            yield Failure(of.number, WRONG_VJP, variable[0], message=message)


def check_accumulation(at: CheckedPoint, backward: Sequence[FunctionSpec]) -> Iterator[Failure]:
    """Check that accumulating into one gradient in place, as in a second backward pass, does not change another.

    Follows torch/csrc/autograd/functions/accumulate_grad.h: the first gradient is stored without a copy.
    """
    accumulated: list[tuple[FunctionSpec, Variable, Any]] = []
    for of in backward:
        for variable, gradient in zip(at.subject.targets(of), at.undifferentiated(of), strict=True):
            if variable in at.directions and _is_kept(at, variable, gradient):
                accumulated.append((of, variable, gradient))
    for place, (of, variable, gradient) in enumerate(accumulated):
        for _, earlier, earlier_gradient in accumulated[:place]:
            if gradient is not earlier_gradient and _overlap(gradient, earlier_gradient):
                message = f'it shares memory with that of "{earlier[0]}", into which gradients are accumulated in place'
                yield Failure(of.number, WRONG_VJP, variable[0], message=message)
                break


def _is_kept(at: CheckedPoint, variable: Variable, gradient: Any) -> bool:
    """Whether the engine stores a gradient as ``.grad`` without a copy: a view, with the strides of the input."""
    tensor = at.subject.tensor(variable)
    if gradient is None or not is_plain(gradient) or gradient._is_zerotensor() or gradient.requires_grad:
        return False
    if (gradient.shape, gradient.dtype) != (tensor.shape, tensor.dtype) or not gradient.numel():
        return False
    if any(gradient is item for item in at.incoming):
        # referenced elsewhere, so it is copied
        return False
    return bool(gradient.stride() == tensor.stride() and gradient.is_contiguous())


def _overlap(one: Any, another: Any) -> bool:
    """Whether writing to a contiguous tensor changes another one."""
    if one.untyped_storage().data_ptr() != another.untyped_storage().data_ptr():
        return False
    begin, end = one.data_ptr(), another.data_ptr()
    size, another_size = (item.numel() * item.element_size() for item in (one, another))
    return bool(begin < end + another_size and end < begin + size)


def check_embedding(at: CheckedPoint, of: FunctionSpec) -> Iterator[Failure]:
    """Check that a real incoming gradient of a complex output gives the same gradient as the equal complex one."""
    if not any(item is not None and item.is_complex() for item in at.cotangents):
        return
    real = [item if item is None or not item.is_complex() else item.real.clone() for item in at.cotangents]
    embedded = [one if one is None else one.to(item.dtype) for one, item in zip(real, at.cotangents, strict=True)]
    expected = at.gradients(of, embedded)
    try:
        gradients_of_real = at.gradients(of, real)
    except REFUSALS as error:
        require_memory(error)
        # the engine makes them complex
        return
    for variable, one, gradient in zip(at.subject.targets(of), expected, gradients_of_real, strict=True):
        if variable in at.directions and not _same(at, variable, one, gradient):
            # the engine converts it to complex before the formula
            message = "differs between a real incoming gradient and the equal complex one"
            yield Failure(of.number, OTHER_CONVENTION, variable[0], message=message)


def _same(at: CheckedPoint, variable: Variable, one: Any, another: Any) -> bool:
    """Whether two gradients agree after reduction to the input's shape; an absent one is zero."""
    try:
        one, another = at.fitted(variable, one), at.fitted(variable, another)
    except MisshapenError:
        return False
    if one is None or another is None:
        present = one if one is not None else another
        return present is None or not present.numel() or not bool(dense(present.detach()).abs().max() > _ZERO)
    dense_one, dense_another = dense(one.detach()), dense(another.detach())
    close = (dense_one - dense_another).abs() <= at.precision.identity * (1 + dense_one.abs())
    return bool((close | ~dense_one.isfinite()).all())


def _other_strides(tensor: Any) -> Any:
    """An equal tensor with other strides."""
    import torch

    wide = torch.zeros((*tensor.shape, 2), dtype=tensor.dtype)
    wide[..., 0] = tensor
    return wide[..., 0]
