"""The subject of a kernel: a function under a dispatch key, with the names in its code."""

from __future__ import annotations

from derivlint.cpp import return_names, return_type
from derivlint.cpp.cpp_type import TENSOR
from derivlint.cpp.types import DeclaredType
from derivlint.emit.release import release_of
from derivlint.emit.selection import ATEN
from derivlint.emit.template import yaml_name
from derivlint.model.differentiable import (
    Differentiability,
    DifferentiableValue,
    is_tensor_list,
)
from derivlint.model.entry import DifferentiabilityInfo, InfoSource
from derivlint.model.generated.evaluation import formals
from derivlint.model.keys import DEFAULT
from derivlint.model.match import FunctionMatch
from derivlint.model.model import Model
from derivlint.model.words import substitute
from derivlint.operators import Book
from derivlint.schema import Argument, ListType, NativeFunction, Return, SchemaKind
from derivlint.source.lazy import cached_property

#: The dispatch key of default formulas.
AUTOGRAD = "Autograd"
NODES = "nodes"


def without_entry(function: NativeFunction, book: Book) -> Differentiability:
    """The differentiability of a function without entry: all tensors are differentiable, without formulas."""
    info = DifferentiabilityInfo(
        name=function.name.base,
        key=DEFAULT,
        func=function,
        prefix=None,
        derivatives=(),
        forward_derivatives=(),
        all_saved_inputs=(),
        all_saved_outputs=(),
        available_named_gradients=(),
        used_named_gradients=frozenset(),
        args_with_derivatives=(),
        non_differentiable_arg_names=(),
        output_differentiability=None,
        output_differentiability_conditions=None,
        source=InfoSource("none"),
    )
    return Differentiability(FunctionMatch(function, {DEFAULT: info}, None, {DEFAULT: ()}, book), DEFAULT)


def modifies_arguments(function: NativeFunction) -> bool:
    """Whether the function is an in-place or out function; other mutable functions do not count."""
    return function.schema.kind in (SchemaKind.inplace, SchemaKind.out)


class Subject:
    """The function of a kernel, with its differentiability.

    Attributes:
        differentiability: the facts of the model.
        has_entry: whether an entry applies.
        path: the YAML file.
        line: the line of the entry, or None.
        release: the PyTorch API of the kernel.
        dispatch_key: the dispatch key that the kernel is registered for.
        in_tree: whether it is for a PyTorch build, with the names and assertions used there.
    """

    def __init__(
        self,
        model: Model,
        differentiability: Differentiability,
        *,
        has_entry: bool,
        dispatch_key: str | None = None,
        in_tree: bool = False,
    ) -> None:
        key = AUTOGRAD if differentiability.key == DEFAULT else differentiability.key
        self.dispatch_key = dispatch_key or key
        self.model = model
        self.differentiability = differentiability
        self.has_entry = has_entry
        self.in_tree = in_tree
        self.release = release_of(model.natives.version)
        self.function = differentiability.function
        self.info = differentiability.info
        self.path = yaml_name(model.source.path)
        index = self.info.source.index
        self.line: int | None = None
        if index is not None:
            self.line = model.source.position(model.entries[index].span.start).line
        self.is_inplace = differentiability.is_inplace
        self.is_out = differentiability.is_out
        self.is_foreach = differentiability.is_foreach
        self.is_inplace_foreach = differentiability.is_inplace_foreach
        self.requires_derivative = differentiability.requires_derivative
        self.forwards = differentiability.forwards
        self.inputs = differentiability.inputs
        self.outputs = differentiability.outputs or ()
        self.api_name = self.function.cpp_name

    # ---- names and types

    @property
    def name(self) -> str:
        """The name of the kernel's function; outside of PyTorch's namespace, no formula can refer to it."""
        key = self.differentiability.key
        name = self.function.cpp_name_with_overload + ("" if key == DEFAULT else f"_{key}")
        return name if self.in_tree else f"{name}_kernel"

    @cached_property
    def formals(self) -> dict[str, DeclaredType]:
        """The parameters of the kernel after the dispatch keys."""
        return {name: self.release.adapted_type(type) for name, type in formals(self.function).items()}

    @property
    def parameters(self) -> str:
        """All parameters of the kernel as C++."""
        return ", ".join(["c10::DispatchKeySet ks", *(f"{type} {name}" for name, type in self.formals.items())])

    @cached_property
    def return_type(self) -> str:
        """The C++ type that the kernel returns; follows torchgen/api/cpp.py, ``returns_type``."""
        types = [self._return_type(item) for item in self.function.schema.returns]
        if len(types) == 1:
            return types[0]
        return f"::std::tuple<{','.join(types)}>" if types else "void"

    def _return_type(self, item: Return) -> str:
        plain = return_type(item.type)
        if not item.is_write or plain.canonical is not TENSOR:
            return self.release.spelled(str(plain))
        return "const at::Tensor &" if self.function.use_const_ref_for_mutable_tensors else "at::Tensor &"

    @property
    def return_names(self) -> tuple[str, ...]:
        """The variables that the kernel returns."""
        return return_names(self.function)

    @property
    def node(self) -> str | None:
        """The class of the node, or None if there are no backward formulas."""
        return self.model.node_name(self.info) if self.info.has_derivatives else None

    @property
    def node_type(self) -> str:
        """The class of the node as the kernel spells it."""
        return "NotImplemented" if self.node is None else f"{NODES}::{self.node}"

    @property
    def node_argument(self) -> str:
        """The argument of the node's constructor."""
        return f'"{self.api_name}"' if self.node is None else ""

    # ---- tasks of the kernel

    @property
    def modifies_arguments(self) -> bool:
        """Whether the function is an in-place or out function."""
        return modifies_arguments(self.function)

    @property
    def makes_view(self) -> bool:
        """Whether the kernel is that of a view."""
        return self.model.book.is_called_like_view(self.function)

    @property
    def resets_grad_accumulator(self) -> bool:
        """Whether the gradient accumulator of ``self`` becomes invalid."""
        return self.model.book.resets_accumulator(self.function)

    @property
    def differentiates_decomposition(self) -> bool:
        """Whether forward-mode AD uses a decomposition of PyTorch's for lack of a formula."""
        if self.function.namespace != ATEN:
            return False
        is_functional = not self.modifies_arguments and not self.differentiability.is_void
        return self.requires_derivative and not self.forwards and is_functional

    @property
    def inputs_with_derivatives(self) -> tuple[DifferentiableValue, ...]:
        """The inputs that are edges of the node, in order."""
        return self.differentiability.inputs_with_derivatives

    @cached_property
    def tensors(self) -> tuple[DifferentiableValue, ...]:
        """The arguments, including out arguments, that may carry a tangent, under the kernel's own names."""
        excluded = self.info.non_differentiable_arg_names
        return tuple(
            DifferentiableValue(argument.name, argument.type)
            for argument in self.function.schema.arguments.flat_all
            if argument.type.is_tensor_like and argument.name not in excluded
        )

    # ---- in-place foreach kernels use elements, under other names than the reference's formulas

    @cached_property
    def _own_arguments(self) -> dict[str, Argument]:
        """The kernel's arguments by their names in formulas."""
        own = self.function.schema.arguments.flat_non_out
        if not self.is_inplace_foreach:
            return {argument.name: argument for argument in own}
        theirs = self.info.func.schema.arguments.flat_non_out
        return {reference.name: argument for argument, reference in zip(own, theirs, strict=False)}

    def argument(self, name: str) -> str:
        """Map a name in formulas to the kernel's argument."""
        argument = self._own_arguments.get(name)
        return name if argument is None else argument.name

    def is_list(self, name: str) -> bool:
        """Whether the kernel's argument for a name in formulas is a list of tensors."""
        argument = self._own_arguments.get(name)
        return argument is not None and is_tensor_list(argument.type)

    def element(self, name: str) -> str:
        """The element ``i`` of the kernel's argument for a name in formulas, or the argument if it is not a list."""
        argument = self._own_arguments.get(name)
        if argument is None:
            return name
        if not self.has_entry and name != "self":
            # without a reference only self is certainly processed element by element
            return argument.name
        return f"{argument.name}[i]" if isinstance(argument.type, ListType) else argument.name

    def over_elements(self, text: str) -> str:
        """Rewrite an expression over arguments to elements, in an in-place foreach kernel."""
        if not self.is_inplace_foreach:
            return text
        return substitute(text, {name: self.element(name) for name in self._own_arguments}).text
