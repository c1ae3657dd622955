"""The one spelling of a C++ type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.cpp.canonical import canonical_type
from derivlint.cpp.cpp_type import cpp_type

SPELLINGS = {
    "const at::Tensor &": "Tensor",
    "at::Tensor": "Tensor",
    "at::Tensor&&": "Tensor",
    "Tensor const&": "Tensor",
    "Tensor &": "Tensor&",
    "at::Tensor&": "Tensor&",
    "torch::autograd::Variable": "Tensor",
    "::std::optional<at::Tensor>": "optional<Tensor>",
    "const std::optional<c10::Scalar>&": "optional<Scalar>",
    "std::vector<c10::SymInt>&": "vector<SymInt>&",
    "c10::SymIntArrayRef": "ArrayRef<SymInt>",
    "at::OptionalIntArrayRef": "OptionalArrayRef<int64_t>",
    "std::optional<at::IntArrayRef>": "optional<ArrayRef<int64_t>>",
    "at::ITensorListRef": "IListRef<Tensor>",
    "variable_list&&": "vector<Tensor>",
    "torch::List<std::optional<Tensor>>&": "List<optional<Tensor>>&",
    "std::array<bool, 3>": "array<bool,3>",
    "std::vector<std::vector<c10::SymInt> >": "vector<vector<SymInt>>",
    "std::tuple<>": "tuple<>",
    "const char*": "const char*",
    "char const * const": "const char*",
    "char*": "char*",
    "const T*": "T*",
    "at::native::NestedTensorImpl*": "NestedTensorImpl*",
    "at::Reduction::Reduction": "Reduction",
    "caffe2::TypeMeta": "TypeMeta",
    "std::complex<double>": "std_complex<double>",
    "c10::complex<double>": "complex<double>",
    "std::string": "string",
    "std::basic_string<char>": "string",
    "c10::string_view": "string_view",
    "long": "int64_t",
    "long int": "int64_t",
    "unsigned long": "size_t",
    "std::size_t": "size_t",
    "uint64_t": "size_t",
    "unsigned": "unsigned int",
    "long unsigned int": "size_t",
    "long long": "long long",
    "unsigned char": "uint8_t",
    "short": "short",
    "int32_t": "int",
    "decltype(f(1 , 2))": "auto",
    "auto&&": "auto",
    "std::function<at::Tensor(const at::Tensor& x, int64_t)>": "function<Tensor(Tensor,int64_t)>",
    "typename std::vector<T>::iterator": "vector<T>::iterator",
    "at::indexing::TensorIndex": "indexing::TensorIndex",
    "vendor::Tensor": "vendor::Tensor",
    "struct Node*": "Node*",
    "std::optional<  at::Tensor /* or nothing */ >": "optional<Tensor>",
}
NO_TYPES = [
    "", " ", "int x", "1", "const", "std::", "a<b", "a>b", "&", "long float", "return", "x + y", "Tensor,", "f()",
]  # fmt: skip


@pytest.mark.parametrize(("spelling", "canonical"), SPELLINGS.items())
def test_spellings_of_a_type_become_one(spelling: str, canonical: str) -> None:
    assert str(canonical_type(spelling)) == canonical


@pytest.mark.parametrize("canonical", sorted(set(SPELLINGS.values()) - {"std_complex<double>"}))
def test_a_canonical_type_is_its_own_spelling(canonical: str) -> None:
    assert str(canonical_type(canonical)) == canonical


@pytest.mark.parametrize("text", NO_TYPES)
def test_other_text_is_no_type(text: str) -> None:
    assert canonical_type(text) is None


def test_only_references_that_can_be_written_through_stay() -> None:
    assert canonical_type("at::Tensor &") is cpp_type("Tensor&")
    assert canonical_type("const at::Tensor &") is cpp_type("Tensor")
    assert canonical_type("at::Tensor &&") is cpp_type("Tensor")


def test_the_arguments_of_a_member_template_are_its_own() -> None:
    type = cpp_type("Outer<A,B>::Inner<C,D<E>,Tensor(F,G)>")
    assert type.head == "Outer<A,B>::Inner"
    assert type.arguments == (cpp_type("C"), cpp_type("D<E>"), cpp_type("Tensor(F,G)"))
    assert canonical_type("Outer<A, B>::Inner<C, D<E>, at::Tensor(F, G)>") is type


LEAVES = st.sampled_from(
    [
        ("at::Tensor", "Tensor"), ("::at::Scalar", "Scalar"), ("c10::SymInt", "SymInt"), ("bool", "bool"),
        ("long  int", "int64_t"), ("IntArrayRef", "ArrayRef<int64_t>"), ("vendor::Kind", "vendor::Kind"), ("T", "T"),
    ]
)  # fmt: skip


def _template(inner: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    heads = st.sampled_from([("std::vector", "vector"), ("::std::optional", "optional"), ("std::tuple", "tuple")])
    blank = st.sampled_from(["", " ", "\n  ", "/* - */"])

    def build(head: tuple[str, str], arguments: list[tuple[str, str]], gap: str) -> tuple[str, str]:
        written = f",{gap}".join(written for written, _ in arguments)
        canonical = ",".join(canonical for _, canonical in arguments)
        return f"{head[0]}{gap}<{gap}{written}{gap}>", f"{head[1]}<{canonical}>"

    return st.builds(build, heads, st.lists(inner, min_size=1, max_size=3), blank)


@given(st.recursive(LEAVES, _template, max_leaves=8), st.sampled_from(["{}", "const {}&", "{} const", "{} &&"]))
def test_nested_templates_become_canonical_part_by_part(type: tuple[str, str], form: str) -> None:
    written, canonical = type
    assert canonical_type(form.format(written)) is cpp_type(canonical)


@given(st.text(alphabet="aT<>,:&*() 1\n/", max_size=60) | st.text(max_size=40))
def test_no_text_is_too_much(text: str) -> None:
    canonical = canonical_type(text)
    assert canonical is None or canonical_type(canonical.text) is canonical


def test_deep_nesting_is_no_type() -> None:
    assert canonical_type("a<" * 1900) is None
    assert canonical_type("a<" * 100_000) is None
