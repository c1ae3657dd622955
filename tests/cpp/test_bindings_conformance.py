"""C++ names and types of arguments and returns, compared with torchgen for every function of the installed torch."""

from __future__ import annotations

from pathlib import Path

import pytest
from torchgen.api import cpp
from torchgen.context import native_function_manager
from torchgen.gen import parse_native_yaml
from torchgen.model import NativeFunction
from torchgen.packaged.autograd import load_derivatives

from derivlint.cpp import argument_type, cpp_arguments, return_names, return_type
from derivlint.schema import NativeFunctions, parse_type

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def torchgen_functions(native_functions_path: Path, tags_path: Path) -> list[NativeFunction]:
    return list(parse_native_yaml(str(native_functions_path), str(tags_path)).native_functions)


def test_parameters_have_torchgens_names_and_types(
    torchgen_functions: list[NativeFunction], installed_natives: NativeFunctions
) -> None:
    """The parameters that formulas see: names, and the types that saved variables get."""
    for theirs, ours in zip(torchgen_functions, installed_natives.functions, strict=True):
        with native_function_manager(theirs):
            expected = [
                (binding.name, binding.nctype.type.remove_const_ref().cpp_type())
                for binding in load_derivatives.cpp_arguments(theirs)
            ]
        assert [(binding.name, str(binding.cpp_type)) for binding in cpp_arguments(ours)] == expected, str(ours.schema)


def test_formal_parameters_have_torchgens_types(
    torchgen_functions: list[NativeFunction], installed_natives: NativeFunctions
) -> None:
    """The types with references, as the kernel's signature has them."""
    for theirs, ours in zip(torchgen_functions, installed_natives.functions, strict=True):
        with native_function_manager(theirs):
            expected = [
                cpp.argument_type(argument, binds="x", symint=True).cpp_type()
                for argument in theirs.func.schema_order_arguments()
            ]
        structured, const_write = ours.part_of_structured_group, ours.use_const_ref_for_mutable_tensors
        actual = [
            str(argument_type(argument.type, write=argument.is_write, structured=structured, const_write=const_write))
            for argument in ours.schema.schema_order_arguments
        ]
        assert actual == expected, str(ours.schema)


def test_returns_have_torchgens_names_and_types(
    torchgen_functions: list[NativeFunction], installed_natives: NativeFunctions
) -> None:
    for theirs, ours in zip(torchgen_functions, installed_natives.functions, strict=True):
        assert list(return_names(ours)) == list(cpp.return_names(theirs)), str(ours.schema)
        with native_function_manager(theirs):
            expected = [
                cpp.return_type(item, symint=True).remove_const_ref().cpp_type() for item in theirs.func.returns
            ]
        assert [str(return_type(item.type)) for item in ours.schema.returns] == expected, str(ours.schema)


def test_unknown_types_keep_their_names() -> None:
    """A type of another PyTorch, or of an extension, is not an error."""
    assert str(argument_type(parse_type("Dimname[]?"), write=False)) == "::std::optional<at::ArrayRef<at::Dimname>>"
    assert str(argument_type(parse_type("Widget"), write=False)) == "Widget"
