"""Fake kernels for ``torch.library.register_fake``: they compute the sizes and types of outputs without data.

A tangent has the size and type of its output, so a forward formula gives them: it is evaluated with the arguments in
place of their tangents.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from derivlint.emit.python.expression import PythonExpression
from derivlint.emit.python.plan import Plan
from derivlint.emit.python.signature import parameters, return_annotation
from derivlint.emit.python.spelling import packet, python_name, qualified, recorded
from derivlint.emit.python.wrapping import assigned, indented, listed, wrapped
from derivlint.model.differentiable import is_tensor_list
from derivlint.schema import NativeFunction, NativeFunctions

#: The tag of operators whose result at an index only depends on the arguments at that index.
POINTWISE = "pointwise"
#: The tags of operators that cannot run without data.
NEED_DATA = frozenset({"data_dependent_output", "dynamic_output_shape"})


class Fake(Struct, frozen=True):
    """A fake kernel.

    Attributes:
        lines: the body of the function.
        operators: the operators that it calls, by full name.
        called: those of the same module, with their namespaces.
    """

    lines: tuple[str, ...]
    operators: frozenset[str]
    called: tuple[str, ...] = ()


class NoFake(Struct, frozen=True):
    """The reason why formulas do not determine the sizes of the outputs."""

    reason: str


def fakes_of(
    plans: Sequence[Plan], without_formulas: Sequence[NativeFunction], natives: NativeFunctions
) -> dict[str, Fake | NoFake]:
    """The fake kernel of each operator, by its name, or the reason why there is none.

    Args:
        plans: the plans of all operators with formulas.
        without_formulas: the called operators that have no formulas.
        natives: the operators, among which those that formulas call are looked up.
    """
    functions = [*(plan.function for plan in plans), *without_formulas]
    fakes: dict[str, Fake | NoFake] = {str(function.name): NoFake("it has no entry") for function in without_formulas}
    fakes |= {str(plan.function.name): _fake_of(plan, natives) for plan in plans}
    alike = _like_arguments(plans, functions)
    for name, fake in fakes.items():
        if isinstance(fake, NoFake) and name in alike:
            fakes[name] = Fake((f"return {', '.join(alike[name])}",), frozenset())
    computable: set[str] = set()
    count = -1
    while count < len(computable):
        count = len(computable)
        computable |= {
            name
            for name, fake in fakes.items()
            if isinstance(fake, Fake) and all(called in computable or called not in fakes for called in fake.operators)
        }
    names = {str(function.name): qualified(function) for function in functions}
    for name, fake in fakes.items():
        if isinstance(fake, NoFake):
            continue
        if name in computable:
            fakes[name] = replace(
                fake, called=tuple(names[operator] for operator in sorted(fake.operators & names.keys()))
            )
        else:
            culprit = min(called for called in fake.operators if called in fakes and called not in computable)
            fakes[name] = NoFake(f'its forward formula calls "{culprit}", whose own formulas do not give them')
    return fakes


def _fake_of(plan: Plan, natives: NativeFunctions) -> Fake | NoFake:
    if plan.is_inplace:
        return Fake((f"return {python_name(plan.function.schema.arguments.flat_non_out[0].name)}",), frozenset())
    # forward formulas use the names in the YAML; the schema may leave outputs unnamed
    assert plan.entry.function is not None
    keys = {output.key_name: output.name for output in plan.entry.function.outputs}
    values = {keys.get(name, name): tangent.value for tangent in plan.tangents for name in tangent.names}
    missing = next((name for name in plan.outputs if name not in values), None)
    if missing is not None:
        reason = plan.no_tangents if plan.no_tangents is not None and not plan.tangents else None
        return NoFake(reason or f'"{missing}" has no forward formula')
    if any(str(plan.function.name) in value.operators for value in values.values()):
        # auto_linear calls the operator itself
        return _of_gradient(plan, natives)
    for value in values.values():
        called = [natives.operator(name) for name in value.operators]
        culprit = next((item for item in called if item is not None and item.tags & NEED_DATA), None)
        if culprit is not None:
            return NoFake(f'its forward formula calls "{culprit.name}", whose result has sizes that depend on data')
        read = next((name for name in plan.outputs if name in value.names), None)
        if read is not None and (not _is_pointwise(value, natives) or (plan.flattened and len(_tensors(plan)) > 1)):
            return NoFake(f'its forward formula reads "{read}"')
    return Fake(tuple(_lines(plan, values)), frozenset().union(*(value.operators for value in values.values())))


def _like_arguments(plans: Sequence[Plan], functions: Sequence[NativeFunction]) -> dict[str, tuple[str, ...]]:
    """The arguments that the outputs of operators resemble, for operators that are called as gradients.

    A gradient has the size and type of its argument: by ``x: f_backward(grad, x)`` the output of ``f_backward`` is like
    its second argument.
    """
    operators = {spelling: function for function in functions for spelling in (packet(function), recorded(function))}
    alike: dict[str, tuple[str, ...]] = {}
    for gradient in (gradient for plan in plans for gradient in plan.gradients):
        call = ast.parse(gradient.value.text, mode="eval").body
        called = operators.get(ast.unparse(call.func)) if isinstance(call, ast.Call) else None
        if called is None or not isinstance(call, ast.Call) or len(called.schema.returns) != len(gradient.names):
            continue
        arguments = called.schema.arguments.flat_positional
        argument_names = {
            value.id: argument.name
            for value, argument in zip(call.args, arguments, strict=False)
            if isinstance(value, ast.Name) and str(argument.type) == "Tensor"
        }
        names = [argument_names.get(python_name(name)) for name in gradient.names]
        if all(names) and all(str(item.type) == "Tensor" for item in called.schema.returns):
            alike[str(called.name)] = tuple(python_name(name) for name in names if name is not None)
    return alike


def _of_gradient(plan: Plan, natives: NativeFunctions) -> Fake | NoFake:
    """The fake kernel of a linear operator, by its pointwise backward formula, whose input and output are alike."""
    tensors = _tensors(plan)
    gradient = plan.gradients[0].value
    if len(tensors) != 1 or len(plan.outputs) != 1 or plan.flattened or tensors[0] in gradient.names:
        return NoFake("its forward formula calls the operator itself")
    if not _is_pointwise(gradient, natives) or "grads" in gradient.names:
        return NoFake("its forward formula calls the operator itself")
    names = [f"{name} = {python_name(tensors[0])}" for name in plan.gradient_names]
    return Fake((*names, *wrapped("return ", gradient.text, "", 4)), gradient.operators)


def _is_pointwise(value: PythonExpression, natives: NativeFunctions) -> bool:
    called = [natives.operator(name) for name in value.operators]
    return not value.helpers and all(item is not None and POINTWISE in item.tags for item in called)


def _tensors(plan: Plan) -> list[str]:
    return [item.name for item in plan.function.schema.arguments.flat_non_out if item.type.is_tensor_like]


def _lines(plan: Plan, values: dict[str, PythonExpression]) -> list[str]:
    """The statements of the function: the variables of the formulas, and the formulas."""
    used = frozenset().union(*(value.names for value in values.values()))
    lines = []
    for argument in plan.function.schema.arguments.flat_non_out:
        name = python_name(argument.name)
        if is_tensor_list(argument.type) and argument.name in used:
            lines.append(f"{name} = F.Duals({name}, {name})")
        names = [variable for variable in (f"{argument.name}_t", f"{argument.name}_p") if variable in used]
        if names:
            lines.append(" = ".join([*names, name]))
    tensors = [python_name(name) for name in _tensors(plan)]
    read = [python_name(name) for name in plan.outputs if name in used]
    if read:
        lines.append(" = ".join([*read, tensors[0] if len(tensors) == 1 else f"F.broadcast({', '.join(tensors)})"]))
    texts = [values[name].text for name in plan.outputs]
    if plan.returns_list:
        text = texts[0] if plan.function.name.is_foreach else f"list({texts[0]})"
        return [*lines, *wrapped("return ", text, "", 4)]
    if len(texts) == 1:
        return [*lines, *wrapped("return ", texts[0], "", 4)]
    targets = [f"{name}_like" for name in plan.outputs]
    for target, text in zip(targets, texts, strict=True):
        lines += assigned(target, text, depth=1)
    return [*lines, f"return {', '.join(targets)}"]


def fake_text(function: NativeFunction, fake: Fake | NoFake) -> str:
    """The source of a fake kernel, or a comment with the reason why there is none."""
    if isinstance(fake, NoFake):
        return (
            f"# The formulas do not give the sizes of the outputs: {fake.reason}.\n"
            "# torch.compile needs a kernel for CompositeExplicitAutograd, or one for torch.library.register_fake."
        )
    schema = function.schema
    returns = (
        "list[Tensor]"
        if any(map(is_tensor_list, (item.type for item in schema.returns)))
        else return_annotation(schema)
    )
    names = [f'"{name}"' for name in (qualified(function), *fake.called)]
    head = listed("def _(", parameters(schema), f") -> {returns}:", depth=0)
    return "\n".join([f"@F.fake({', '.join(names)})", *head, *indented(fake.lines)])
