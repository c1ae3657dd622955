"""Operators of other namespaces than PyTorch's for the emitted C++: functions that call them through the dispatcher."""

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
#: Defaults of schemas that are spelled otherwise in C++.
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
#: What the names of constants begin with in C++, by type.
_ENUMERATIONS = {"ScalarType": "at::k", "Layout": "at::k"}
#: Base types that torchgen knows, and the parser of the schemas of libraries does not (torch/csrc/jit/frontend).
_OF_TORCHGEN = frozenset({"Dimname", "DimVector", "GraphModule"})
#: Namespaces of C++ that no operator of one's own can have: what PyTorch and C++ have there would be others.
_TAKEN = frozenset({"at", "c10", "std", "torch"})


def own_operators(natives: NativeFunctions) -> tuple[NativeFunction, ...]:
    """The operators of other namespaces, by namespace and name."""
    functions = (function for function in natives.written if function.namespace != ATEN)
    return tuple(sorted(functions, key=lambda function: (function.namespace, str(function.name))))


def with_called(model: Model, operators: Collection[str] | None) -> tuple[str, ...] | None:
    """The names of operators with those of one's own that have entries and that their formulas call.

    Without kernels of these a second derivative would silently be another one.
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
    """The last identifiers of all names in the formulas of entries."""
    trees = (formula.parsed.tree for entry in entries for formula in entry.formulas if formula.text is not None)
    nodes = (node for tree in trees if tree is not None for node in walk(tree) if isinstance(node, Name))
    return frozenset(node.parts[-1].identifier for node in nodes)


def refusal(function: NativeFunction) -> str | None:
    """The reason why no C++ can be written for an operator of one's own, or None if it can."""
    if function.namespace in _TAKEN:
        return f'"{function.namespace}" is a namespace of C++ that is PyTorch\'s own'
    if not function.namespace.isidentifier():
        return f'"{function.namespace}" is not a namespace of C++'
    return None


def undifferentiable_reason(function: NativeFunction) -> str | None:
    """The reason why an operator that is not PyTorch's cannot be differentiated, or None if it can.

    It has a type that PyTorch does not know, or writes to arguments in a way that autograd cannot follow: PyTorch's own
    that write in place do so to ``self``, and formulas have no other name for what they write.
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
    """The C++ function that calls an operator below some dispatch keys."""
    if function.namespace == ATEN:
        return f"at::_ops::{function.name.unambiguous_name}::redispatch"
    return f"{function.namespace}::redispatch_{function.name.unambiguous_name}"


def calling(function: NativeFunction) -> str:
    """The C++ function that calls an operator."""
    if function.namespace == ATEN:
        return f"at::_ops::{function.name.unambiguous_name}::call"
    return f"{function.namespace}::{function.cpp_name}"


def operators_header(functions: Iterable[NativeFunction], namespace: str, release: Release) -> str:
    """The header with functions for operators of one's own, which formulas and kernels call.

    They are in a namespace inside that of the nodes, which formulas find first. So ``my_ops::f(x)`` in a formula is the
    operator, also where the author's own headers have a function of that name, its kernel perhaps; what else is in the
    author's namespace is found there.

    Args:
        functions: the operators, sorted by namespace.
        namespace: the namespace of the nodes, whose formulas see them unqualified.
        release: the API of PyTorch that it is written for.
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
    """The namespaces of the autograd kernels and of those that track views, in ``torch::autograd``.

    Args:
        namespace: the namespace of the nodes.
    """
    stem = namespace.strip(":").replace("::", "_")
    return f"{stem}_kernels", f"{stem}_inplace_or_view"


def _visible(names: Iterable[str], namespace: str) -> str:
    """Return declarations that make operators visible in a namespace, with qualified names outside of the nodes'."""
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
        # strings of JSON are strings of C++
        return json.dumps(ast.literal_eval(text))
    if text != "None" and kind in _ENUMERATIONS:
        return f"{_ENUMERATIONS[kind]}{''.join(word.capitalize() for word in text.split('_'))}"
    return _DEFAULTS.get(text, text)
