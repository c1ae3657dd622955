"""The backward formulas of a node as statements: what is computed, for which arguments, and where it is put.

Follows torchgen/packaged/autograd/gen_autograd_functions.py (``emit_derivative``).
"""

from __future__ import annotations

from collections.abc import Mapping

from derivlint.emit.release import Release
from derivlint.emit.template import fill, in_yaml, load
from derivlint.formula import apply_edits
from derivlint.model import Derivative, DifferentiabilityInfo
from derivlint.model.generated.evaluation import is_guarded
from derivlint.model.generated.gradients import GRAD_INPUT_MASK
from derivlint.source import SourceFile


def formula_statements(info: DifferentiabilityInfo, source: SourceFile, file: str, release: Release) -> list[str]:
    """The statements that compute all gradients.

    Args:
        info: the info.
        source: the YAML file.
        file: its name in line directives.
        release: the API of PyTorch that they are written against.
    """
    indices = {binding.name: index for index, binding in enumerate(info.args_with_derivatives)}
    # a key that names something else is an error of the file, and has no gradient to fill
    derivatives = [derivative for derivative in info.derivatives if indices.keys() >= set(derivative.var_names)]
    statements = []
    if any(is_guarded(info, derivative) for derivative in derivatives):
        statements.append("const bool any_grad_defined = any_variable_defined(grads);")
    for derivative in derivatives:
        formula = derivative.written
        expression = _expression(derivative, release)
        if formula is not None:
            expression = in_yaml(expression, file, source.position(formula.value_span.start).line)
        if len(derivative.var_names) == 1:
            statements.append(_single(info, derivative, f"({expression})", indices))
        else:
            statements.append(_multi(info, derivative, f"({expression})", indices))
    return statements


def _expression(derivative: Derivative, release: Release) -> str:
    """The formula, where what the model put into it is C++ of the release."""
    spelled = [edit._replace(text=release.spelled(edit.text)) for edit in derivative.edits]
    changed = any(new != old for new, old in zip(spelled, derivative.edits, strict=True))
    return apply_edits(derivative.original_formula, spelled) if changed else derivative.formula


def _single(info: DifferentiabilityInfo, derivative: Derivative, value: str, indices: Mapping[str, int]) -> str:
    (argument,) = derivative.var_names
    condition = f"needs_input_grad[{indices[argument]}]"
    if is_guarded(info, derivative):
        if info.args_with_derivatives[indices[argument]].is_tensor_list:
            condition = f"any_grad_defined && {condition}"
        else:
            value = f"any_grad_defined ? {value} : Tensor()"
    template = load("node_foreach.cpp" if info.func.name.is_foreach else "node_single.cpp")
    return fill(template, condition=condition, argument=argument, value=value)


def _multi(info: DifferentiabilityInfo, derivative: Derivative, value: str, indices: Mapping[str, int]) -> str:
    needed = [f"needs_input_grad[{indices[name]}]" for name in derivative.var_names]
    mask = ""
    # as torchgen reads it: the text anywhere in the formula
    if GRAD_INPUT_MASK in derivative.formula:
        mask = f"const std::array<bool, {len(needed)}> {GRAD_INPUT_MASK}{{{', '.join(needed)}}};"
    copy = load("node_copy.cpp")
    copies = [
        fill(copy, index=str(indices[name]), argument=name, position=str(position))
        for position, name in enumerate(derivative.var_names)
    ]
    condition = " || ".join(needed)
    if is_guarded(info, derivative):
        condition = f"any_grad_defined && ({condition})"
    return fill(load("node_multi.cpp"), condition=condition, mask=mask, value=value, copies="\n".join(copies))
