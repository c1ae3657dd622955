"""The entry of an operator from its schema, with skeletons of the functions that it calls."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from derivlint.authoring.signature import OperatorSignature, parameter
from derivlint.schema import Type

_TENSOR = "at::Tensor"
_TENSORS = "std::vector<at::Tensor>"


class HelperSkeleton(Struct, frozen=True):
    """A function for FunctionsManual.

    Attributes:
        declaration: its declaration, without the semicolon.
        purpose: the description of its result.
    """

    declaration: str
    purpose: str

    @property
    def skeleton(self) -> str:
        """The definition with an empty body."""
        return (
            f'{self.declaration} {{\n  // {self.purpose}\n  TORCH_CHECK_NOT_IMPLEMENTED(false, "to be written");\n}}\n'
        )


class EntrySkeleton(Struct, frozen=True):
    """An entry, and the functions that it calls."""

    text: str
    helpers: tuple[HelperSkeleton, ...]


def skeleton(
    signature: OperatorSignature, taken: Collection[str], *, has_foreach: bool, is_method: bool
) -> EntrySkeleton:
    """Return the entry of an operator, with a new function for each gradient and each tangent.

    Args:
        signature: the operator.
        taken: the names of existing functions.
        has_foreach: whether there are foreach functions, whose formulas are derived by replacing argument names
            everywhere, including in function names.
        is_method: whether the operator is only a method of tensors.
    """
    helpers: list[HelperSkeleton] = []
    lines = [f"- name: {signature.schema}"]
    if not all(signature.outputs):
        flags = ", ".join("True" if flag else "False" for flag in signature.outputs)
        lines.append(f"  output_differentiability: [{flags}]")
    lines += [f"  {argument.name}: non_differentiable" for argument in signature.integral]
    several = sum(signature.outputs) > 1
    gradient = ("grads", "const std::vector<at::Tensor>& grads") if several else ("grad", "const at::Tensor& grad")
    for number, argument in enumerate(signature.inputs, 1):
        about = f"_{argument.name}" if len(signature.inputs) > 1 else ""
        if has_foreach and about:
            about = f"_{number}"
        name = _free(f"{signature.name}{about}_backward", taken)
        names = [gradient[0], *(part.name for part in signature.arguments)]
        parameters = [gradient[1], *(parameter(part) for part in signature.arguments)]
        result = _TENSORS if _is_list(argument.type) else _TENSOR
        purpose = f'The gradient of "{argument.name}", linear in "{gradient[0]}".'
        helpers.append(HelperSkeleton(f"{result} {name}({', '.join(parameters)})", purpose))
        lines.append(f"  {argument.name}: {name}({', '.join(names)})")
    returned = zip(signature.output_names, signature.schema.returns, signature.outputs, strict=True)
    for output, item, is_differentiable in returned:
        if not is_differentiable or any(_is_list(argument.type) for argument in signature.inputs):
            # the form of tangents of lists differs between operators
            continue
        if signature.is_view:
            # a view is linear, so its tangent is the view of the tangent
            lines.append(f"  {output}: {_applied_to_tangent(signature, is_method)}")
            continue
        about = f"_{output}" if several else ""
        name = _free(f"{signature.name}{about}_jvp", taken)
        passed = list(_tangents(signature))
        result = _TENSORS if _is_list(item.type) else _TENSOR
        purpose = f'The tangent of "{output}", linear in the tangents.'
        helpers.append(HelperSkeleton(f"{result} {name}({', '.join(part[1] for part in passed)})", purpose))
        lines.append(f"  {output}: {name}({', '.join(part[0] for part in passed)})")
    return EntrySkeleton("\n".join(lines) + "\n", tuple(helpers))


def _applied_to_tangent(signature: OperatorSignature, is_method: bool) -> str:
    """Return the call of the operator on the tangents of its arguments."""
    names = [f"{item.name}_t" if item in signature.inputs else item.name for item in signature.arguments]
    suffix = "_symint" if any("SymInt" in str(item.type) for item in signature.arguments) else ""
    name = f"{signature.schema.name.base}{suffix}"
    return f"{names[0]}.{name}({', '.join(names[1:])})" if is_method else f"at::{name}({', '.join(names)})"


def _tangents(signature: OperatorSignature) -> Iterator[tuple[str, str]]:
    """Yield the arguments of a forward formula's helper, with their parameters."""
    for argument in signature.arguments:
        if argument in signature.inputs:
            for suffix in ("_p", "_t"):
                yield f"{argument.name}{suffix}", f"const at::Tensor& {argument.name}{suffix}"
        else:
            yield argument.name, parameter(argument)


def _is_list(type_: Type) -> bool:
    return type_.is_list_like is not None


def _free(stem: str, taken: Collection[str]) -> str:
    """Return an unused function name."""
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}{number}"
    return name
