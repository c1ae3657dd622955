"""The variables of a formula: arguments, outputs, gradients, primals and tangents."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from derivlint.model import DerivativeFormula
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRAD, GRAD_INPUT_MASK, GRADS, NAMED_PREFIX
from derivlint.model.resolve import EntryFunction, Output
from derivlint.model.scope import ORIGINAL_SELF, RETAIN_VARIABLES
from derivlint.schema import Argument
from derivlint.schema.syntax.arguments import Return


class VariableKind(Enum):
    """The kind of a variable of a formula."""

    ARGUMENT = "argument"
    OUTPUT = "output"
    GRADIENT = "gradient"
    GRADIENTS = "gradients"
    PRIMAL = "primal"
    TANGENT = "tangent"
    GENERATED = "generated"


class Variable(Struct, frozen=True):
    """A variable of a formula.

    Attributes:
        name: its name.
        kind: what it is.
        part: the argument or return of the schema that it belongs to, if any.
        about: a description.
    """

    name: str
    kind: VariableKind
    part: Argument | Return | None
    about: str


def variable(formula: DerivativeFormula, name: str) -> Variable | None:
    """Return the variable of a name in a formula, or None."""
    function = formula.entry.function
    return None if function is None else variable_of(function, name)


def variable_of(function: EntryFunction, name: str) -> Variable | None:
    """Return the variable of a name in the formulas of a function, or None."""
    arguments = function.schema.arguments
    binding = function.argument(name)
    if binding is not None:
        about = f"argument `{binding.argument}`" if binding.argument is not None else "the tensor options, as one"
        return Variable(name, VariableKind.ARGUMENT, binding.argument, about)
    option = arguments.by_name(name)
    if option is not None:
        # kernels have the tensor options one by one
        return Variable(name, VariableKind.ARGUMENT, option, f"argument `{option}`")
    for output in function.outputs:
        if output.name == name:
            return Variable(name, VariableKind.OUTPUT, _return(function, output), _output(function, output))
    if name == GRAD:
        part = _return(function, function.outputs[0]) if function.outputs else None
        subject = (
            f"output `{function.outputs[0].name}`" if len(function.outputs) == 1 else "first differentiable output"
        )
        return Variable(name, VariableKind.GRADIENT, part, f"gradient of the {subject}")
    if name == GRADS:
        return Variable(name, VariableKind.GRADIENTS, None, "gradients of the differentiable outputs, in order")
    if name == GRAD_INPUT_MASK:
        about = "which of the arguments in the key need a gradient, in the order of the key"
        return Variable(name, VariableKind.GENERATED, None, about)
    if name == RETAIN_VARIABLES:
        return Variable(name, VariableKind.GENERATED, None, "whether the backward call can run again")
    if name in ORIGINAL_SELF:
        which = "primal" if name.endswith(PRIMAL) else "tangent"
        about = f"{which} of `self` before the in-place call"
        return Variable(name, VariableKind.GENERATED, arguments.self_arg, about)
    for output in function.outputs:
        if output.declared_name is not None and name == NAMED_PREFIX + output.declared_name:
            about = f"gradient of output {output.index}, `{output.declared_name}`"
            return Variable(name, VariableKind.GRADIENT, _return(function, output), about)
    for suffix, kind in ((PRIMAL, VariableKind.PRIMAL), (TANGENT, VariableKind.TANGENT)):
        argument = arguments.by_name(name.removesuffix(suffix)) if name.endswith(suffix) else None
        if argument is not None:
            return Variable(name, kind, argument, f"{kind.value} of `{argument}`")
    return None


def _return(function: EntryFunction, output: Output) -> Return:
    return function.schema.returns[output.index]


def _output(function: EntryFunction, output: Output) -> str:
    which = "the output" if len(function.outputs) == 1 else f"output {output.index}"
    return f"{which}, `{_return(function, output)}`"
