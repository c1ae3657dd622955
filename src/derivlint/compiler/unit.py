"""C++ that evaluates formulas as the generated code does, for a compiler to judge.

Each expression stands in a function of its own, with the variables that the generated code has there as parameters,
and what takes its value behind it. The text of the expression is copied unchanged to lines of its own, so that a place
in a message of the compiler is a place in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from derivlint.compiler.relation_types import spelling
from derivlint.cpp.consumer import Use
from derivlint.cpp.conversion import template_of
from derivlint.model.evaluation import Evaluation, Mode

#: The names of files in messages, before the number of the expression: in it, and in what is around it.
FORMULA, CONSUMER = "formula_", "consumer_"

_BACKWARD_HEAD = """\
#include <torch/csrc/autograd/FunctionsManual.h>
#include <ATen/NestedTensorImpl.h>
#include <ATen/native/nested/NestedTensorUtils.h>
using namespace torch::autograd::generated::details;
using at::Tensor;
using at::Scalar;
using at::IntArrayRef;
using at::TensorList;
namespace torch::autograd::generated {
"""
_FORWARD_HEAD = """\
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/generated/VariableType.h>
#include <torch/csrc/autograd/FunctionsManual.h>
#include <ATen/RedispatchFunctions.h>
#include <ATen/SparseCsrTensorUtils.h>
using namespace at;
using namespace torch::autograd::generated;
using namespace torch::autograd::generated::details;
namespace torch::autograd::VariableType {
"""
_TAIL = "}\n"
_RANGE = "IndexRange{0, 1}"


def source_of(evaluations: Iterable[tuple[int, Evaluation]], *, backward: bool, includes: Iterable[str] = ()) -> str:
    """One translation unit.

    Args:
        evaluations: expressions with their numbers, all of nodes or all of kernels. Their brackets must balance.
        backward: whether they belong to nodes.
        includes: further headers.
    """
    parts = [f'#include "{name}"\n' for name in includes]
    parts.append(_BACKWARD_HEAD if backward else _FORWARD_HEAD)
    parts.extend(_function(number, evaluation) for number, evaluation in evaluations)
    parts.append(_TAIL)
    return "".join(parts)


def is_backward(evaluation: Evaluation) -> bool:
    """Whether the expression stands in a node; the others stand in kernels."""
    return evaluation.mode is Mode.BACKWARD


def _function(number: int, evaluation: Evaluation) -> str:
    parameters = ", ".join(f"[[maybe_unused]] {type} {name}" for name, type in evaluation.variables.items())
    before, after = _around(evaluation)
    return (
        f'#line 1 "{CONSUMER}{number}"\n'
        f"[[maybe_unused]] static void derivlint_{number}({parameters}) {{ {before}\n"
        f'#line 1 "{FORMULA}{number}"\n'
        f"{evaluation.text}\n"
        f'#line 1 "{CONSUMER}{number}"\n'
        f"{after} }}\n"
    )


def _around(evaluation: Evaluation) -> tuple[str, str]:
    """What stands before and behind the expression."""
    consumer = evaluation.consumer
    gradients = "variable_list grad_inputs(9);"
    copy = f"copy_range(grad_inputs, {_RANGE}, grad_result);"
    if consumer.use is Use.GRADIENT:
        return f"{gradients} auto grad_result = any_grad_defined ? (", f") : Tensor(); {copy}"
    if consumer.use is Use.BARE_GRADIENT:
        return f"{gradients} auto grad_result = ", f"; {copy}"
    if consumer.use is Use.ELEMENT_GRADIENT:
        return f"{gradients} std::vector<Tensor> grad_result; grad_result.emplace_back(", f"); {copy}"
    if consumer.use is Use.GRADIENTS:
        copies = " ".join(
            f"copy_range(grad_inputs, {_RANGE}, std::get<{index}>(grad_result));" for index in range(consumer.count)
        )
        return f"{gradients} auto grad_result = ", f"; {copies}"
    return f"[[maybe_unused]] {spelled(consumer.type)} derivlint_target; derivlint_target = ", ";"


def spelled(canonical: str) -> str:
    """A canonical type in C++."""
    head, arguments = template_of(canonical)
    if not arguments or head == "IListRef":
        return spelling(canonical)
    inner = ", ".join(map(spelled, arguments))
    return f"{_HEADS[head]}<{inner}>"


_HEADS = {
    "optional": "std::optional",
    "tuple": "std::tuple",
    "vector": "std::vector",
    "ArrayRef": "c10::ArrayRef",
    "OptionalArray": "c10::OptionalArray",
    "OptionalArrayRef": "c10::OptionalArrayRef",
    "List": "c10::List",
}
