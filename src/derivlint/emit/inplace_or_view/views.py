"""The statements that make an output a view of ``self``, with what recreates it and what goes back."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.cpp_type import cpp_type, types
from derivlint.cpp.expressions.value import INT64
from derivlint.emit.kernels.subject import Subject
from derivlint.emit.selection import ATEN
from derivlint.emit.template import fill, load
from derivlint.emit.view_funcs.view_func import SELF, VIEW_INDEX, class_name, makes_several_views
from derivlint.model.differentiable import fits_view_function

#: The view that is given back to the function that goes from a view to its base.
_WRITTEN = "_written"
_REFERENCES = types("ArrayRef<int64_t> ArrayRef<SymInt>")
_OPTIONAL_INT64 = cpp_type("optional<int64_t>")


def is_replayed(subject: Subject) -> bool:
    """Whether the output is differentiable, so that autograd may have to make the view again."""
    return bool(subject.differentiability.outputs)


def is_refused(subject: Subject) -> bool:
    """Whether PyTorch's generator refuses the view: it has several returns, or arguments that cannot be kept."""
    outputs = subject.differentiability.outputs
    if outputs is None or len(outputs) > 1:
        return True
    return bool(outputs) and not all(
        fits_view_function(argument.type) for argument in subject.function.schema.arguments.flat_all
    )


def has_inverse(subject: Subject) -> bool:
    """Whether PyTorch has a function that goes from a view to its base; it does for its own operators."""
    return subject.function.namespace == ATEN


def view_body(subject: Subject, call: str) -> str:
    """All statements of a view's kernel.

    Args:
        subject: the function.
        call: the call of the kernel below.
    """
    if not is_replayed(subject):
        # neither gradients nor tangents flow through it
        return fill(load("inplace_or_view_view.cpp"), call=call, replay="", arguments="self, _view, false, false")
    several = makes_several_views(subject.function)
    # the history of one view among several cannot be rebased
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
    """Arguments as they can be kept: lists by value, an absent number as 0, which is all that inverses take."""
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
    """The declaration of the function that goes from a view to its base, as PyTorch has it.

    Follows torchgen/api/types/signatures.py, ``ViewInverseSignature``.
    """
    parameters = [
        "const at::Tensor & base",
        "const at::Tensor & mutated_view",
        "InverseReturnMode inverse_return_mode",
    ]
    if makes_several_views(subject.function):
        parameters.append("int64_t mutated_view_idx")
    # the inverses of views that decompose into others are declared by hand, with another type of integers
    by_hand = subject.function.has_composite_implicit_autograd_kernel
    for name, type in subject.formals.items():
        if name != SELF:
            parameters.append(f"{'int' if by_hand and type.canonical is INT64 else type} {name}")
    return f"static at::Tensor {_inverse_name(subject)}({', '.join(parameters)});"
