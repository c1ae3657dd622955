"""Formulas as Python expressions over PyTorch's operators, with the interface of compiled ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field, to_builtins

from derivlint.model.generated.evaluation import INDEX, ORIGINAL_SELF
from derivlint.verify.code.functions import BACKWARD, FunctionSpec, own_outputs


class PythonFormula(Struct, frozen=True):
    """A formula in Python.

    Attributes:
        number: the number of the function.
        text: the expression.
        saved: the expressions of saved variables, by the Python name of the variable.
        gradients: the position of the incoming gradient, by the Python name of the variable.
        needs: the positions in the mask of needed gradients that form ``grad_input_mask``.
        primals: the arguments by the names of their primals.
        tangents: the arguments by the names of their tangents.
        guarded: whether it is evaluated only if some incoming gradient is defined.
        per_element: whether it is evaluated for each element of a list.
    """

    number: int
    text: str
    saved: dict[str, str] = field(default_factory=dict)
    gradients: dict[str, int] = field(default_factory=dict)
    needs: tuple[int, ...] = ()
    primals: dict[str, str] = field(default_factory=dict)
    tangents: dict[str, str] = field(default_factory=dict)
    guarded: bool = False
    per_element: bool = False

    def to_json(self) -> dict[str, Any]:
        """Encode as a JSON object."""
        content: dict[str, Any] = to_builtins(self)
        return content


class InterpretedFunctions:
    """The formulas as functions, with the names and parameters of compiled ones.

    Args:
        formulas: the formulas as JSON objects.
        functions: the descriptions of their functions.
    """

    def __init__(self, formulas: Sequence[dict[str, Any]], functions: Sequence[FunctionSpec]) -> None:
        spec = {function.number: function for function in functions}
        for content in formulas:
            formula = PythonFormula(**content)
            if formula.number not in spec:
                # an interrupted run has checked it
                continue
            setattr(self, spec[formula.number].name, _Function(formula, spec[formula.number]))


class _Function:
    """A formula with the interface of a compiled function."""

    def __init__(self, formula: PythonFormula, spec: FunctionSpec) -> None:
        from derivlint.functional import namespace

        self._formula = formula
        self._described = spec
        self._globals = namespace()
        self._code = compile(formula.text, f"<{spec.operator}: {spec.key}>", "eval")
        self._saved = {name: compile(text, f"<{name}>", "eval") for name, text in formula.saved.items()}

    def __call__(self, first: list[Any], second: list[Any], *values: Any) -> list[Any]:
        """Compute the gradients or tangents.

        Args:
            first: the incoming gradients, or the tangents of the differentiable arguments.
            second: the mask of needed gradients, or the first argument of an in-place operator before the call.
            values: the arguments and outputs.
        """
        spec = self._described
        names = [value.name for value in (*spec.arguments, *own_outputs(spec))]
        scope = {_spelled(name): value for name, value in zip(names, values, strict=True)}
        if spec.kind == BACKWARD:
            return self._backward(first, second, scope)
        values_by_name = dict(zip(names, values, strict=True))
        if self._formula.per_element:
            return self._of_elements(scope, values_by_name)
        scope |= self._forward_variables(first, second, values_by_name)
        return _flat(self._value(scope))

    def _value(self, scope: dict[str, Any]) -> Any:
        try:
            # names inside comprehensions are looked up among the globals only
            return eval(self._code, {**self._globals, **scope})
        except (AttributeError, TypeError) as error:
            # an undefined tensor is None here; in C++ it raises a similar error
            raise RuntimeError(str(error)) from error

    def _backward(self, grads: list[Any], needs: list[bool], scope: dict[str, Any]) -> list[Any]:
        formula = self._formula
        scope |= {name: eval(code, {**self._globals, **scope}) for name, code in self._saved.items()}
        scope |= {name: grads[position] for name, position in formula.gradients.items() if position < len(grads)}
        mask = [needs[position] for position in formula.needs]
        scope |= {"grads": grads, "grad_input_mask": mask, "retain_variables": True}
        if formula.per_element:
            return [None if grad is None else self._value({**scope, INDEX: index}) for index, grad in enumerate(grads)]
        if formula.guarded and all(grad is None for grad in grads):
            return [None]
        return _flat(self._value(scope))

    def _of_elements(self, scope: dict[str, Any], values: dict[str, Any]) -> list[Any]:
        """The tangents of all elements of lists, whose tensors are dual."""
        formula = self._formula
        duals = {name: _unpacked(values[name]) for name in self._described.inputs if isinstance(values[name], list)}
        results = []
        for index in range(len(next(iter(duals.values()))[0])):
            element: dict[str, Any] = {INDEX: index}
            for part, variables in enumerate((formula.primals, formula.tangents)):
                # a single tensor is indexed as well, without a tangent
                element |= {
                    variable: duals[of][part][index] if of in duals else values[of][index] * (1 - part)
                    for variable, of in variables.items()
                }
            results += _flat(self._value({**scope, **element}))
        return results

    def _forward_variables(self, tangents: list[Any], originals: list[Any], values: dict[str, Any]) -> dict[str, Any]:
        from derivlint.functional import Duals

        inputs = self._described.inputs
        variables: dict[str, Any] = {}
        duals: dict[str, Duals] = {}
        for name in inputs:
            if isinstance(values[name], list):
                duals[name] = variables[_spelled(name)] = Duals(*_unpacked(values[name]))
        for variable, of in self._formula.tangents.items():
            if of == ORIGINAL_SELF:
                variables[variable] = tangents[0]
            else:
                variables[variable] = duals[of].tangents if of in duals else tangents[inputs.index(of)]
        for variable, of in self._formula.primals.items():
            variables[variable] = originals[0] if of == ORIGINAL_SELF else duals.get(of, values[of])
        return variables


def _spelled(name: str) -> str:
    from derivlint.emit.python.expression import python_name

    return python_name(name)


def _unpacked(items: list[Any]) -> tuple[list[Any], list[Any]]:
    """Primals and tangents of dual tensors; the tangent of other tensors, such as integers, is zero."""
    import torch
    from torch.autograd import forward_ad

    unpack: Any = forward_ad.unpack_dual
    pairs = [(None, None) if item is None else unpack(item) for item in items]
    tangents = [
        tangent
        if tangent is not None or primal is None
        else torch._efficientzerotensor(primal.shape, dtype=primal.dtype)
        for primal, tangent in pairs
    ]
    return [primal for primal, _ in pairs], tangents


def _flat(value: Any) -> list[Any]:
    """The tensors of a value, with None for undefined ones."""
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in _flat(part)]
    return [value]
