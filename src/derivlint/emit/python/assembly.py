"""The text of one entry: its Function, and the public function over it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from derivlint.emit.python.fake import Fake, NoFake, fake_text
from derivlint.emit.python.function import FunctionWriter
from derivlint.emit.python.plan import Plan
from derivlint.emit.python.signature import class_name, function_name
from derivlint.emit.python.spelling import literal, qualified
from derivlint.emit.python.wrapping import wrapped
from derivlint.emit.template import fill, load
from derivlint.schema import NativeFunction


class FunctionText(Struct, frozen=True):
    """The Python of one entry.

    Attributes:
        operator: the operator.
        class_name: the name of the Function.
        function_name: the name of the public function.
        text: the source of both.
        has_jvp: whether it has a forward-mode derivative.
    """

    operator: str
    class_name: str
    function_name: str
    text: str
    has_jvp: bool


def function_text(plan: Plan, file: str, line: int, *, fake: Fake | NoFake | None = None) -> FunctionText:
    """The Function of a plan and the public function over it.

    Args:
        plan: the plan.
        file: the name of the YAML file.
        line: the line of the entry in it.
        fake: what its outputs are like, where it becomes the autograd kernel of an operator of :mod:`torch.library`.
    """
    register = fake is not None
    writer = FunctionWriter(plan, register=register)
    methods = [writer.forward(), writer.setup_context(), writer.backward()]
    if plan.tangents:
        methods.append(writer.jvp())
    functional = not plan.is_inplace and not plan.function.schema.modifies_arguments
    if functional and not register:
        methods.insert(0, ["generate_vmap_rule = True"])
    names = {"name": class_name(plan.function), "operator": str(plan.function.name), "place": f"{file}:{line}"}
    public = "\n".join(writer.public())
    if fake is not None:
        kernel = "\n".join(wrapped("@", f'F.register("{qualified(plan.function)}", {_place(plan, file, line)})', "", 0))
        public = f"{definition(plan.function, fake)}\n\n\n{kernel}\n{public}"
    text = fill(load("python_function.txt"), **names, methods=_joined(methods), public=public)
    return FunctionText(names["operator"], names["name"], function_name(plan.function), text, bool(plan.tangents))


def definition(function: NativeFunction, fake: Fake | NoFake) -> str:
    """The definition of an operator in :mod:`torch.library`, and what says what its outputs are like."""
    schema = str(function.schema)
    return f'F.define("{qualified(function)}", {literal(schema[schema.index("(") :])})\n\n\n{fake_text(function, fake)}'


def _joined(methods: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(method) for method in methods)


def _place(plan: Plan, file: str, line: int) -> str:
    """Where the formulas are written."""
    assert plan.entry.function is not None
    positions = {output.key_name: index for index, output in enumerate(plan.entry.function.outputs)}
    if plan.is_inplace:
        positions["self"] = 0
    gradients = ", ".join(f'"{name}": {gradient.line}' for gradient in plan.gradients for name in gradient.names)
    tangents = ", ".join(f"{positions[name]}: {tangent.line}" for tangent in plan.tangents for name in tangent.names)
    return f'F.Entry("{file}", {line}, {{{gradients}}}, {{{tangents}}})'
