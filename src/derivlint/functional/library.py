"""Custom operators in :mod:`torch.library`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import reduce, wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor
from torch._functorch import autograd_function
from torch._library import simple_registry
from torch._library.fake_impl import FakeImplHolder
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from derivlint.functional.tensors import below_autograd, not_implemented

#: PyTorch's context manager that applies a Function at one level of transforms.
_SINGLE_LEVEL = "enable_single_level_autograd_function"
Function = TypeVar("Function", bound=Callable[..., Any])


def define(name: str, schema: str) -> None:
    """Define an operator unless it exists.

    Args:
        name: its name with the namespace.
        schema: its arguments and returns.
    """
    namespace, _, operator = name.partition("::")
    base, _, overload = operator.partition(".")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    if packet is None or (overload or "default") not in packet.overloads():
        torch.library.define(name, schema)


def _operator(name: str) -> Any:
    namespace, _, operator = name.partition("::")
    base, _, overload = operator.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


@dataclass(frozen=True, slots=True)
class Entry:
    """The source location of an operator's entry.

    Attributes:
        file: the derivatives file.
        line: the line of the entry.
        gradients: the lines of the backward formulas, by argument.
        tangents: the lines of the forward formulas, by the position of the output.
    """

    file: str
    line: int
    gradients: Mapping[str, int]
    tangents: Mapping[int, int]


def entry_of(operator: Any) -> Entry:
    """Return the source location of an operator's entry.

    Raises:
        ValueError: no generated module has registered it.
    """
    entry = _entries.get(operator.name())
    if entry is None:
        raise ValueError(f"no module of derivlint has registered {operator.name()}")
    return entry


def register(name: str, entry: Entry) -> Callable[[Function], Function]:
    """Register a function as the autograd kernel of an operator; return the operator.

    Args:
        name: the operator's name with the namespace.
        entry: the source location of its formulas.
    """
    _entries[name] = entry
    namespace, _, operator = name.partition("::")

    def decorate(kernel: Function) -> Function:
        called = _operator(name)

        def differentiable(*args: Any, **keywords: Any) -> Any:
            _offer_fake(name)
            return kernel(*args, **keywords)

        make: Callable[..., Any] = torch.library.Library
        library = make(namespace, "FRAGMENT")
        library.impl(operator, differentiable, "Autograd")
        if called._schema.is_mutable and called._schema.returns:
            _without_result(library, called)
        _libraries.append(library)

        @wraps(kernel)
        def call(*args: Any, **keywords: Any) -> Any:
            return called(*args, **keywords)

        return cast("Function", call)

    return decorate


def fake(name: str, *called: str) -> Callable[[Function], Function]:
    """Register a function as an operator's fake kernel, for ``torch.compile`` and meta tensors.

    It is used only if there is no other at the first call of the operator: kernels and the author's own
    ``torch.library.register_fake`` may follow the definition of the operator.

    Args:
        name: the operator's name with the namespace.
        called: the qualified names of called operators with fake kernels.
    """

    def decorate(function: Function) -> Function:
        _fakes[name] = function, called
        _without_autograd(name, function)
        registered = simple_registry.singleton.find(name)
        if registered.fake_impl.kernel is None:
            registered.fake_impl = _FakeWhenAsked(name)
        return function

    return decorate


def _without_autograd(name: str, function: Callable[..., Any]) -> None:
    """Register a fake kernel until :func:`_offer_fake` has looked for another one.

    Needed in inference mode, where autograd kernels, which would look, do not run.
    """
    called = _operator(name)
    if called._schema.is_mutable or torch._C._dispatch_has_kernel_for_dispatch_key(name, "Meta"):
        return
    everywhere = "CompositeExplicitAutograd"

    def answer(*args: Any, **keywords: Any) -> Any:
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, everywhere):
            return called._op_dk(getattr(torch._C.DispatchKey, everywhere), *args, **keywords)
        return _new(function(*args, **keywords))

    namespace, _, operator = name.partition("::")
    make: Callable[..., Any] = torch.library.Library
    _answers[name] = make(namespace, "FRAGMENT")
    _answers[name].impl(operator, answer, "Meta")


class _FakeWhenAsked(FakeImplHolder):
    """The holder of an operator's fake kernel, consulted even if no autograd kernel runs."""

    @property
    def kernel(self) -> Any:
        """The registered kernel, by default the function passed to :func:`fake`."""
        _offer_fake(self.qualname)
        return self.kernels[-1] if self.kernels else None

    @kernel.setter
    def kernel(self, value: Any) -> None:
        """Reject assignment, as PyTorch does."""
        raise RuntimeError(f"the kernel of {self.qualname} is set by torch.library.register_fake, not to {value!r}")

    def register(self, *args: Any, **keywords: Any) -> Any:
        """Register the author's function, which takes precedence, or that of :func:`fake`."""
        _fakes.pop(self.qualname, None)
        _withdraw(self.qualname)
        return super().register(*args, **keywords)


def _offer_fake(name: str) -> None:
    """Register the fake kernels of an operator and of the operators that it calls."""
    if name not in _fakes:
        return
    function, called = _fakes.pop(name)
    _withdraw(name)
    for operator in called:
        _offer_fake(operator)
    if simple_registry.singleton.find(name).fake_impl.kernel is not None:
        return
    if any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in _WITHOUT_DATA):
        return
    if _operator(name)._schema.is_mutable:
        torch.library.register_fake(name, function)
    else:
        torch.library.register_fake(name, lambda *args, **keywords: _new(function(*args, **keywords)))


def _withdraw(name: str) -> None:
    library = _answers.pop(name, None)
    if library is not None:
        library._destroy()


def _without_result(library: Any, operator: Any) -> None:
    """Make ``torch.compile`` support an operator that returns arguments that it writes to.

    PyTorch functionalizes custom operators only if they return nothing (``torch/_higher_order_ops/
    auto_functionalize.py``), so graphs contain an operator without returns that calls this one.
    """
    base, _, overload = operator.name().partition("::")[2].partition(".")
    name = f"{base}_mutable.{overload}".rstrip(".")
    schema = str(operator._schema)
    library.define(f"{name}{schema[schema.index('(') : schema.rindex(' -> ')]} -> ()")

    def write(*args: Any, **keywords: Any) -> None:
        operator(*args, **keywords)

    library.impl(name, write, "CompositeExplicitAutograd")
    library.impl(name, torch.library.fallthrough_kernel, "Autograd")
    writes = _operator(f"{operator.namespace}::{name}")

    def functionalized(context: Any, *args: Any, **keywords: Any) -> Any:
        with getattr(context, "mode", None) or nullcontext():
            writes(*args, **keywords)
        return args[0]

    operator.py_functionalize_impl(functionalized)


def _new(value: Any) -> Any:
    """Return new tensors like one or several tensors, without shared memory."""
    if isinstance(value, Tensor):
        return torch.empty_like(value)
    return type(value)(map(_new, value))


def broadcast(*tensors: Tensor | None) -> Tensor:
    """Return an empty tensor with the broadcast shape and the promoted dtype of the arguments."""
    present = [tensor for tensor in tensors if tensor is not None]
    common: Callable[..., torch.Size] = torch.broadcast_shapes
    return present[0].new_empty(
        common(*(tensor.shape for tensor in present)),
        dtype=reduce(torch.promote_types, (tensor.dtype for tensor in present)),
    )


def applied(function: type[torch.autograd.Function], *args: Any) -> Any:
    """Apply a Function in an operator's autograd kernel, at the innermost level of transforms."""
    apply: Callable[..., Any] = getattr(super(torch.autograd.Function, function), "apply")  # noqa: B009
    if not torch._C._are_functorch_transforms_active():
        return apply(*args)
    single_level: Callable[[], AbstractContextManager[None]] = getattr(autograd_function, _SINGLE_LEVEL)
    with single_level():
        return apply(*args)


def not_differentiable(operator: Any) -> Callable[..., Any]:
    """Make the outputs of an operator raise on differentiation, unless it has an autograd kernel.

    PyTorch only warns about the missing gradient of a custom operator and uses zero.
    """
    name = operator.name()
    if any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in _DIFFERENTIABLE):
        return cast("Callable[..., Any]", operator)

    def call(*args: Any, **keywords: Any) -> Any:
        values, structure = tree_flatten((args, keywords))
        apply: Callable[..., Any] = _NotDifferentiable.apply
        return apply(operator, structure, *values)

    return call


class _NotDifferentiable(torch.autograd.Function):
    """A Function without gradient and tangent."""

    generate_vmap_rule = True

    @staticmethod
    def forward(operator: Any, structure: TreeSpec, *values: Any) -> Any:
        args, keywords = tree_unflatten(values, structure)
        with below_autograd():
            outputs = operator(*args, **keywords)
        return tuple(outputs) if isinstance(outputs, list) else outputs

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.operator = inputs[0]

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        return not_implemented(ctx.operator.name())

    @staticmethod
    def jvp(ctx: Any, *_: Any) -> Any:
        return not_implemented(ctx.operator.name())


#: The dispatch keys of kernels that support autograd.
_DIFFERENTIABLE = ("Autograd", "AutogradCPU", "AutogradCUDA", "CompositeImplicitAutograd")
#: The dispatch keys of kernels that run on meta and fake tensors.
_WITHOUT_DATA = (
    "Meta",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
)
#: Keeps libraries alive: a library unregisters its kernels when it is collected.
_libraries: list[Any] = []
#: The source locations of the entries of registered operators.
_entries: dict[str, Entry] = {}
#: The fake kernels of operators before their first call.
_fakes: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}
#: The libraries in which these are registered until the first call.
_answers: dict[str, Any] = {}
