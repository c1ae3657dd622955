"""The ``ADInplaceOrView`` kernels, which track views and version counters, and their files.

The kernels follow torchgen/packaged/autograd/gen_inplace_or_view_type.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from derivlint.cpp.cpp_type import INT64, cpp_type, types
from derivlint.emit.kernels.kernel import registrations
from derivlint.emit.kernels.subject import Subject, modifies_arguments, without_entry
from derivlint.emit.own_operators import kernel_namespaces, redispatching
from derivlint.emit.release import DEFAULT as DEFAULT_RELEASE
from derivlint.emit.release import Release
from derivlint.emit.selection import ATEN
from derivlint.emit.template import fill, load
from derivlint.emit.view_funcs import (
    HEADER,
    SELF,
    SHIPPED_NAMESPACE,
    VIEW_INDEX,
    class_name,
    generated_functions,
    has_view_func,
    makes_several_views,
    operator_headers,
)
from derivlint.model.differentiable import Differentiability, fits_view_function
from derivlint.model.keys import DEFAULT
from derivlint.model.model import Model
from derivlint.operators import Book
from derivlint.schema import NativeFunction

#: The dispatch key.
KEY = "ADInplaceOrView"
#: The declaration that some releases have in an unpackaged header.
INVERSE_MODE = "enum class InverseReturnMode { AlwaysView, NeverView, ViewOrScatterInverse };"
#: The view passed to the inverse function, which maps a view to its base.
_WRITTEN = "_written"
_REFERENCES = types("ArrayRef<int64_t> ArrayRef<SymInt>")
_OPTIONAL_INT64 = cpp_type("optional<int64_t>")


class InplaceOrViewKernel(Struct, frozen=True):
    """The kernel of one function.

    Attributes:
        function: the function.
        name: the name of the C++ function.
        text: its definition.
        registration: the statement that registers it, in a ``TORCH_LIBRARY_IMPL`` with ``m``.
        view_func: the class that recreates its views; None without differentiable views.
        inverse: the declaration of the inverse function; empty without view function, and for custom operators.
        line: the line of the entry that applies, or None.
        file: the name of the YAML file.
    """

    function: NativeFunction
    name: str
    text: str
    registration: str
    view_func: str | None
    inverse: str
    line: int | None
    file: str


def inplace_or_view_kernels(model: Model, operators: Collection[str] | None = None) -> tuple[InplaceOrViewKernel, ...]:
    """The kernels of a model, sorted by function name.

    Args:
        model: a model without errors; a function that torchgen would reject has no kernel.
        operators: the names of operators, as :func:`derivlint.emit.kernels.kernels` takes them; None for all.
    """
    functions = generated_functions(model, operators, lambda function: _has_kernel(function, model.book))
    made = (_kernel(model, function) for function in sorted(functions, key=lambda function: str(function.name)))
    return tuple(kernel for kernel in made if kernel is not None)


def _has_kernel(function: NativeFunction, book: Book) -> bool:
    if modifies_arguments(function):
        # values that are not returned cannot get a history, so nothing is tracked
        return bool(function.schema.returns)
    return has_view_func(function, book)


def _kernel(model: Model, function: NativeFunction) -> InplaceOrViewKernel | None:
    match = model.match(function)
    # one kernel serves all dispatch keys, so it depends on the formulas for none of them
    has_entry = DEFAULT in match.infos
    differentiability = Differentiability(match, DEFAULT) if has_entry else without_entry(function, model.book)
    subject = Subject(model, differentiability, has_entry=has_entry)
    view_func = None
    inverse = ""
    if modifies_arguments(function):
        body = _inplace_body(subject)
    else:
        if is_refused(subject):
            return None
        if is_replayed(subject):
            view_func = class_name(function)
            inverse = inverse_declaration(subject) if has_inverse(subject) else ""
        body = view_body(subject, redispatch(subject))
    name = subject.name
    text = fill(
        load("inplace_or_view_kernel.cpp"),
        origin=f"{subject.path if subject.has_entry else 'no entry'}: {function.name}",
        return_type=subject.return_type,
        name=name,
        formals=subject.parameters,
        body=body,
    )
    registration = f'm.impl("{function.name}", TORCH_FN({name}));'
    return InplaceOrViewKernel(function, name, text, registration, view_func, inverse, subject.line, subject.path)


def redispatch(subject: Subject) -> str:
    """The call that redispatches below ADInplaceOrView."""
    arguments = ", ".join(["ks & c10::after_ADInplaceOrView_keyset", *subject.formals])
    return f"{redispatching(subject.function)}({arguments})"


def _inplace_body(subject: Subject) -> str:
    names = subject.return_names
    result = names[0] if len(names) == 1 else f"std::forward_as_tuple({', '.join(names)})"
    return fill(
        load("inplace_or_view_inplace.cpp"),
        call=redispatch(subject),
        versions="\n".join(f"increment_version({name});" for name in names),
        result=f"return {result};",
    )


def is_replayed(subject: Subject) -> bool:
    """Whether the output is differentiable, so that autograd may recreate the view."""
    return bool(subject.differentiability.outputs)


def is_refused(subject: Subject) -> bool:
    """Whether torchgen rejects the view: it has several returns, or arguments that a view function cannot hold."""
    outputs = subject.differentiability.outputs
    if outputs is None or len(outputs) > 1:
        return True
    return bool(outputs) and not all(
        fits_view_function(argument.type) for argument in subject.function.schema.arguments.flat_all
    )


def has_inverse(subject: Subject) -> bool:
    """Whether PyTorch has an inverse function, from a view to its base; only for its own operators."""
    return subject.function.namespace == ATEN


def view_body(subject: Subject, call: str) -> str:
    """The statements of a view's kernel.

    Args:
        subject: the function.
        call: the redispatching call.
    """
    if not is_replayed(subject):
        # neither gradients nor tangents propagate through it
        return fill(load("inplace_or_view_view.cpp"), call=call, replay="", arguments="self, _view, false, false")
    several = makes_several_views(subject.function)
    # the history of one of several views cannot be rebased
    meta = "MULTI_OUTPUT_NODE" if several else "DEFAULT"
    arguments = ",\n    ".join(
        [
            f"\n    {SELF}",
            "_views[view_idx]" if several else "_view",
            "true",
            "true",
            "std::move(_view_func)",
            "std::move(_reverse_view_func)",
            f"creation_meta(CreationMeta::{meta})",
        ]
    )
    template = load("inplace_or_view_views.cpp" if several else "inplace_or_view_view.cpp")
    return fill(template, call=call, replay=_replay(subject, several), arguments=arguments)


def _replay(subject: Subject, several: bool) -> str:
    index = [VIEW_INDEX] if several else []
    names = [name for name in subject.formals if name != SELF]
    functions = fill(
        load("inplace_or_view_functions.cpp"),
        view_func=class_name(subject.function),
        arguments=", ".join(names + index),
    )
    if has_inverse(subject):
        functions += "\n" + fill(
            load("inplace_or_view_inverse.cpp"),
            captures=", ".join([SELF, *index, *_captures(subject)]),
            inverse=_inverse_name(subject),
            inverse_arguments=", ".join([SELF, _WRITTEN, "InverseReturnMode::AlwaysView", *index, *names]),
        )
    is_always = subject.api_name in subject.model.book.names("view-of-other-metadata")
    template = "inplace_or_view_replay_always.cpp" if is_always else "inplace_or_view_replay.cpp"
    return fill(load(template), functions=functions)


def _captures(subject: Subject) -> Iterator[str]:
    """The captures of an inverse function: lists by value, absent numbers as 0, since inverses take no optionals."""
    for name, type in subject.formals.items():
        if name == SELF:
            continue
        if type.canonical in _REFERENCES:
            yield f"{name} = {name}.vec()"
        elif type.canonical is _OPTIONAL_INT64:
            yield f"{name} = {name}.value_or(0)"
        else:
            yield name


def _inverse_name(subject: Subject) -> str:
    return f"{subject.function.name.unambiguous_name}_inverse"


def inverse_declaration(subject: Subject) -> str:
    """The declaration of the function that maps a view to its base, as in PyTorch.

    Follows torchgen/api/types/signatures.py, ``ViewInverseSignature``.
    """
    parameters = [
        "const at::Tensor & base",
        "const at::Tensor & mutated_view",
        "InverseReturnMode inverse_return_mode",
    ]
    if makes_several_views(subject.function):
        parameters.append("int64_t mutated_view_idx")
    # the inverses of composite views are declared by hand, with another integer type
    by_hand = subject.function.has_composite_implicit_autograd_kernel
    for name, type in subject.formals.items():
        if name != SELF:
            parameters.append(f"{'int' if by_hand and type.canonical is INT64 else type} {name}")
    return f"static at::Tensor {_inverse_name(subject)}({', '.join(parameters)});"


def inplace_or_view_source(
    kernels: Sequence[InplaceOrViewKernel],
    namespace: str = SHIPPED_NAMESPACE,
    *,
    view_funcs_header: str = HEADER,
    release: Release = DEFAULT_RELEASE,
) -> str:
    """Render a source file of kernels.

    Args:
        kernels: the kernels in the file.
        namespace: the namespace of the extension.
        view_funcs_header: the header that declares the view functions.
        release: the PyTorch API of the kernels.
    """
    by_library: dict[str, list[str]] = {} if kernels else {ATEN: []}
    for kernel in kernels:
        by_library.setdefault(kernel.function.namespace, []).append(kernel.registration)
    return fill(
        load("inplace_or_view_shard.cpp") + "\n",
        source=kernels[0].file if kernels else "derivatives.yaml",
        view_funcs_header=view_funcs_header,
        operators=operator_headers([kernel.function for kernel in kernels]),
        inverses=fill(
            load("inplace_or_view_inverses.h"),
            mode="" if release.declares_inverse_mode else INVERSE_MODE,
            declarations="\n".join(kernel.inverse for kernel in kernels if kernel.inverse),
        ),
        kernels_namespace=kernel_namespaces(namespace)[1],
        view_funcs_namespace=namespace.removeprefix("::"),
        kernels="\n\n".join(kernel.text for kernel in kernels),
        registrations="\n\n".join(registrations(library, KEY, lines) for library, lines in by_library.items()),
    )


def variable_type_header() -> str:
    """PyTorch's ``VariableType.h``, which is independent of the model: it declares hand-written functions."""
    return load("variable_type.h") + "\n"
