"""Forward-mode AD in kernels; follows gen_variable_type.py, ``emit_fw_derivatives`` and its callers."""

from __future__ import annotations

from derivlint.emit.kernels.saving import SELF, saves_self
from derivlint.emit.kernels.subject import Subject
from derivlint.emit.places import marked
from derivlint.emit.release import filled
from derivlint.model.differentiable import DifferentiableValue, is_tensor_list
from derivlint.model.entry import ForwardDerivative
from derivlint.model.generated.foreach import kernel_text

ORIGINAL_SELF = "original_self"
TENSOR_TANGENT = "::std::optional<at::Tensor>"
LIST_TANGENT = "::std::optional<std::vector<at::Tensor>>"

_OUT_REASON = "because it is an out= function"
_MISSING_REASON = (
    "because it has not been implemented yet.\\nPlease file an issue to PyTorch at "
    "https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can prioritize its "
    "implementation."
)


def _carries(value: DifferentiableValue) -> str:
    return f"{'any_tangent' if is_tensor_list(value.type) else 'has_tangent'}({value.name})"


def any_carries(subject: Subject) -> str:
    """The condition that any tensor of the call has a tangent."""
    return " || ".join(_carries(value) for value in subject.tensors)


def condition_name(forward: ForwardDerivative) -> str:
    """The variable for the condition of a forward formula."""
    return f"_any_has_forward_grad_{'_'.join(forward.var_names)}"


def output_condition(subject: Subject) -> tuple[str, int | None] | None:
    """The condition for differentiable outputs, and its offset in the YAML, or None."""
    conditions = subject.info.output_differentiability_conditions
    if not conditions:
        return None
    index = subject.info.source.index
    entry = subject.model.entries[index] if index is not None else None
    declared = entry.output_differentiability if entry is not None else None
    condition = declared.condition if declared is not None else None
    if entry is None or condition is None:
        return conditions[0], None
    return conditions[0], entry.place(condition).start


def conditions(subject: Subject) -> list[str]:
    """The declarations of the conditions of forward formulas, before the call changes anything."""
    if subject.is_foreach:
        return [line for forward in subject.forwards for line in _element_conditions(subject, forward)]
    statements = []
    extra = output_condition(subject)
    for forward in subject.forwards:
        names = forward.required_inputs_fw_grad or ()
        carriers = [_carries(value) for value in subject.inputs if value.name in names]
        # a formula that reads tangents from a list is always evaluated
        condition = " || ".join(carriers) or "true"
        if extra is not None:
            condition = f"({extra[0]}) && ({condition})"
        statements.append(f"[[maybe_unused]] const bool {condition_name(forward)} = {condition};")
    return statements


def _element_conditions(subject: Subject, forward: ForwardDerivative) -> list[str]:
    names = [value.name for value in subject.inputs if value.name in (forward.required_inputs_fw_grad or ())]
    statements = [
        f"expect_as_many(self, {subject.argument(name)});"
        for name in names
        if subject.is_list(name) and subject.argument(name) != SELF
    ]
    carriers = " || ".join(f"has_tangent({subject.element(name)})" for name in names) or "true"
    variable = condition_name(forward)
    return [
        *statements,
        f"std::vector<bool> {variable}(self.size());",
        "for (const auto i : c10::irange(self.size())) {",
        f"  {variable}[i] = {carriers};",
        "}",
    ]


def keep_original_self(subject: Subject) -> list[str]:
    """The copies of ``self`` for the forward formulas of an in-place kernel, and the variable for backward formulas."""
    if not subject.is_inplace:
        return []
    names = [condition_name(forward) for forward in subject.forwards if forward.required_original_self_value]
    if not names and not saves_self(subject):
        return []
    if subject.is_inplace_foreach:
        statements = [f"std::vector<{subject.release.spelled(TENSOR_TANGENT)}> original_selfs(self.size());"]
        if names:
            statements += [
                "for (const auto i : c10::irange(self.size())) {",
                f"  if ({' || '.join(f'{name}[i]' for name in names)}) original_selfs[i] = self[i].clone();",
                "}",
            ]
        return statements
    statements = [f"{subject.release.spelled(TENSOR_TANGENT)} original_self;"]
    if names:
        statements.append(f"if ({' || '.join(names)}) original_self = self.clone();")
    return statements


def forbid(subject: Subject) -> str:
    """The error for a tangent without a formula."""
    reason = _OUT_REASON if subject.is_out else _MISSING_REASON
    condition = any_carries(subject)
    if not condition:
        return ""
    message = f"Trying to use forward AD with {subject.api_name} that does not support it {reason}"
    return f'TORCH_CHECK_NOT_IMPLEMENTED(!({condition}), "{message}");'


def propagate(subject: Subject) -> list[str]:
    """The statements that evaluate all forward formulas and then set all tangents.

    A tangent that is set early would be visible to the next formula.
    """
    evaluations = []
    setters = []
    for forward in subject.forwards:
        names = (SELF,) if subject.is_inplace else forward.var_names
        evaluations.append(_evaluation(subject, forward, names))
        setters.extend(_setters(subject, forward, names))
    return [*evaluations, *setters]


def _is_list_output(forward: ForwardDerivative) -> bool:
    return is_tensor_list(forward.var_types[0])


def _evaluation(subject: Subject, forward: ForwardDerivative, names: tuple[str, ...]) -> str:
    text = forward.formula
    if subject.is_foreach:
        text = kernel_text(subject.function, subject.info.func.schema, text)
    formula = marked(text, None if forward.written is None else forward.written.value_span.start)
    unpack = "\n".join(_unpack(subject, forward))
    tangent = _variable(subject, names)
    condition = condition_name(forward)
    if subject.is_foreach:
        anything = " || ".join(f"{condition_name(forward)}[i]" for forward in subject.forwards)
        return filled(
            subject.release,
            "kernel_tangent_list",
            tangent=tangent,
            condition=anything,
            unpack=unpack,
            formula=formula,
        )
    kind = TENSOR_TANGENT
    if len(names) > 1:
        kind = f"::std::optional<std::tuple<{', '.join(['at::Tensor'] * len(names))}>>"
    elif _is_list_output(forward):
        kind = LIST_TANGENT
    else:
        condition = f"{condition} && {names[0]}.defined()"
    return filled(
        subject.release,
        "kernel_tangent",
        type=subject.release.spelled(kind),
        tangent=tangent,
        condition=condition,
        unpack=unpack,
        formula=formula,
    )


def _variable(subject: Subject, names: tuple[str, ...]) -> str:
    return f"{'_'.join(names)}_new_fw_grad_opt{'s' if subject.is_foreach else ''}"


def _unpack(subject: Subject, forward: ForwardDerivative) -> list[str]:
    """The variables ``x_t`` and ``x_p`` of a formula: tangent and primal of ``x``."""
    statements: list[str] = []
    writable = False
    for value in subject.inputs:
        name = value.name
        source = subject.element(name) if subject.is_foreach else name
        # the tangent of self is modified in place
        writable = subject.is_inplace and name == SELF
        if name in (forward.required_inputs_fw_grad or ()):
            statements.extend(_unpack_tangent(name, source, writable=writable))
        if name in (forward.required_inputs_primal or ()):
            statements.append(f"auto {name}_p = toNonOptPrimal({source});")
    if forward.required_original_self_value:
        source = f"{ORIGINAL_SELF}s[i]" if subject.is_inplace_foreach else ORIGINAL_SELF
        statements.extend(_unpack_tangent(ORIGINAL_SELF, source, writable=writable))
        statements.append(f"auto {ORIGINAL_SELF}_p = toNonOptPrimal({source});")
    elif subject.is_inplace and forward.is_reusing_outplace_formula:
        # no caller cloned self, and its tangent must survive in the graph that records this call
        statements.append("self_t = GradMode::is_enabled() ? self_t.clone() : self_t;")
    return statements


def _unpack_tangent(name: str, source: str, *, writable: bool) -> list[str]:
    function = "tangent_to_write" if writable else "tangent_or_zero"
    return [
        f"auto {name}_t_raw = toNonOptFwGrad({source});",
        f"auto {name}_tensor = toNonOptTensor({source});",
        f"auto {name}_t = {function}({name}_t_raw, {name}_tensor);",
    ]


def _setters(subject: Subject, forward: ForwardDerivative, names: tuple[str, ...]) -> list[str]:
    variable = _variable(subject, names)
    is_inplace = "true" if subject.is_inplace else "false"
    if subject.is_foreach:
        return [f"set_tangents_of_elements({names[0]}, {variable}, {is_inplace});"]
    if len(names) > 1:
        return [
            f"if ({variable}.has_value()) {{",
            *(f"  set_tangent({name}, std::get<{index}>(*{variable}), false);" for index, name in enumerate(names)),
            "}",
        ]
    function = "set_tangents" if _is_list_output(forward) else "set_tangent"
    return [f"{function}({names[0]}, {variable}, {is_inplace});"]
