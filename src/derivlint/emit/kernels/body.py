"""The body of one kernel, statement by statement; follows gen_variable_type.py, ``emit_body``."""

from __future__ import annotations

from derivlint.emit.kernels.saving import save_inputs, save_outputs
from derivlint.emit.kernels.subject import Subject
from derivlint.emit.kernels.tangents import (
    any_carries,
    conditions,
    forbid,
    keep_original_self,
    output_condition,
    propagate,
)
from derivlint.emit.own_operators import redispatching
from derivlint.emit.places import marked
from derivlint.emit.release import INTRUSIVE, filled
from derivlint.emit.selection import ATEN
from derivlint.emit.template import indented
from derivlint.model.differentiable import DifferentiableValue, is_tensor_list
from derivlint.operators import Book
from derivlint.schema import SchemaKind

#: The owning pointer of nodes in releases with node creation hooks.
NODE_POINTER = f"{INTRUSIVE}<Node>"


def body(subject: Subject) -> str:
    """The statements of the kernel."""
    statements = [
        f'expect_defined({argument.name}, "{argument.name}", {position});'
        for position, argument in enumerate(subject.function.schema.arguments.flat_all)
        if str(argument.type) == "Tensor"
    ]
    differentiable = subject.requires_derivative
    if differentiable:
        statements += (
            [
                f"if (compute_requires_grad({_names(values)})) {{\n"
                f'  throw_error_out_requires_grad("{subject.function.name.base}");\n'
                "}"
                for values in (subject.inputs, subject.outputs)
            ]
            if subject.is_out
            else _prepare(subject)
        )
    before, after = _argument_checks(subject) if subject.in_tree else ("", "")
    statements += [before, _call(subject), after]
    if differentiable:
        if not subject.is_out:
            statements.append(_history(subject))
        statements += _refuse_complex(subject)
    if subject.is_out:
        statements.append(forbid(subject))
    elif differentiable and not subject.differentiates_decomposition:
        statements += propagate(subject) if subject.forwards else [forbid(subject)]
    if differentiable and not subject.is_out:
        # after the tangents, so that saved outputs carry them
        statements.append(_save_outputs(subject))
        statements.append(_fire_creation_hooks(subject))
    if subject.resets_grad_accumulator:
        statements.append("reset_grad_accumulator(self);")
    statements.append(_return(subject))
    return "\n".join(statement for statement in statements if statement)


def _names(values: tuple[DifferentiableValue, ...]) -> str:
    return ", ".join(value.name for value in values)


# ---- before the call


def _prepare(subject: Subject) -> list[str]:
    with_derivatives = subject.inputs_with_derivatives
    arguments = ", ".join(subject.argument(value.name) for value in with_derivatives)
    statements = [f"[[maybe_unused]] auto _any_requires_grad = compute_requires_grad({arguments});"]
    extra = output_condition(subject)
    if extra is not None:
        statements.append(f"_any_requires_grad &= ({marked(*extra)});")
    statements += conditions(subject)
    if subject.is_inplace:
        statements += [f"check_inplace({value.name}, _any_requires_grad);" for value in subject.outputs]
    statements += keep_original_self(subject)
    statements += [
        f'check_no_requires_grad({subject.argument(value.name)}, "{value.name}", "{subject.api_name}");'
        for value in subject.differentiability.refused_inputs
    ]
    statements.append(_node(subject))
    return statements


def _node(subject: Subject) -> str:
    values = subject.inputs_with_derivatives
    inputs = (
        ", ".join(subject.element(value.name) for value in values) if subject.is_inplace_foreach else _names(values)
    )
    return filled(
        subject.release,
        "kernel_node_list" if subject.is_inplace_foreach else "kernel_node",
        node=subject.node_type,
        new_node=subject.release.new_node(subject.node_type, subject.node_argument),
        inputs=inputs,
        save=save_inputs(subject),
    )


# ---- the call


def _call(subject: Subject) -> str:
    function = subject.function
    arguments = list(subject.formals)
    call = f"{redispatching(function)}({', '.join(['ks & c10::after_autograd_keyset', *arguments])})"
    # views and in-place writes still have to reach the kernel that tracks views and versions
    keeps_tracking = subject.makes_view or subject.modifies_arguments
    below = "AutoDispatchBelowAutograd" if keeps_tracking else "AutoDispatchBelowADInplaceOrView"
    guard = f"at::{below} guard;"
    if subject.modifies_arguments or subject.differentiability.is_void:
        return f"{{\n  {guard}\n  {call};\n}}"
    decomposition = ""
    if subject.differentiates_decomposition:
        decomposition = filled(
            subject.release,
            "kernel_decomposition",
            has_tangents=any_carries(subject),
            operator=function.name.name_without_overload,
            overload=function.name.overload,
            return_type=subject.return_type,
            arguments=", ".join([f'"{subject.api_name}"', "_operator", "ks", *arguments]),
        )
    names = subject.return_names
    results = f"auto {names[0]}" if len(names) == 1 else f"auto [{', '.join(names)}]"
    return filled(
        subject.release,
        "kernel_call",
        results=results,
        return_type=subject.return_type,
        decomposition=decomposition,
        guard=guard,
        call=call,
    )


def _argument_checks(subject: Subject) -> tuple[str, str]:
    """The assertions of debug builds around the call; follows ``check_tensorimpl_and_storage``."""
    function, book = subject.function, subject.model.book
    if function.cpp_name in book.names("other-impl-or-storage"):
        return "", ""
    names = [
        argument.name
        for argument in function.schema.arguments.flat_all
        if str(argument.type) == "Tensor" or is_tensor_list(argument.type)
    ]
    before = [f"const Arguments _{name}_before({name});" for name in names]
    after = [f"_{name}_before.expect({name});" for name in names]
    api_name = function.cpp_name_with_overload
    for name, item in zip(subject.return_names, function.schema.returns, strict=True):
        if subject.modifies_arguments or str(item.type).partition("(")[0] != "Tensor":
            continue
        if function.name.base in book.names("view") | Book.by_hand("shares-storage"):
            after.append(f"expect_same_storage(self, {name});")
        elif api_name not in book.names("shared-storage"):
            after.append(f'expect_own_storage({name}, "{api_name}");')
        if api_name not in book.names("shared-impl"):
            after.append(f'expect_own_impl({name}, "{api_name}");')
    return _in_debug_builds(before), _in_debug_builds(after)


def _in_debug_builds(statements: list[str]) -> str:
    return "\n".join(["#ifndef NDEBUG", *statements, "#endif"]) if statements else ""


# ---- after the call


def _history(subject: Subject) -> str:
    set_or_rebase = "rebase" if _is_rebased(subject) else "set"
    keeps = _is_rebased(subject) and subject.release.fires_creation_hooks
    if not subject.is_inplace_foreach:
        outputs = f"flatten_tensor_args({_names(subject.outputs)})"
        declaration, assignment = (f"{NODE_POINTER} _rebased_fn;\n", "_rebased_fn = ") if keeps else ("", "")
        return f"{declaration}if (grad_fn) {{\n  {assignment}{set_or_rebase}_history({outputs}, grad_fn);\n}}"
    # elements of a list of tensors are const
    output = "self[i]" if subject.release.sets_history_of_const else "flatten_tensor_args(self[i])"
    declaration, assignment = "", ""
    if keeps:
        declaration, assignment = f"std::vector<{NODE_POINTER}> _rebased_fns(grad_fns.size());\n", "_rebased_fns[i] = "
    return (
        f"{declaration}for (const auto i : c10::irange(grad_fns.size())) {{\n"
        "  if (grad_fns[i]) {\n"
        f"    {assignment}{set_or_rebase}_history({output}, grad_fns[i]);\n"
        "  }\n"
        "}"
    )


def _is_rebased(subject: Subject) -> bool:
    # an in-place view already has a history from the kernel that tracks views
    return subject.modifies_arguments and not subject.makes_view


def _fire_creation_hooks(subject: Subject) -> str:
    """The call of the node creation hooks; an in-place change of a view passes the node of its base."""
    if not subject.release.fires_creation_hooks:
        return ""
    node = "_rebased_fn" if _is_rebased(subject) else "grad_fn"
    if not subject.is_inplace_foreach:
        return f"if ({node}) {{\n  fire_node_creation_hooks({node});\n}}"
    return f"for (const auto& node : {node}s) {{\n  if (node) {{\n    fire_node_creation_hooks(node);\n  }}\n}}"


def _refuse_complex(subject: Subject) -> list[str]:
    base = subject.function.name.base
    # PyTorch's list of operators that support complex numbers has its own operators only
    accepts = subject.function.namespace != ATEN or subject.model.book.is_complex_differentiable(subject.function)
    if accepts or subject.function.schema.kind in (SchemaKind.inplace, SchemaKind.out):
        return []
    written = {
        name for name, item in zip(subject.return_names, subject.function.schema.returns, strict=True) if item.is_write
    }
    return [
        f'throw_error_for_complex_autograd({value.name}, "{base}");'
        for value in subject.outputs
        if str(value.type) == "Tensor" and value.name not in written
    ]


def _save_outputs(subject: Subject) -> str:
    saved = save_outputs(subject)
    if not saved:
        return ""
    if not subject.is_inplace_foreach:
        return f"if (grad_fn) {{\n  {indented(saved, '  ')}\n}}"
    return (
        "for (const auto i : c10::irange(grad_fns.size())) {\n"
        "  if (const auto& grad_fn = grad_fns[i]) {\n"
        f"    {indented(saved, '    ')}\n"
        "  }\n"
        "}"
    )


def _return(subject: Subject) -> str:
    names = subject.return_names
    if not names:
        return ""
    if len(names) == 1:
        return f"return {names[0]};"
    if subject.is_out:
        return f"return std::forward_as_tuple({', '.join(names)});"
    return f"return std::make_tuple({', '.join(f'std::move({name})' for name in names)});"
