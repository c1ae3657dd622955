"""Statements that save values in the node; follows gen_variable_type.py, ``save_variables`` and ``guard_for``."""

from __future__ import annotations

from collections.abc import Iterable

from derivlint.cpp.cpp_type import SCALAR, TENSOR, cpp_type, types
from derivlint.emit.kernels.subject import Subject
from derivlint.emit.places import marked
from derivlint.emit.template import indented
from derivlint.formula import Call, Name, parse_formula
from derivlint.model.differentiable import is_tensor_list
from derivlint.model.entry import Derivative
from derivlint.model.generated.gradients import GRAD_INPUT_MASK
from derivlint.model.generated.saved import OPTIONAL_STRING_VIEW, SavedAttribute
from derivlint.operators.special import WRAP_OPT_IF

SELF = "self"
STRING_VIEW = cpp_type("string_view")
_LISTS = types("ArrayRef<Tensor> IListRef<Tensor> vector<Tensor> List<optional<Tensor>>")
#: Array references; the node saves copies of them.
_ARRAYS = types("ArrayRef<int64_t> ArrayRef<SymInt> ArrayRef<Scalar>")


def original_self(subject: Subject) -> str:
    """The variable with the value of ``self`` before the call."""
    return "original_selfs[i]" if subject.is_inplace_foreach else "original_self"


def saves_self(subject: Subject) -> bool:
    """Whether the node saves ``self``."""
    return any(saved.is_tensor and saved.name == SELF for saved in subject.info.all_saved_inputs)


def save_inputs(subject: Subject) -> str:
    """The statements that save arguments and their properties before the call."""
    info = subject.info
    if not info.has_derivatives:
        return ""
    statements = [
        _guarded(_input_statement(subject, saved), guard(subject, saved)) for saved in _in_order(info.all_saved_inputs)
    ]
    if not subject.is_inplace_foreach:
        statements.extend(
            f"grad_fn->{value.name}_size_ = {value.name}.size();"
            for value in subject.inputs_with_derivatives
            if is_tensor_list(value.type)
        )
    return "\n".join(statements)


def save_outputs(subject: Subject) -> str:
    """The statements that save outputs after the call."""
    if not subject.info.has_derivatives:
        return ""
    return "\n".join(_output_statement(subject, saved) for saved in _in_order(subject.info.all_saved_outputs))


def _in_order(attributes: Iterable[SavedAttribute]) -> list[SavedAttribute]:
    return sorted(attributes, key=lambda saved: saved.name)


def _guarded(statement: str, condition: str | None) -> str:
    if condition is None:
        return statement
    return f"if ({condition}) {{\n  {indented(statement, '  ')}\n}}"


def _input_statement(subject: Subject, saved: SavedAttribute) -> str:
    if saved.is_tensor:
        if saved.name == SELF and subject.is_inplace:
            # the call overwrites self
            original = original_self(subject)
            clone = f"if (!{original}.has_value()) {original} = {subject.element(SELF)}.clone();"
            return f"{clone}\ngrad_fn->self_ = SavedVariable({original}.value(), false);"
        return f"grad_fn->{saved.name}_ = SavedVariable({subject.over_elements(saved.name)}, false);"
    if saved.type.canonical in _LISTS:
        return f"grad_fn->{saved.name}_ = make_saved_variable_list({saved.name}, false);"
    return _value_statement(subject, saved)


def _output_statement(subject: Subject, saved: SavedAttribute) -> str:
    type = saved.type.canonical
    if saved.is_tensor or type is SCALAR:
        if subject.is_inplace:
            # the output is self, and a view of it is saved as a view
            output = subject.element(SELF)
            return f"grad_fn->{saved.name}_ = SavedVariable({output}, true, {output}.is_view());"
        return f"grad_fn->{saved.name}_ = SavedVariable({saved.name}, true);"
    if type in _LISTS:
        is_output = "true" if subject.is_foreach else "false"
        return f"grad_fn->{saved.name}_ = make_saved_variable_list({saved.name}, {is_output});"
    return _value_statement(subject, saved)


def _value_statement(subject: Subject, saved: SavedAttribute) -> str:
    # a property of an argument, in the model's C++ if it is not part of the formula
    value = subject.release.spelled(subject.over_elements(saved.expr))
    type = saved.type.canonical
    if type in _ARRAYS:
        value = f"{value}.vec()"
    elif type is STRING_VIEW:
        value = f"std::string({value})"
    elif type is OPTIONAL_STRING_VIEW:
        some, none = map(subject.release.spelled, ("::std::optional<std::string>", "::std::nullopt"))
        value = f"{value}.has_value() ? {some}(std::string({value}.value())) : {none}"
    start = None if saved.expr == saved.name else _start_of(subject, saved)
    return f"grad_fn->{saved.name} = {marked(value, start)};"


def _start_of(subject: Subject, saved: SavedAttribute) -> int | None:
    """The offset of the first formula that needs a saved value."""
    for derivative in subject.info.derivatives:
        if saved in derivative.saved_inputs or saved in derivative.saved_outputs:
            return None if derivative.written is None else derivative.written.value_span.start
    return None


def guard(subject: Subject, saved: SavedAttribute) -> str | None:
    """The C++ condition for saving a tensor: its only user is needed. None if it is always saved."""
    info = subject.info
    edges = subject.inputs_with_derivatives
    has_list = not subject.is_inplace_foreach and any(is_tensor_list(value.type) for value in edges)
    # torchgen looks at the name as well: a node of second derivatives only exists if it is needed
    if saved.type.canonical is not TENSOR or has_list or "backward" in info.name or len(edges) < 2:
        return None
    users = [derivative for derivative in info.derivatives if saved in derivative.saved_inputs]
    if len(users) != 1:
        return None
    user = users[0]
    positions = {value.name: index for index, value in enumerate(edges)}
    if len(user.var_names) != 1:
        return _written_condition(saved.name, user, positions)
    position = positions.get(user.var_names[0])
    return None if position is None else _is_needed(position)


def _is_needed(position: int) -> str:
    return f"grad_fn->should_compute_output({position})"


def _written_condition(name: str, user: Derivative, positions: dict[str, int]) -> str | None:
    """The condition of ``wrap_opt_if(name, condition)``, with the gradient mask in terms of the kernel."""
    if WRAP_OPT_IF not in user.formula:
        return None
    formula = parse_formula(user.formula)
    if formula.tree is None:
        return None
    for node in formula.nodes:
        if not isinstance(node, Call) or not isinstance(node.callee, Name) or node.callee.simple != WRAP_OPT_IF:
            continue
        if len(node.args) == 2 and isinstance(node.args[0], Name) and node.args[0].simple == name:
            condition = formula.text[node.args[1].start : node.args[1].end]
            for index, variable in enumerate(user.var_names):
                if variable in positions:
                    condition = condition.replace(f"{GRAD_INPUT_MASK}[{index}]", _is_needed(positions[variable]))
            return None if GRAD_INPUT_MASK in condition else condition
    return None
