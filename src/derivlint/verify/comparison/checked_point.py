"""A point at which formulas are checked, with random directions; evaluates formulas and operators there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.comparison.differences import DOUBLE, MIXED, SINGLE, UnjudgedError, inner, size_of
from derivlint.verify.comparison.failures import Tally, form_of, place, saved
from derivlint.verify.comparison.numeric import CallResult, OperatorAtPoint
from derivlint.verify.inputs.layouts import changed, dense, has_finite_numbers, is_plain, moved
from derivlint.verify.inputs.points import REFUSALS, is_inexact, require_memory

#: A tensor among the arguments: the argument's name, and the index in a list.
Variable = tuple[str, int]
#: Replacements for tensors among the arguments.
Moved = dict[Variable, Any]
#: The number of a set of directions, the variables that move along them, and the step.
Moving = tuple[int, tuple[Variable, ...], float]


class MisshapenError(Exception):
    """A gradient that cannot be reduced to the shape of its input."""


class CheckedPoint:
    """A point with one set of random directions.

    Args:
        subject: the operator at the point.
        called: its outputs there.
        names: the arguments with gradients or tangents in formulas.
        random: returns a random number generator for a key, independent of other keys.
        tally: the counts of comparisons.
        before: called with the number of a function before it runs, so that a crash can be traced to it.
        turn: the number of this set of directions.
        cached_outputs: the operator's outputs along these directions, which are independent of formulas: by the turn,
            the moved variables and the step.
        only_finite: whether only finite outputs get gradients.

    Attributes:
        variables: the tensors that can be moved.
        directions: their directions.
        cotangents: a random incoming gradient for each output, or None.
        incoming: copies of the cotangents, whose memory gradients may share.
        precision: the tolerances for the dtype of the point.
        is_plain: whether all tensors are dense.
        is_complex: whether some tensors are complex.
        is_empty: whether a variable has no elements, so that there is no derivative.
        is_finite: whether all numbers are finite.
        is_coarse: whether outputs have too little precision for differences.
    """

    def __init__(
        self,
        subject: OperatorAtPoint,
        called: CallResult,
        names: Sequence[str],
        random: Callable[..., Any],
        tally: Tally,
        before: Callable[[int], None],
        turn: int = 0,
        cached_outputs: dict[Moving, list[Any]] | None = None,
        only_finite: bool = True,
    ) -> None:
        import torch

        types = (torch.float64, torch.complex128)
        coarse = (torch.float16, torch.bfloat16, torch.complex32)
        self.subject = subject
        self.called = called
        self.tally = tally
        self.before = before
        self.turn = turn
        self._cached_outputs = {} if cached_outputs is None else cached_outputs
        self._random = random
        self.cotangents: list[Any] = [
            self.like(item, "cotangent", place) if has_finite_numbers(item) or not only_finite else None
            for place, item in enumerate(called.outputs)
        ]
        self.incoming = [None if item is None else item.clone() for item in self.cotangents]
        self._undifferentiated: dict[int, list[Any]] = {}
        present = subject.variables(names)
        doubles = [variable for variable in present if subject.tensor(variable).dtype in types]
        singles = [variable for variable in present if subject.tensor(variable).dtype == torch.float32]
        # with mixed precision, single-precision tensors are not differentiated
        self.variables = doubles or singles
        # a single-precision output limits the precision of the comparison
        outputs = [item for item in called.outputs if is_inexact(item)]
        is_double = bool(doubles) and all(item.dtype in types for item in outputs)
        self.precision = SINGLE if not is_double else MIXED if singles else DOUBLE
        self.directions = {variable: self._direction(variable, "direction") for variable in self.variables}
        tensors = [*map(subject.tensor, self.variables), *(item for item in called.outputs if item is not None)]
        self.is_plain = all(map(is_plain, tensors))
        self.is_complex = any(item.is_complex() for item in tensors)
        self.is_empty = any(not subject.tensor(variable).numel() for variable in self.variables)
        arguments = [subject.tensor(variable) for variable in subject.variables(list(subject.positions))]
        self.is_finite = all(map(has_finite_numbers, [*tensors, *arguments]))
        self.is_coarse = any(item.dtype in coarse for item in outputs)

    def like(self, tensor: Any, *name: object) -> Any:
        """A random tensor with the same shape and dtype, or None for an integral or undefined one.

        Args:
            tensor: a tensor.
            name: the random key; other versions of the formula get the same tensor for it.
        """
        import torch

        if not is_inexact(tensor):
            return None
        random = self._random(*name)

        def random_like(part: Any) -> Any:
            made = torch.randn(part.shape, generator=random, dtype=torch.float64)
            if part.is_complex():
                made = torch.complex(made, torch.randn(part.shape, generator=random, dtype=torch.float64))
            return made.to(device=part.device, dtype=part.dtype)

        return changed(tensor, random_like)

    def _direction(self, variable: Variable, name: str) -> Any:
        tensor = self.subject.tensor(variable)
        made = self.subject.tangential(variable, self.like(tensor, name, *variable))
        # normalized to the average size of a random tensor, also if it is confined to a subspace
        factor = math.sqrt(max(tensor.numel(), 1)) / max(size_of([made]), 1e-12)
        return changed(made, lambda values: values * factor)

    def note(self, of: FunctionSpec, rule: str, target: str, number: float, part: int = 0) -> None:
        """Record a value of a formula, for the comparison with another version."""
        self.tally.numbers[place(of, rule, target, part, self.turn)] = number

    def note_form(self, of: FunctionSpec, target: str, part: int, tensor: Any) -> None:
        """Record the form of a gradient or tangent, for the comparison with another version."""
        if tensor is not None:
            inputs = [*saved(self.subject, self.called), *self.subject.last_tangents]
            self.tally.forms[of.kind, target, part] = form_of(tensor, inputs)

    # ---- the operator

    def moved(self, variables: Sequence[Variable], step: float, directions: Moved | None = None) -> Moved:
        """The tensors after a step along their directions, or along others."""
        chosen = self.directions if directions is None else directions
        return {variable: moved(self.subject.tensor(variable), chosen[variable], step) for variable in variables}

    def outputs(self, variables: Sequence[Variable], step: float, directions: Moved | None = None) -> list[Any]:
        """Call the operator with tensors after a step along their directions, or along others.

        Raises:
            UnjudgedError: the operator rejects them.
        """
        import torch

        place = self.turn, tuple(variables), step
        if directions is None and place in self._cached_outputs:
            return self._cached_outputs[place]
        try:
            with torch.no_grad():
                outputs = self.subject.call(self.subject.with_tensors(self.moved(variables, step, directions))).outputs
            if directions is None:
                self._cached_outputs[place] = outputs
            return outputs
        except REFUSALS as error:
            require_memory(error)
            raise UnjudgedError from error

    def is_differentiable(self, variables: Sequence[Variable], positions: Sequence[int]) -> bool:
        """Whether the directional derivatives are additive for two directions.

        At a tie all one-sided derivatives can agree although the operator is not differentiable.
        """
        if not self.is_plain:
            return True
        one = {variable: self._direction(variable, "one part") for variable in variables}
        two = {variable: self.directions[variable] - one[variable] for variable in variables}
        chosen = [self.cotangents[position] for position in positions]

        def derivative(directions: Moved) -> float:
            def along(step: float) -> float:
                outputs = self.outputs(variables, step, directions)
                return inner(chosen, [outputs[position] for position in positions])

            return self.precision.derivative(along)

        try:
            whole, first, second = map(derivative, (self.directions, one, two))
        except UnjudgedError:
            return False
        return self.precision.agrees(whole, first + second, abs(first) + abs(second))

    # ---- backward formulas

    def leaves(self, names: Sequence[str]) -> Moved:
        """Return the variables as leaves with ``requires_grad``, which some formulas test."""
        return {
            variable: self.subject.tensor(variable).detach().requires_grad_()
            for variable in self.subject.variables(names)
        }

    def gradients(self, of: FunctionSpec, cotangents: Sequence[Any], only: Sequence[str] | None = None) -> list[Any]:
        """Evaluate a backward formula at the point.

        Args:
            of: the formula.
            cotangents: the incoming gradients.
            only: the arguments whose gradients are needed, None for all.
        """
        subject, called = self.subject, self.called
        if not called.originals:
            leaves = self.leaves(of.with_gradients if only is None else only)
            called = CallResult(subject.after(called, leaves), called.returns, called.outputs)
        return subject.pull_back(of, called, cotangents, subject.needs(of, only))

    def undifferentiated(self, of: FunctionSpec) -> list[Any]:
        """Evaluate a backward formula on :attr:`incoming` without recording it for a second derivative."""
        import torch

        if of.number not in self._undifferentiated:
            with torch.no_grad():
                self._undifferentiated[of.number] = self.gradients(of, self.incoming)
        return self._undifferentiated[of.number]

    def fitted(self, variable: Variable, gradient: Any) -> Any:
        """Reduce a gradient to the shape of its input, as the autograd engine does.

        Raises:
            MisshapenError: the gradient cannot be reduced.
        """
        tensor = self.subject.tensor(variable)
        if gradient is None or tensor.is_nested:
            return gradient
        if is_plain(tensor) or gradient.shape != tensor.shape:
            gradient = dense(gradient)
        if gradient.shape != tensor.shape:
            if not _is_expandable(tuple(tensor.shape), tuple(gradient.shape)):
                raise MisshapenError(f"has the shape {list(gradient.shape)}, where the input has {list(tensor.shape)}")
            gradient = gradient.sum_to_size(tensor.shape)
        return gradient.real if gradient.is_complex() and not tensor.is_complex() else gradient

    # ---- forward formulas

    def positions(self, of: FunctionSpec) -> list[int]:
        """The positions of the outputs whose tangents a forward formula computes."""
        spec = self.subject.spec
        named = [spec.returns[index].name for index in spec.outputs]
        if len(named) == 1:
            return list(range(len(self.called.outputs)))
        return [named.index(name) for name in of.targets]

    def tangents(self, of: FunctionSpec, group: Sequence[Variable]) -> list[Any]:
        """Evaluate a forward formula at the point, with tangents for these tensors only."""
        return self.subject.push_forward(of, self.called, {variable: self.directions[variable] for variable in group})

    def projected(self, of: FunctionSpec, tangents: Sequence[Any]) -> float:
        """The inner product of tangents with the cotangents of their outputs."""
        return inner([self.cotangents[position] for position in self.positions(of)], tangents)


def _is_expandable(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether a tensor of one shape can be expanded to another."""
    if len(shape) > len(to):
        return False
    return all(size in (1, target_size) for size, target_size in zip(reversed(shape), reversed(to), strict=False))
