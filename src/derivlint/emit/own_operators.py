"""Functions that call custom operators, those outside of PyTorch's namespace, through the dispatcher."""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from derivlint.cpp import return_type
from derivlint.cpp.cpp_type import TENSOR
from derivlint.cpp.operator_signatures import has_defaults
from derivlint.emit.release import Release
from derivlint.emit.selection import ATEN, entries_of, is_selected
from derivlint.emit.template import fill, load
from derivlint.formula import Name, walk
from derivlint.model import Entry, Model
from derivlint.model.generated.evaluation import formals
from derivlint.schema import Argument, BaseType, NativeFunction, NativeFunctions, SchemaKind

HEADER = "operators.h"
#: Schema defaults with another spelling in C++.
_DEFAULTS = {
    "None": "{}",
    "True": "true",
    "False": "false",
    "[]": "{}",
    "Mean": "at::Reduction::Mean",
    "Sum": "at::Reduction::Sum",
    "contiguous_format": "at::MemoryFormat::Contiguous",
    "preserve_format": "at::MemoryFormat::Preserve",
}
#: The C++ prefixes of enumeration constants, by type.
_ENUMERATIONS = {"ScalarType": "at::k", "Layout": "at::k"}
#: Base types that torchgen supports and PyTorch's schema parser (torch/csrc/jit/frontend) does not.
_OF_TORCHGEN = frozenset({"Dimname", "DimVector", "GraphModule"})
#: Namespaces that custom operators cannot have, since PyTorch and C++ use them.
_TAKEN = frozenset({"at", "c10", "std", "torch"})


def own_operators(natives: NativeFunctions) -> tuple[NativeFunction, ...]:
    """The custom operators, by namespace and name."""
    functions = (function for function in natives.written if function.namespace != ATEN)
    return tuple(sorted(functions, key=lambda function: (function.namespace, str(function.name))))


def with_called(model: Model, operators: Collection[str] | None) -> tuple[str, ...] | None:
    """Add the custom operators with entries that the formulas of the given operators call, recursively.

    Without their kernels, second derivatives would silently use others.
    """
    if operators is None:
        return None
    own = [
        function
        for function in own_operators(model.natives)
        if any(info.has_derivatives for info in model.match(function).infos.values())
    ]
    names = tuple(operators)
    while own:
        called = called_names(entries_of(model, names))
        more = [function for function in own if function.cpp_name in called and not is_selected(function, names)]
        if not more:
            break
        names += tuple(str(function.name) for function in more)
    return names


def called_names(entries: Iterable[Entry]) -> frozenset[str]:
    """The unqualified names in the formulas of entries."""
    trees = (formula.parsed.tree for entry in entries for formula in entry.formulas if formula.text is not None)
    nodes = (node for tree in trees if tree is not None for node in walk(tree) if isinstance(node, Name))
    return frozenset(node.parts[-1].identifier for node in nodes)


def refusal(function: NativeFunction) -> str | None:
    """The reason why C++ cannot be emitted for a custom operator, or None."""
    if function.namespace in _TAKEN:
        return f'"{function.namespace}" is a namespace of C++ that is PyTorch\'s own'
    if not function.namespace.isidentifier():
        return f'"{function.namespace}" is not a namespace of C++'
    return None


def undifferentiable_reason(function: NativeFunction) -> str | None:
    """The reason why a custom operator cannot be differentiated, or None.

    It has a type unknown to PyTorch, or writes to arguments in a way that autograd does not support: PyTorch's own
    in-place operators write to ``self``, and formulas have no name for other written arguments.
    """
    schema = function.schema
    types = [*(item.type for item in schema.arguments.flat_all), *(item.type for item in schema.returns)]
    bases = [kind.base for kind in types]
    unknown = next((base for base in bases if isinstance(base, BaseType) and not base.known), None)
    if unknown is not None:
        return f'PyTorch has no type "{unknown}"'
    undefinable = next((base for base in bases if isinstance(base, BaseType) and base.name in _OF_TORCHGEN), None)
    if undefinable is not None:
        return f'no library can define it: only PyTorch\'s own operators have the type "{undefinable}"'
    written = [argument.name for argument in schema.arguments.flat_non_out if argument.is_write]
    if not written or (schema.kind is SchemaKind.inplace and written == ["self"]):
        return None
    names = " and ".join(f'"{name}"' for name in written)
    if len(written) == 1 and written[0] == schema.arguments.flat_non_out[0].name and schema.kind is SchemaKind.inplace:
        return f'it writes to {names}, and formulas of operators in place call that argument "self"'
    return f'it writes to {names}, and has no gradient but as an operator in place, which writes to "self" alone'


def redispatching(function: NativeFunction) -> str:
    """The C++ function that redispatches an operator below some dispatch keys."""
    if function.namespace == ATEN:
        return f"at::_ops::{function.name.unambiguous_name}::redispatch"
    return f"{function.namespace}::redispatch_{function.name.unambiguous_name}"


def calling(function: NativeFunction) -> str:
    """The C++ function that calls an operator."""
    if function.namespace == ATEN:
        return f"at::_ops::{function.name.unambiguous_name}::call"
    return f"{function.namespace}::{function.cpp_name}"


def operators_header(functions: Iterable[NativeFunction], namespace: str, release: Release) -> str:
    """The header with the functions by which formulas and kernels call custom operators.

    They are in a namespace nested in that of the nodes, which lookup in formulas finds first. So ``my_ops::f(x)`` calls
    the operator even if the author's headers have a function of that name, such as its kernel; other names of the
    author's namespace stay visible.

    Args:
        functions: the operators, sorted by namespace.
        namespace: the namespace of the nodes, whose formulas see them unqualified.
        release: the PyTorch API of the code.
    """
    groups = {name: list(group) for name, group in groupby(functions, key=lambda function: function.namespace)}
    space = load("operators_namespace.h")
    spaces = (
        fill(space, name=name, functions="\n\n".join("\n".join(_functions(function, release)) for function in group))
        for name, group in groups.items()
    )
    return fill(
        load("operators.h") + "\n",
        authors="\n".join(f"namespace {name} {{}}" for name in groups),
        spaces="\n\n".join(spaces),
        visible=_visible(groups, ""),
        namespace=namespace,
        kernels_namespaces="\n".join(
            f"namespace torch::autograd::{inner} {{\n{_visible(groups, namespace)}\n}}"
            for inner in kernel_namespaces(namespace)
        ),
    )


def kernel_namespaces(namespace: str) -> tuple[str, str]:
    """The namespaces of autograd kernels and of ADInplaceOrView kernels, in ``torch::autograd``.

    Args:
        namespace: the namespace of the nodes.
    """
    stem = namespace.strip(":").replace("::", "_")
    return f"{stem}_kernels", f"{stem}_inplace_or_view"


def _visible(names: Iterable[str], namespace: str) -> str:
    """Return using-declarations for operators in a namespace; names outside of the nodes' namespace are qualified."""
    if not namespace:
        return "\n".join(f"using namespace {name};" for name in names)
    return "\n".join(
        f"namespace {name} = ::{namespace}::{name};\nusing namespace ::{namespace}::{name};" for name in names
    )


def _functions(function: NativeFunction, release: Release) -> Iterator[str]:
    name = function.name
    types = {parameter: release.spelled(str(type)) for parameter, type in formals(function).items()}
    returned = _returned(function, release)
    parameters = ", ".join(f"{type} {parameter}" for parameter, type in types.items())
    arguments = function.schema.arguments.flat_all
    with_defaults = ", ".join(
        f"{types[argument.name]} {argument.name}" + (f" = {_default(argument)}" if has_default else "")
        for argument, has_default in zip(arguments, has_defaults(arguments), strict=True)
    )
    arguments_passed = ", ".join(types)
    handle = f"operator_{name.unambiguous_name}"
    yield f"inline auto {handle}() {{"
    yield "  return c10::Dispatcher::singleton()"
    yield f'      .findSchemaOrThrow("{function.namespace}::{name.name_without_overload}", "{name.overload}")'
    yield f"      .typed<{returned}({', '.join(types.values())})>();"
    yield "}"
    yield f"[[maybe_unused]] inline {returned} {function.cpp_name}({with_defaults}) {{"
    yield f"  static auto found = {handle}();"
    yield f"  return found.call({arguments_passed});"
    yield "}"
    keys = ", ".join(["c10::DispatchKeySet ks", *filter(None, [parameters])])
    yield f"[[maybe_unused]] inline {returned} redispatch_{name.unambiguous_name}({keys}) {{"
    yield f"  static auto found = {handle}();"
    yield f"  return found.redispatch({', '.join(['ks', *types])});"
    yield "}"


def _returned(function: NativeFunction, release: Release) -> str:
    types = []
    for item in function.schema.returns:
        plain = return_type(item.type)
        written = "&" if item.is_write and plain.canonical is TENSOR else ""
        types.append(release.spelled(f"{plain}{written}"))
    if len(types) == 1:
        return types[0]
    return f"::std::tuple<{', '.join(types)}>" if types else "void"


def _default(argument: Argument) -> str:
    text = argument.default or ""
    kind = str(argument.type).removesuffix("?")
    if text == "None" and argument.type.is_list_like is not None:
        return "::std::nullopt"
    if text.startswith("["):
        return "{" + text[1:-1] + "}"
    if kind == "str" and text != "None":
        # JSON strings are valid C++ strings
        return json.dumps(ast.literal_eval(text))
    if text != "None" and kind in _ENUMERATIONS:
        return f"{_ENUMERATIONS[kind]}{''.join(word.capitalize() for word in text.split('_'))}"
    return _DEFAULTS.get(text, text)
