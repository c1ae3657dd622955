"""The text of one entry: its Function, and the public function over it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from derivlint.emit.python.function import FunctionWriter
from derivlint.emit.python.plan import Plan
from derivlint.emit.python.signature import class_name, function_name
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


def function_text(plan: Plan, file: str, line: int, *, register: bool = False) -> FunctionText:
    """The Function of a plan and the public function over it.

    Args:
        plan: the plan.
        file: the name of the YAML file.
        line: the line of the entry in it.
        register: whether it becomes the autograd kernel of an operator of :mod:`torch.library`.
    """
    writer = FunctionWriter(plan, register=register)
    methods = [writer.forward(), writer.setup_context(), writer.backward()]
    if plan.tangents:
        methods.append(writer.jvp())
    functional = not plan.is_inplace and not plan.function.schema.modifies_arguments
    if functional and not plan.once and not plan.flattened and not plan.returns_list and not register:
        methods.insert(0, ["generate_vmap_rule = True"])
    names = {"name": class_name(plan.function), "operator": str(plan.function.name), "place": f"{file}:{line}"}
    public = "\n".join(writer.public())
    if register:
        name = qualified(plan.function)
        public = f'F.define("{name}", "{_without_name(plan)}")\n\n\n@F.register("{name}")\n{public}'
    text = fill(load("python_function.txt"), **names, methods=_joined(methods), public=public)
    return FunctionText(names["operator"], names["name"], function_name(plan.function), text, bool(plan.tangents))


def _joined(methods: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(method) for method in methods)


def _without_name(plan: Plan) -> str:
    schema = str(plan.function.schema)
    return schema[schema.index("(") :]


def qualified(function: NativeFunction) -> str:
    """The name of an operator as :mod:`torch.library` knows it."""
    return f"{function.namespace}::{function.name}"
