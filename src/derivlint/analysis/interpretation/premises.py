"""Declarations of other entries that may be relied upon: one slip in an entry never convicts a formula of another.

``auto_linear`` in an entry declares that its operator is linear. It counts where one argument has a gradient other than
zero, and its formula agrees, which no single slip can bring about: a linear function has a constant Jacobian, so that
formula reads neither the argument nor an output but for their sizes and types.
"""

from __future__ import annotations

from derivlint.analysis.interpretation.interpret import FormulaInterpreter
from derivlint.analysis.interpretation.operators import OperatorDegrees, is_zero
from derivlint.analysis.typed import typed_formulas
from derivlint.model import DispatchBody, Model
from derivlint.model.index import BY_BASE
from derivlint.model.keys import AUTO_LINEAR
from derivlint.model.query import file_fact
from derivlint.operators.reference.terms import Polynomial, Term


def declared_linear(model: Model, name: str) -> Polynomial | None:
    """The polynomial that ``auto_linear`` declares for an operator with one linear argument, if its entry agrees."""
    linear, *parameters = model.fact(_linear, name) or [""]
    return Polynomial(tuple(parameters), (Term((linear,)),)) if linear else None


@file_fact
def _linear(model: Model, name: str) -> tuple[str, ...]:
    """The linear argument of such an operator, followed by its parameters; empty for other operators."""
    for entry in model.entries_in(BY_BASE, name):
        if entry.function is None:
            continue
        for body in entry.bodies:
            if body.info is not None and any(formula.auto == AUTO_LINEAR for formula in body.formulas):
                zero = {
                    name for derivative in body.info.derivatives if is_zero(derivative) for name in derivative.var_names
                }
                names = [binding.name for binding in body.info.args_with_derivatives if binding.name not in zero]
                # what an operator is linear in comes first
                if tuple(names) == entry.function.tensor_arguments[:1] and _agrees(model, body, names[0]):
                    return (names[0], *(binding.name for binding in entry.function.arguments))
    return ()


def _agrees(model: Model, body: DispatchBody, name: str) -> bool:
    """Whether the backward formula of the one linear argument reads neither that nor an output."""
    function = body.entry.function
    assert function is not None
    # what backward formulas read does not depend on what is declared linear
    interpreter = FormulaInterpreter(OperatorDegrees(model))
    formulas = [
        formula
        for formula in typed_formulas(model, body.entry)
        if formula.is_backward and formula.written.body is body and name in formula.names
    ]
    read = {name, *(output.name for output in function.outputs)}
    roots = [interpreter.interpret(formula).root for formula in formulas]
    # "not_implemented" reads nothing and proves nothing
    return bool(roots) and all(root.seeds and not any(map(root.may_read, read)) for root in roots)
