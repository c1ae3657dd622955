"""C++ types as they are written: what they are, and what variables of them are."""

from __future__ import annotations

import pytest

from derivlint.cpp import argument_type, return_type, value_type
from derivlint.cpp.cpp_type import CONST_LVALUE, LVALUE, TENSOR, UNKNOWN, UNKNOWN_VALUE, Value, cpp_type
from derivlint.cpp.types import declared_type, optional_of, vector_of
from derivlint.schema import parse_type


@pytest.mark.parametrize(
    ("text", "canonical", "value"),
    [
        ("at::Tensor", TENSOR, Value(TENSOR, LVALUE)),
        ("at::Tensor &", cpp_type("Tensor&"), Value(TENSOR, LVALUE)),
        ("const at::Tensor &", TENSOR, Value(TENSOR, CONST_LVALUE)),
        ("const char *", cpp_type("const char*"), Value(cpp_type("const char*"), LVALUE)),
        ("const at::Tensor *", cpp_type("Tensor*"), Value(cpp_type("Tensor*"), LVALUE)),
        ("at::", UNKNOWN, UNKNOWN_VALUE),
    ],
)
def test_a_type_is_read_and_printed_as_it_is_written(text: str, canonical: object, value: Value) -> None:
    type = declared_type(text)
    assert (str(type), type.canonical, type.value) == (text, canonical, value)


def test_one_type_has_several_spellings() -> None:
    assert declared_type("at::TensorList") is declared_type("at::TensorList")
    assert declared_type("at::TensorList") is not declared_type("at::ArrayRef<at::Tensor>")
    assert declared_type("at::TensorList").canonical is declared_type("at::ArrayRef<at::Tensor>").canonical


def test_templates_are_made_of_types() -> None:
    number = declared_type("c10::SymInt")
    assert optional_of(vector_of(number)) is declared_type("::std::optional<::std::vector<c10::SymInt>>")


def test_an_optional_string_is_an_optional_view_wherever_it_comes_from() -> None:
    kind = parse_type("str?")
    found = {type.canonical for type in (value_type(kind), return_type(kind), argument_type(kind, write=False))}
    assert found == {cpp_type("optional<string_view>")}
    assert value_type(parse_type("str")).canonical is cpp_type("string_view")
