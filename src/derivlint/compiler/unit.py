"""Generates translation units that evaluate formulas as PyTorch's generated code does, for syntax checks.

Each expression is in a function of its own, with the variables of the generated code as parameters, followed by the use
of its value. The text of the expression is copied unchanged to separate lines, so that positions in compiler messages
are positions in it.

An expression that could affect code outside of its function, by a directive or a bracket, is omitted, so that it causes
no errors in others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from derivlint.compiler.gxx import CompilerError
from derivlint.compiler.relation_types import spelled
from derivlint.cpp.expressions.consumer import Use
from derivlint.formula import tokens
from derivlint.formula.parsing.diagnose import bracket_problem
from derivlint.formula.vocabulary import BAD, UNCLOSED_COMMENT, UNCLOSED_STRING
from derivlint.model.generated.evaluation import Evaluation, Mode

#: The prefixes of file names in messages, before the number of the expression: the expression, and the code around it.
FORMULA, CONSUMER = "formula_", "consumer_"

#: PyTorch's declarations of the helpers, unless the user's checkout replaces them.
_MANUAL = "torch/csrc/autograd/FunctionsManual.h"
_BACKWARD_HEADERS = ("ATen/NestedTensorImpl.h", "ATen/native/nested/NestedTensorUtils.h")
_FORWARD_HEADERS = (
    "torch/csrc/autograd/VariableTypeUtils.h",
    "torch/csrc/autograd/generated/VariableType.h",
    "ATen/RedispatchFunctions.h",
    "ATen/SparseCsrTensorUtils.h",
)
_BACKWARD_USING = """\
using namespace torch::autograd::generated::details;
using at::Tensor;
using at::Scalar;
using at::IntArrayRef;
using at::TensorList;
"""
_FORWARD_USING = """\
using namespace at;
using namespace torch::autograd::generated;
using namespace torch::autograd::generated::details;
"""
_BACKWARD_NAMESPACE = "torch::autograd::generated"
_FORWARD_NAMESPACE = "torch::autograd::VariableType"
_RANGE = "IndexRange{0, 1}"


def source_of(evaluations: Iterable[tuple[int, Evaluation]], *, backward: bool, includes: Iterable[str] = ()) -> str:
    """Generate a translation unit.

    Args:
        evaluations: expressions with their numbers, all of nodes or all of kernels; those that are not confined
            (:func:`is_confined`) are left out.
        backward: whether they belong to nodes.
        includes: the paths of the user's headers.

    Raises:
        CompilerError: the path of a header cannot be written in C++.
    """
    namespace = _BACKWARD_NAMESPACE if backward else _FORWARD_NAMESPACE
    parts = [_includes(backward, list(includes)), _BACKWARD_USING if backward else _FORWARD_USING]
    parts.extend(
        _function(number, evaluation, namespace) for number, evaluation in evaluations if is_confined(evaluation.text)
    )
    return "".join(parts)


def _includes(backward: bool, own: list[str]) -> str:
    """Return the includes; the user's headers come last, since they may rely on PyTorch's being included."""
    for name in own:
        if '"' in name or "\n" in name:
            raise CompilerError(f"no C++ can include a header of this name: {name!r}")
    names = _BACKWARD_HEADERS if backward else _FORWARD_HEADERS
    if not any(PurePath(name).name == PurePath(_MANUAL).name for name in own):
        names = (_MANUAL, *names)
    return "".join([*(f"#include <{name}>\n" for name in names), *(f'#include "{name}"\n' for name in own)])


#: Tokens that may affect the code after them: unclosed ones, and unknown characters such as "#".
_UNCONFINED = frozenset({BAD, UNCLOSED_STRING, UNCLOSED_COMMENT})
_OPAQUE = frozenset({"STRING", "CHAR", "COMMENT", "LINE_COMMENT"})
#: Text that the preprocessor treats specially: pragmas, raw strings, and alternative spellings of "#" and brackets.
_PREPROCESSED = re.compile(r"\b_*[Pp]ragma\b|\b(?:u8|[uUL])?R\"|%:|<%|%>|:>|<:(?!:[^:>])")
#: A line continuation.
_CONTINUED = re.compile(r"\\[ \t\r\f\v]*(?:\n|\Z)")


def is_confined(text: str) -> bool:
    """Whether a text cannot affect code outside of its function: no directive, no pragma, balanced brackets.

    It need not be an expression; the compiler reports other errors.
    """
    if _CONTINUED.search(text) is not None or any("\ud800" <= char <= "\udfff" for char in text):
        return False
    read = tokens(text)
    if any(token.type in _UNCONFINED for token in read) or bracket_problem(read) is not None:
        return False
    return _PREPROCESSED.search("".join('""' if token.type in _OPAQUE else token.text for token in read)) is None


def is_backward(evaluation: Evaluation) -> bool:
    """Whether the expression is in a node; the others are in kernels."""
    return evaluation.mode is Mode.BACKWARD


def _function(number: int, evaluation: Evaluation, namespace: str) -> str:
    """Generate the function of one expression.

    It opens its own namespace: an unbalanced brace in an expression closes only that one.
    """
    parameters = ", ".join(f"[[maybe_unused]] {type} {name}" for name, type in evaluation.variables.items())
    before, after = _around(evaluation)
    return (
        f'#line 1 "{CONSUMER}{number}"\n'
        f"namespace {namespace} {{ [[maybe_unused]] static void derivlint_{number}({parameters}) {{ {before}\n"
        f'#line 1 "{FORMULA}{number}"\n'
        f"{evaluation.text}\n"
        f'#line 1 "{CONSUMER}{number}"\n'
        f"{after} }} }}\n"
    )


def _around(evaluation: Evaluation) -> tuple[str, str]:
    """Return the code before and after the expression."""
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
