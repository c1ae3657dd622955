"""Calls an operator and the functions of its formulas at a point with replaced tensors.

Inputs of a formula are shared: by the next formulas, their earlier versions, and differences of the operator. A write
would invalidate those instead of the formula: it is detected after each evaluation, and undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from msgspec import Struct, field

from derivlint.verify.code.functions import FOREACH, FORWARD, FunctionSpec, own_outputs
from derivlint.verify.inputs.domains import auxiliary_of, manifold_of, tangent_space_of
from derivlint.verify.inputs.layouts import has_same_numbers, is_plain, numbers
from derivlint.verify.inputs.points import SamplePoint, is_inexact, overload_of, require_memory

#: A part of autograd's error for an in-place write to a leaf.
_LEAF = "is being used in an in-place operation"


class WriteError(RuntimeError):
    """A formula wrote to some of its inputs; the write has been undone."""


class _Input(Struct, frozen=True, eq=False):
    """A tensor before an evaluation: its name in formulas, its version, and a copy."""

    name: str
    tensor: Any
    version: int
    copy: Any

    @property
    def is_untouched(self) -> bool:
        """Whether its version, size and values are unchanged."""
        if self.tensor._version != self.version:
            return False
        if not is_plain(self.copy):
            return all(map(has_same_numbers, numbers(self.tensor), numbers(self.copy)))
        return has_same_numbers(self.tensor, self.copy)


class InputGuard:
    """Copies of the inputs of one evaluation, to detect and undo writes.

    Args:
        inputs: names and tensors; the tensors of a list share a name.
    """

    def __init__(self, inputs: Iterable[tuple[str, Any]]) -> None:
        import torch

        with torch.no_grad():
            self._inputs = [
                _Input(name, tensor, tensor._version, tensor.clone())
                for name, value in inputs
                for tensor in (value if isinstance(value, list) else [value])
                if isinstance(tensor, torch.Tensor) and not tensor._is_zerotensor()
            ]

    def require_untouched(self) -> None:
        """Undo writes to inputs.

        Raises:
            WriteError: there were any.
        """
        import torch

        with torch.no_grad():
            touched = [input_ for input_ in self._inputs if not input_.is_untouched]
            for changed_input in touched:
                changed_input.tensor.data = changed_input.copy
        if touched:
            names = " and ".join(dict.fromkeys(f'"{changed_input.name}"' for changed_input in touched))
            raise WriteError(f"evaluating it changes {names} in place")


def tensors(value: Any) -> list[Any]:
    """The tensors of an argument or output, with None for other values."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if not isinstance(value, (list, tuple)):
        return [None]
    return [item if isinstance(item, torch.Tensor) else None for item in value]


class CallResult(Struct):
    """The arguments and outputs of an operator after a call.

    Attributes:
        values: the arguments after the call, including in-place changes.
        returns: the returns that are not arguments.
        outputs: the tensors of all differentiable returns.
        originals: the first argument before the call.
    """

    values: list[Any]
    returns: list[Any]
    outputs: list[Any]
    originals: list[Any] = field(default_factory=list)


class OperatorAtPoint:
    """An operator at a point.

    Attributes:
        described: a function of the operator.
        point: the arguments.
        positions: the positions of arguments by name.
        last_tangents: the tangents passed to the last forward formula, by name.
    """

    def __init__(self, spec: FunctionSpec, point: SamplePoint, namespace: Any, seed: int = 0) -> None:
        self.spec = spec
        self.point = point
        self.positions = {argument.name: index for index, argument in enumerate(spec.arguments)}
        self.last_tangents: list[tuple[str, Any]] = []
        self._operator = overload_of(spec.operator)
        self._namespace = namespace
        self._seed = seed
        self._is_on_cpu = all(tensor is None or tensor.is_cpu for value in point.values for tensor in tensors(value))
        self._keywords = [argument.name for argument in self._operator._schema.arguments if argument.kwarg_only]
        self._auxiliary = auxiliary_of(spec.operator)
        argument_names = {value.name for value in spec.arguments}
        self._is_return = [value.name not in argument_names for value in spec.returns]

        made: dict[tuple[str, int], Any] = {}
        for name, position in self.positions.items():
            manifold = manifold_of(spec.operator, name)
            if manifold is not None:
                made[name, 0] = manifold(point.values[position], self._named(point.values))
        if made or self._auxiliary is not None:
            self.point = SamplePoint(self.with_tensors(made, moves=True), point.label, point.is_meant)

    def _named(self, values: list[Any]) -> dict[str, Any]:
        return {argument.name: value for argument, value in zip(self.spec.arguments, values, strict=True)}

    def tangential(self, variable: tuple[str, int], direction: Any) -> Any:
        """Project a direction to those in which the input may move."""
        manifold = tangent_space_of(self.spec.operator, variable[0])
        return direction if manifold is None else manifold(direction, self._named(self.point.values))

    def variables(self, names: Sequence[str]) -> list[tuple[str, int]]:
        """The floating-point and complex tensors in the named arguments, as name and index in a list."""
        variables = []
        for name in names:
            value = self.point.values[self.positions[name]]
            variables += [(name, index) for index, item in enumerate(tensors(value)) if is_inexact(item)]
        return variables

    def tensor(self, variable: tuple[str, int], values: list[Any] | None = None) -> Any:
        """A tensor of the point."""
        chosen = self.point.values if values is None else values
        return tensors(chosen[self.positions[variable[0]]])[variable[1]]

    def with_tensors(
        self, changed: dict[tuple[str, int], Any], *, moves: bool = False, connected: bool = False
    ) -> list[Any]:
        """The arguments with replaced tensors; dependent arguments are recomputed.

        Args:
            changed: the replacements.
            moves: whether dependent arguments are recomputed even without replacements.
            connected: whether autograd records the dependence.
        """
        values = list(self.point.values)
        for (name, index), tensor in changed.items():
            position = self.positions[name]
            if isinstance(values[position], list):
                values[position] = list(values[position])
                values[position][index] = tensor
            else:
                values[position] = tensor
        if self._auxiliary is not None and (changed or moves):
            for name, tensor in self._auxiliary(self._named(values)).items():
                if (name, 0) not in changed:
                    values[self.positions[name]] = tensor if connected else tensor.detach()
        return values

    def after(self, called: CallResult, changed: dict[tuple[str, int], Any]) -> list[Any]:
        """The arguments after a call, with replaced tensors: formulas see in-place changes of the operator."""
        values = self.with_tensors(changed)
        for index, argument in enumerate(self.spec.arguments):
            if argument.is_write and (argument.name, 0) not in changed:
                values[index] = called.values[index]
        return values

    def call(self, values: list[Any]) -> CallResult:
        """Call the operator.

        Raises:
            Exception: any error of the operator.
        """
        import torch

        # for every other device torch.manual_seed formats a stack
        seed = torch.default_generator.manual_seed if self._is_on_cpu else torch.manual_seed
        seed(self._seed)
        arguments = list(values)
        originals = []
        for index, argument in enumerate(self.spec.arguments):
            if argument.is_write and isinstance(arguments[index], torch.Tensor):
                if index == 0:
                    originals.append(arguments[index])
                arguments[index] = arguments[index].clone()
        keywords = {name: arguments[self.positions[name]] for name in self._keywords}
        count = len(arguments) - len(keywords)
        result = self._operator(*arguments[:count], **keywords)
        several = len(self.spec.returns) > 1
        returned = list(result) if several else [result]
        if self.spec.returns and str(self.spec.returns[0].type).endswith("]") and not several:
            returned = [list(result)]
        outputs = [item for index in self.spec.outputs for item in tensors(returned[index])]
        own = [value for value, is_own in zip(returned, self._is_return, strict=True) if is_own]
        return CallResult(arguments, own, outputs, originals)

    def pull_back(
        self, of: FunctionSpec, called: CallResult, gradients: Sequence[Any], needs: Sequence[bool]
    ) -> list[Any]:
        """Evaluate a backward formula, and return one gradient for each tensor of its targets.

        Raises:
            WriteError: the formula writes to its inputs.
            RuntimeError: the formula raises.
        """
        function = getattr(self._namespace, of.name)
        self.last_tangents = []
        returns = called.returns
        values = list(called.values)
        if not returns and called.originals:
            # an in-place operator saves its argument, and returns the modified one
            returns, values[0] = [values[0]], called.originals[0]
        guard = InputGuard([("grad", list(gradients)), *self._inputs(of, values, returns)])
        try:
            return list(function(list(gradients), list(needs), *values, *returns))
        except RuntimeError as error:
            if _LEAF in str(error):
                raise WriteError("evaluating it changes an input in place") from error
            raise
        finally:
            guard.require_untouched()

    def _inputs(self, of: FunctionSpec, values: Sequence[Any], returns: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        """The arguments and outputs by their names in formulas."""
        yield from zip((argument.name for argument in of.arguments), values, strict=True)
        yield from zip((value.name for value in own_outputs(of)), returns, strict=True)

    def needs(self, of: FunctionSpec, only: Sequence[str] | None = None) -> list[bool]:
        """The mask of needed gradients, for all arguments with a backward formula."""
        chosen = of.with_gradients if only is None else only
        return [name in chosen and bool(self.variables([name])) for name in of.with_gradients]

    def targets(self, of: FunctionSpec) -> list[tuple[str, int]]:
        """The variables of the gradients that a backward formula computes."""
        variables = []
        for name in of.targets:
            value = self.point.values[self.positions[name]]
            variables += [(name, index) for index in range(len(value) if isinstance(value, list) else 1)]
        return variables

    def _zero(self, called: CallResult, position: int, *, is_efficient: bool) -> Any:
        before = called.originals[0] if called.originals and position == 0 else called.values[position]
        import torch

        if not is_efficient or not is_plain(before) or (called.originals and position == 0):
            return torch.zeros_like(before.detach())
        # as in kernels: an efficient zero tensor
        return torch._efficientzerotensor(before.shape, dtype=before.dtype, device=before.device)

    def push_forward(self, of: FunctionSpec, called: CallResult, tangents: dict[tuple[str, int], Any]) -> list[Any]:
        """Evaluate a forward formula; arguments without a given tangent have none.

        Raises:
            WriteError: the formula writes to its inputs.
            RuntimeError: the formula raises.
        """
        assert of.kind == FORWARD
        try:
            return self._push_forward(of, called, tangents, is_efficient=True)
        except WriteError:
            raise
        except RuntimeError as error:
            require_memory(error)
            # not every operator accepts efficient zero tensors
            return self._push_forward(of, called, tangents, is_efficient=False)

    def _push_forward(
        self, of: FunctionSpec, called: CallResult, tangents: dict[tuple[str, int], Any], *, is_efficient: bool
    ) -> list[Any]:
        import torch
        from torch.autograd import forward_ad

        function = getattr(self._namespace, of.name)
        input_tangents: list[Any] = []
        values = list(called.values)
        # formulas of in-place operators modify the tangents of written arguments
        written = {argument.name for argument in of.arguments if argument.is_write}
        make_dual: Any = forward_ad.make_dual
        unpack_dual: Any = forward_ad.unpack_dual
        # forward mode cannot be nested, and the formula is itself differentiated by it
        is_nested = forward_ad._current_level >= 0
        with nullcontext() if is_nested else forward_ad.dual_level():
            for name in of.inputs:
                position = self.positions[name]
                value = values[position]
                if isinstance(value, list):
                    values[position] = [
                        make_dual(item, tangents.get((name, index), item.detach() * 0)) if is_inexact(item) else item
                        for index, item in enumerate(value)
                    ]
                    input_tangents.append(None)
                elif isinstance(value, torch.Tensor):
                    input_tangents.append(
                        tangents[name, 0].clone()
                        if (name, 0) in tangents
                        else self._zero(called, position, is_efficient=is_efficient)
                    )
                else:
                    input_tangents.append(None)
            guard = InputGuard(
                [
                    *(
                        (f"{name}_t", item)
                        for name, item in zip(of.inputs, input_tangents, strict=True)
                        if name not in written
                    ),
                    *self._inputs(of, values, called.returns),
                    *(("original_self", item) for item in called.originals),
                ]
            )
            try:
                result = function(input_tangents, list(called.originals), *values, *called.returns)
            finally:
                guard.require_untouched()
            named = [
                *zip(of.inputs, input_tangents, strict=True),
                *((name, item) for (name, _), item in tangents.items()),
            ]
            self.last_tangents = [(f'the tangent of "{name}"', item) for name, item in named if item is not None]
            if is_nested:
                return list(result)
            is_foreach = of.operator.startswith(FOREACH) and all(
                isinstance(values[self.positions[name]], list) for name, _ in tangents
            )
            moved = {index for _, index in tangents}
            return [
                # as in kernels, which skip elements of lists without a tangent
                None if item is None or (is_foreach and index not in moved) else unpack_dual(item).primal
                for index, item in enumerate(result)
            ]
