"""The C++ functions and methods of every operator are those that torchgen generates."""

from __future__ import annotations

from typing import Any

import pytest
from torchgen import local
from torchgen.api.cpp import returns_type
from torchgen.api.types import CppSignatureGroup
from torchgen.gen import parse_native_yaml
from torchgen.model import Variant

from derivlint.cpp.canonical import canonical_type
from derivlint.cpp.declarations.declaration import AUTO, Function
from derivlint.cpp.operator_signatures import OperatorSignatures
from derivlint.schema import NativeFunctions, load_index, read_native_functions
from derivlint.source import SourceFile
from tests.conformance.oracle import NATIVE_FUNCTIONS, TAGS

Signature = tuple[Any, tuple[tuple[Any, str, bool], ...]]


def generated(variant: Any) -> dict[str, set[Signature]]:
    """Every C++ name with the signatures that torchgen generates for it."""
    found: dict[str, set[Signature]] = {}
    for function in parse_native_yaml(str(NATIVE_FUNCTIONS), str(TAGS)).native_functions:
        if function.manual_cpp_binding or variant not in function.variants:
            continue
        with local.parametrize(
            use_const_ref_for_mutable_tensors=function.use_const_ref_for_mutable_tensors,
            use_ilistref_for_tensor_lists=function.part_of_structured_group,
        ):
            group = CppSignatureGroup.from_native_function(function, method=variant is Variant.method)
            for signature in group.signatures():
                parameters = tuple(
                    (canonical_type(item.nctype.cpp_type()), item.name, item.default is not None)
                    for item in signature.arguments()
                )
                result = canonical_type(returns_type(function.func.returns, symint=True).cpp_type())
                found.setdefault(signature.name(), set()).add((result, parameters))
    return found


def facts(function: Function) -> Signature:
    return function.result, tuple((item.type, item.name, item.has_default) for item in function.parameters)


@pytest.mark.parametrize("variant", [Variant.function, Variant.method], ids=["functions", "methods"])
def test_signatures_are_torchgens(variant: Any, bundled_natives: NativeFunctions) -> None:
    signatures = OperatorSignatures(bundled_natives)
    find = signatures.functions if variant is Variant.function else signatures.methods
    expected = generated(variant)
    assert len(expected) > 500
    assert {name: {facts(function) for function in find(name)} for name in expected} == expected


def test_names_that_no_operator_gives_have_no_signature() -> None:
    signatures = OperatorSignatures(load_index())
    for name in ("no_such_operator", "conj_symint", "abs_outff", "_symint", "_out", ""):
        assert signatures.functions(name) == ()
        assert signatures.methods(name) == ()


def test_operators_of_a_back_end_have_an_unknown_signature() -> None:
    natives = read_native_functions([SourceFile("my.yaml", "- func: my_op(Tensor self) -> Tensor\n")])
    (function,) = OperatorSignatures(natives).functions("my_op")
    assert (function.result, function.parameters, function.variadic) == (AUTO, (), True)
