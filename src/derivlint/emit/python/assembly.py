"""The text of one entry: its Function, or what is registered for its operator, and the public function over it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

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
        register: whether its methods are registered for an operator of :mod:`torch.library` instead of being applied.
    """
    if register:
        # an operator of torch.library has no rule for tangents
        plan = replace(plan, tangents=())
    writer = FunctionWriter(plan, register=register)
    names = {"name": class_name(plan.function), "operator": str(plan.function.name), "place": f"{file}:{line}"}
    if register:
        text = fill(
            load("python_registered.txt"),
            **names,
            qualified=qualified(plan.function),
            schema=_without_name(plan),
            methods=_joined([writer.setup_context(), writer.backward()]),
            public="\n".join(writer.registered()),
        )
    else:
        methods = [writer.forward(), writer.setup_context(), writer.backward()]
        if plan.tangents:
            methods.append(writer.jvp())
        functional = not plan.is_inplace and not plan.function.schema.modifies_arguments
        is_simple = functional and not plan.once and not plan.flattened and not plan.returns_list
        text = fill(
            load("python_function.txt"),
            **names,
            methods=_joined([["generate_vmap_rule = True"], *methods] if is_simple else methods),
            public="\n".join(writer.public()),
        )
    return FunctionText(names["operator"], names["name"], function_name(plan.function), text, bool(plan.tangents))


def _joined(methods: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(method) for method in methods)


def _without_name(plan: Plan) -> str:
    schema = str(plan.function.schema)
    return schema[schema.index("(") :]


def qualified(function: NativeFunction) -> str:
    """The name of an operator as :mod:`torch.library` knows it."""
    return f"{function.namespace}::{function.name}"
