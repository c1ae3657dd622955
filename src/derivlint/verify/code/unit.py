"""C++ files with a function for each formula, which Python calls as ``torch.ops.derivlint_verify.formula_0``.

A formula is in a function of its own, with the parameters that it has in generated code; around it stands one that
takes its values from the dispatcher. PyTorch's autograd differentiates through these functions, so that formulas can be
differentiated a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from derivlint.compiler.unit import is_confined
from derivlint.model import Model
from derivlint.model.generated.evaluation import Mode
from derivlint.verify.code.functions import BACKWARD, FormulaFunction, FunctionSpec, own_outputs
from derivlint.verify.code.headers import COMMON, OPERATORS
from derivlint.verify.code.wrappers import LIBRARY, backward_function, forward_function, holder

_DATA = Path(__file__).parents[1] / "data"
HEAD = _DATA / "formula_functions.cpp"
#: What makes operators of the functions, a source of its own: the same for all formulas.
REGISTRATION = _DATA / "registration.cpp"


def uncallable_reason(function: FormulaFunction) -> str:
    """Why a function cannot be constructed from a formula; empty where it can."""
    spec = function.spec
    for value in (*spec.arguments, *spec.returns):
        if holder(value.type) is None:
            return f'no value of type "{value.type}" can be passed'
    if not is_confined(function.evaluation.text):
        return "the formula is not an expression"
    return ""


def source_of(model: Model, functions: Sequence[FormulaFunction], *, few: bool = False) -> str:
    """A C++ file with these functions; several files make one library.

    Args:
        model: the model.
        functions: the formulas.
        few: whether it is to include only the operators that it names (:mod:`derivlint.verify.code.headers`).
    """
    head = f'#include "{COMMON}"\n#include "{OPERATORS}"\n' if few else HEAD.read_text(encoding="utf-8")
    parts = [head, *(_function(model, function) for function in functions)]
    # the library is loaded for what its constants do while they are made
    added = "".join(f"{LIBRARY}::{_addition(function.spec)}\n" for function in functions)
    parts.append(f"static const bool dv_added = [] {{\n{added}return true;\n}}();\n")
    return "\n".join(parts)


def _addition(spec: FunctionSpec) -> str:
    name = spec.name
    return f'add_operator("{_schema(spec)}", "{name}", &torch::autograd::VariableType::{name}_boxed);'


def _function(model: Model, function: FormulaFunction) -> str:
    if function.evaluation.mode is Mode.BACKWARD:
        return backward_function(model, function)
    return forward_function(model, function)


def _schema(spec: FunctionSpec) -> str:
    if spec.kind == BACKWARD:
        parts = ["Tensor?[] grads", "bool[] needs"]
    else:
        parts = ["Tensor?[] tangents", "Tensor?[] originals"]
    parts += [f"{value.type} a{index}" for index, value in enumerate(spec.arguments)]
    parts += [f"{value.type} r{index}" for index, value in enumerate(own_outputs(spec))]
    return f"{spec.name}({', '.join(parts)}) -> Tensor?[]"
