"""A replacement for ``ATen/ATen.h`` without operators, and the headers of the operators in formulas.

PyTorch's header declares thousands of operators, which take as long to compile as everything else. With
``AT_PER_OPERATOR_HEADERS`` defined, PyTorch's other headers include single operators and not ``ATen/Functions.h``; they
include ``ATen/ATen.h``, but need nothing that the replacement omits. The shared part is one header that can be
precompiled; sources include the headers of operators after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from derivlint.cpp.operator_signatures import SYMINT
from derivlint.formula import tokens

#: The macro that makes PyTorch's headers include single operators.
PER_OPERATOR = "AT_PER_OPERATOR_HEADERS"
#: The path of the replacement, in a folder that is searched before PyTorch's.
ATEN = "ATen/ATen.h"
#: The header shared by all formulas.
COMMON = "formula_functions.h"
#: The header that includes the operators in formulas.
OPERATORS = "operators.h"
#: The maximum number of formulas for single headers; more formulas need most operators.
MAX_FORMULAS = 120
#: The headers that PyTorch's header includes in addition to operators; a release may lack one.
_EXTRA_HEADERS = (
    "ATen/Context.h",
    "ATen/DimVector.h",
    "ATen/Dispatch.h",
    "ATen/ScalarOps.h",
    "ATen/Tensor.h",
    "ATen/TensorGeometry.h",
    "ATen/TensorIndexing.h",
    "ATen/TensorOperators.h",
    "ATen/core/Reduction.h",
    "ATen/core/ivalue.h",
    "ATen/core/jit_type.h",
)
#: The suffixes of an operator's functions; all are in its header.
_ENDINGS = ("", SYMINT, "_out", "_outf", "_")
#: Other functions in formulas and wrappers, with their headers if not all formulas include them.
_OTHERS = {
    "to_args_sizes": "torch/csrc/autograd/VariableTypeUtils.h",
    "to_args_sizes_symint": "torch/csrc/autograd/VariableTypeUtils.h",
    "to_args_scalartypes": "torch/csrc/autograd/VariableTypeUtils.h",
    "sparse_csr": "ATen/SparseCsrTensorUtils.h",
    "get_nested_tensor_impl": "ATen/native/nested/NestedTensorUtils.h",
}


def common_headers(head: str) -> dict[str, str]:
    """The shared header, and the replacement that it includes, by name.

    Args:
        head: the text before functions of formulas.
    """
    extra = (f"#if __has_include(<{name}>)\n#include <{name}>\n#endif" for name in _EXTRA_HEADERS)
    stand_in = "\n".join(("#pragma once", *extra, ""))
    return {COMMON: f"#pragma once\n#define {PER_OPERATOR}\n{head}", ATEN: stand_in}


def operator_headers(source: str, includes: Iterable[Path]) -> str:
    """Return includes for the operators in a C++ file; empty if PyTorch has no headers of single operators."""
    operators = _operators(includes)
    if operators is None:
        return ""
    words = {token.text for token in tokens(source) if token.type == "IDENT"}
    names = {word.removesuffix(ending) for word in words for ending in _ENDINGS if word.endswith(ending)}
    named = [f"ATen/ops/{name}.h" for name in sorted(names) if (operators / f"{name}.h").is_file()]
    named += sorted({header for word, header in _OTHERS.items() if word in words})
    return "\n".join(("#pragma once", *(f"#include <{name}>" for name in named), ""))


def has_operator_headers(includes: Iterable[Path]) -> bool:
    """Whether PyTorch ships a header for each operator."""
    return _operators(includes) is not None


def _operators(includes: Iterable[Path]) -> Path | None:
    return next((path / "ATen" / "ops" for path in includes if (path / "ATen" / "ops").is_dir()), None)
