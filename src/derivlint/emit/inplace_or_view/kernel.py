"""The kernels that PyTorch's generator writes for ``ADInplaceOrView``: of in-place and out functions, and of views.

Follows torchgen/packaged/autograd/gen_inplace_or_view_type.py in what a kernel does.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from derivlint.emit.inplace_or_view.views import has_inverse, inverse_declaration, is_refused, is_replayed, view_body
from derivlint.emit.kernels.subject import Subject, modifies_arguments, without_entry
from derivlint.emit.own_operators import redispatching
from derivlint.emit.template import fill, load
from derivlint.emit.view_funcs.view_func import by_name, class_name, generated_functions, has_view_func
from derivlint.model.differentiable import Differentiability
from derivlint.model.keys import DEFAULT
from derivlint.model.model import Model
from derivlint.operators import Book
from derivlint.schema import NativeFunction


class InplaceOrViewKernel(Struct, frozen=True):
    """The kernel of one function.

    Attributes:
        function: the function.
        name: the name of the C++ function.
        text: its definition.
        registration: the statement that registers it, in a ``TORCH_LIBRARY_IMPL`` with ``m``.
        view_func: the class that recreates its views; None where it makes none, or none that can be differentiated.
        inverse: the declaration of the function that goes back from a view to its base; empty without view function,
            and for operators that are not PyTorch's.
        line: the line of the entry that applies, None without one.
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
    """The kernels of a model, by the names of their functions.

    Args:
        model: a model without errors; a function that PyTorch's generator would refuse has no kernel.
        operators: the names of operators, as :func:`derivlint.emit.kernels.kernels` takes them; None for all.
    """
    candidates = generated_functions(model, operators, lambda function: _has_kernel(function, model.book))
    functions = sorted(candidates, key=by_name)
    return tuple(made for function in functions if (made := _kernel(model, function)) is not None)


def _has_kernel(function: NativeFunction, book: Book) -> bool:
    if modifies_arguments(function):
        # what is not returned cannot be given a history, so that nothing is tracked
        return bool(function.schema.returns)
    return has_view_func(function, book)


def _kernel(model: Model, function: NativeFunction) -> InplaceOrViewKernel | None:
    subject = _subject(model, function)
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
    place = "no entry" if subject.line is None else f"{subject.path}:{subject.line}"
    name = subject.name
    text = fill(
        load("inplace_or_view_kernel.cpp"),
        origin=f"{place}: {function.name}",
        return_type=subject.return_type,
        name=name,
        formals=subject.parameters,
        body=body,
    )
    registration = f'm.impl("{function.name}", TORCH_FN({name}));'
    return InplaceOrViewKernel(function, name, text, registration, view_func, inverse, subject.line, subject.path)


def _subject(model: Model, function: NativeFunction) -> Subject:
    match = model.match(function)
    # a kernel is for all dispatch keys, and what it does follows from the formulas for none of them
    if DEFAULT in match.infos:
        return Subject(model, Differentiability(match, DEFAULT), has_entry=True)
    return Subject(model, without_entry(function, model.book), has_entry=False)


def redispatch(subject: Subject) -> str:
    """The call of the function's kernel below."""
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
