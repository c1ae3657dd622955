"""The autograd kernels, one for each function and dispatch key, and their source files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from derivlint.emit.kernels.body import body
from derivlint.emit.kernels.subject import AUTOGRAD, NODES, Subject, without_entry
from derivlint.emit.own_operators import kernel_namespaces
from derivlint.emit.places import listing
from derivlint.emit.release import DEFAULT as DEFAULT_RELEASE
from derivlint.emit.release import Release, filled, release_of
from derivlint.emit.selection import is_selected
from derivlint.emit.template import fill, yaml_name
from derivlint.model.differentiable import Differentiability, has_generated_kernel
from derivlint.model.keys import DEFAULT
from derivlint.model.match import FunctionMatch
from derivlint.model.model import Model
from derivlint.schema import NativeFunction, OperatorName

GENERIC_KERNEL = "torch::autograd::autogradNotImplementedFallback()"
#: The headers that kernels include.
HEADERS = (
    "torch/csrc/autograd/FunctionsManual.h",
    "torch/csrc/autograd/VariableTypeUtils.h",
    "torch/csrc/autograd/autograd_not_implemented_fallback.h",
    "ATen/Functions.h",
    "ATen/Operators.h",
    "ATen/SparseCsrTensorUtils.h",
    "torch/library.h",
)
#: The header and the namespace of the node classes that PyTorch ships.
SHIPPED_NODES = "torch/csrc/autograd/generated/Functions.h"
SHIPPED_NAMESPACE = "torch::autograd::generated"
#: The headers for the assertions of debug builds.
CHECKS_HEADERS = ("ATen/core/TorchDispatchUtils.h", "c10/util/irange.h")
#: The namespace of PyTorch's own kernels, in ``torch::autograd``.
IN_TREE_KERNELS = "VariableType"


class Kernel(Struct, frozen=True):
    """The autograd kernel of one function under one dispatch key.

    Attributes:
        function: the function.
        dispatch_key: the dispatch key that it is registered for; ``Autograd`` for formulas without ``dispatch``.
        name: the name of the C++ function; empty for PyTorch's generic kernel.
        text: its definition, with marks around text from the YAML; empty for the generic kernel.
        registration: the statement that registers it, in a ``TORCH_LIBRARY_IMPL`` with ``m``.
        entry: the function of its entry; its own if no entry applies.
        line: the line of its entry, or None if no entry applies.
        node: the class of the node that it creates, or None if that is PyTorch's ``NotImplemented`` or none.
        path: the YAML file.
        release: the PyTorch API of its code.
    """

    function: NativeFunction
    dispatch_key: str
    name: str
    text: str
    registration: str
    entry: OperatorName
    line: int | None
    node: str | None
    path: str
    release: Release

    @property
    def is_generic(self) -> bool:
        """Whether it is the generic kernel, for which ``backward`` is an error."""
        return not self.name

    @property
    def listing(self) -> str:
        """The definition for display, with the line in the YAML and the registration."""
        registration = f"// {self.dispatch_key}: {self.registration}"
        return f"{listing(self.text, self.path, self.line)}\n{registration}" if self.text else registration


def kernels(
    model: Model,
    operators: Collection[str] | None = None,
    dispatch_key: str | None = None,
    *,
    only_with_entry: bool = False,
    in_tree: bool = False,
) -> tuple[Kernel, ...]:
    """The kernels of a model, sorted by function name.

    Args:
        model: a model without errors; a function that torchgen would reject has no kernel.
        operators: names as :func:`derivlint.emit.selection.is_selected` takes them; None for all.
        dispatch_key: the autograd key of all kernels, with the formulas for it or the default ones; None for a kernel
            under each key with formulas.
        only_with_entry: whether to omit functions without an entry, as is done for a given key.
        in_tree: whether they are for a build of PyTorch.

    Raises:
        UnsupportedRelease: code cannot be emitted for the release of the operators.
    """
    return tuple(
        kernel
        for function in sorted(_functions(model, operators, only_with_entry), key=lambda chosen: str(chosen.name))
        for kernel in _kernels_of(model, function, dispatch_key, only_with_entry, in_tree)
    )


def _functions(model: Model, operators: Collection[str] | None, only_with_entry: bool) -> Iterable[NativeFunction]:
    """The chosen functions, and some without an entry; variants of others are not generated."""
    if operators is not None:
        bases = {OperatorName.parse(name).base for name in operators}
    elif only_with_entry:
        bases = {match.function.name.base for entry in model.entries for match in model.functions_of(entry)}
    else:
        return model.natives.functions
    return [
        function for base in bases for function in model.natives.with_base(base) if is_selected(function, operators)
    ]


def refusals(model: Model, functions: Iterable[NativeFunction], dispatch_key: str | None = None) -> tuple[Kernel, ...]:
    """The kernels of functions without formulas, for which ``backward`` is an error.

    Args:
        model: a model without errors.
        functions: the functions; those that PyTorch differentiates in another way have no kernel.
        dispatch_key: the autograd key of all kernels.
    """
    return tuple(
        _without_entry(model, function, dispatch_key or AUTOGRAD)
        for function in functions
        if function.is_abstract and not any(key.startswith(AUTOGRAD) for key in function.dispatch or ())
    )


def without_formulas_for(dispatch_key: str, model: Model, operators: Collection[str] | None) -> dict[str, str]:
    """The functions that only have formulas for other dispatch keys, by full name, with the reason."""
    reasons = {}
    for function in model.natives.functions:
        keys = model.match(function).infos
        if keys and DEFAULT not in keys and dispatch_key not in keys and is_selected(function, operators):
            reasons[str(function.name)] = f"the formulas are for {', '.join(keys)} only"
    return reasons


def _kernels_of(
    model: Model, function: NativeFunction, dispatch_key: str | None, only_with_entry: bool, in_tree: bool
) -> Iterator[Kernel]:
    match = model.match(function)
    if not has_generated_kernel(match):
        return
    if dispatch_key is not None:
        key = dispatch_key if dispatch_key in match.infos else DEFAULT
        if key in match.infos:
            yield from _kernel_of(model, match, key, dispatch_key, in_tree=in_tree)
        return
    if not match.infos:
        if not only_with_entry:
            yield _without_entry(model, function, in_tree=in_tree)
        return
    for key in match.infos:
        yield from _kernel_of(model, match, key, in_tree=in_tree)


def _kernel_of(
    model: Model, match: FunctionMatch, key: str, dispatch_key: str | None = None, *, in_tree: bool
) -> Iterator[Kernel]:
    """The kernel with the formulas for a key, unless torchgen rejects it."""
    differentiability = Differentiability(match, key)
    if differentiability.outputs is not None and not differentiability.is_ignored:
        yield _kernel(Subject(model, differentiability, has_entry=True, dispatch_key=dispatch_key, in_tree=in_tree))


def _without_entry(
    model: Model, function: NativeFunction, dispatch_key: str = AUTOGRAD, *, in_tree: bool = False
) -> Kernel:
    differentiability = without_entry(function, model.book)
    if not differentiability.outputs or model.book.keeps_own_kernel(function):
        return _kernel(Subject(model, differentiability, has_entry=False, dispatch_key=dispatch_key, in_tree=in_tree))
    registration = f'm.impl("{function.name}", {GENERIC_KERNEL});'
    return Kernel(
        function,
        dispatch_key,
        "",
        "",
        registration,
        function.name,
        None,
        None,
        yaml_name(model.source.path),
        release_of(model.natives.version),
    )


def _kernel(subject: Subject) -> Kernel:
    function = subject.function
    origin = f"{subject.path if subject.has_entry else 'no entry'}: {function.name}"
    text = filled(
        subject.release,
        "kernel",
        origin=origin,
        return_type=subject.return_type,
        name=subject.name,
        formals=subject.parameters,
        body=body(subject),
    )
    return Kernel(
        function,
        subject.dispatch_key,
        subject.name,
        text,
        f'm.impl("{function.name}", TORCH_FN({subject.name}));',
        subject.info.origin.func.name,
        subject.line,
        subject.node if subject.requires_derivative and not subject.is_out else None,
        subject.path,
        subject.release,
    )


def kernels_source(
    kernels: Iterable[Kernel],
    namespace: str,
    *,
    nodes_header: str = "nodes.h",
    nodes_namespace: str | None = None,
    shipped: Collection[str] = (),
) -> str:
    """Render a source file of kernels.

    Args:
        kernels: the kernels in the file.
        namespace: the namespace of the extension.
        nodes_header: the header that declares the node classes.
        nodes_namespace: the namespace of the node classes; that of the extension by default.
        shipped: the node classes of PyTorch's own library that replace those of that namespace.
    """
    chosen = tuple(kernels)
    by_key: dict[tuple[str, str], list[str]] = {}
    for kernel in chosen:
        by_key.setdefault((kernel.function.namespace, kernel.dispatch_key), []).append(kernel.registration)
    headers = (*HEADERS, SHIPPED_NODES) if shipped else HEADERS
    release = chosen[0].release if chosen else DEFAULT_RELEASE
    is_in_tree = namespace == SHIPPED_NAMESPACE
    if is_in_tree:
        headers = (*headers, *CHECKS_HEADERS)
    return (
        filled(
            release,
            "kernel_shard",
            source=chosen[0].path if chosen else "no entry",
            includes="\n".join([f'#include "{nodes_header}"', *(f"#include <{header}>" for header in headers)]),
            kernels_namespace=IN_TREE_KERNELS if is_in_tree else kernel_namespaces(namespace)[0],
            checks=fill(release.template("kernel_checks.cpp"), uses=release.own_uses) if is_in_tree else "",
            nodes=_node_declarations(chosen, (nodes_namespace or namespace).removeprefix("::"), shipped),
            kernels="\n\n".join(kernel.text for kernel in chosen if kernel.text),
            registrations="\n\n".join(
                registrations(library, key, lines) for (library, key), lines in sorted(by_key.items())
            ),
        )
        + "\n"
    )


def registrations(library: str, key: str, statements: Iterable[str]) -> str:
    """The registration of kernels for the operators of a namespace under a dispatch key."""
    lines = "".join(f"  {statement}\n" for statement in statements)
    return f"TORCH_LIBRARY_IMPL({library}, {key}, m) {{\n{lines}}}"


def _node_declarations(kernels: Iterable[Kernel], namespace: str, shipped: Collection[str]) -> str:
    """Return using-declarations that make the node classes visible in one namespace."""
    if not shipped:
        return f"namespace {NODES} = ::{namespace};"
    names = sorted({kernel.node for kernel in kernels if kernel.node is not None})
    lines = (f"using ::{SHIPPED_NAMESPACE if name in shipped else namespace}::{name};" for name in names)
    return "\n".join([f"namespace {NODES} {{", *lines, "}"])
