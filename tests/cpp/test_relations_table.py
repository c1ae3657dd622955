"""The shipped table of type relations says of C++ and PyTorch what is known to hold."""

from __future__ import annotations

import pytest

from derivlint.cpp.relations import load_relations
from tests.cpp.relations_by_name import RelationsByName

TABLE = RelationsByName(load_relations())
TYPES = list(map(str, load_relations().types))

CONVERTS = [
    # numbers are scalars and symbolic integers
    *((given, "Scalar") for given in ("int", "double", "bool", "SymInt", "complex<double>")),
    *((given, "SymInt") for given in ("int", "int64_t", "bool", "double", "size_t")),
    *((given, wanted) for given in ("int", "double", "bool", "size_t") for wanted in ("int64_t", "double", "bool")),
    # optionals take their values, and what makes one
    ("Tensor", "optional<Tensor>"),
    ("int", "optional<double>"),
    ("double", "optional<Scalar>"),
    ("optional<int64_t>", "optional<SymInt>"),
    ("nullopt_t", "optional<Tensor>"),
    ("nullopt_t", "OptionalArrayRef<int64_t>"),
    # lists are referred to, and so is one element
    ("vector<Tensor>", "ArrayRef<Tensor>"),
    ("vector<int64_t>", "ArrayRef<int64_t>"),
    ("int64_t", "ArrayRef<int64_t>"),
    ("int", "ArrayRef<int64_t>"),
    ("SymInt", "ArrayRef<SymInt>"),
    ("Tensor", "ArrayRef<Tensor>"),
    ("ArrayRef<int64_t>", "OptionalArrayRef<int64_t>"),
    ("vector<SymInt>", "OptionalArrayRef<SymInt>"),
    ("OptionalArray<int64_t>", "OptionalArrayRef<int64_t>"),
    ("OptionalArray<SymInt>", "OptionalArrayRef<SymInt>"),
    ("OptionalArray<int64_t>", "optional<ArrayRef<int64_t>>"),
    # text
    ("string", "string_view"),
    ("optional<string>", "optional<string_view>"),
    ("const char*", "bool"),
    # enumerations without a scope are numbers; parts of the options are options
    ("Reduction", "int64_t"),
    *((given, "TensorOptions") for given in ("ScalarType", "Layout", "Device")),
]
CONVERTS_NOT = [
    ("Scalar", "double"),
    ("Scalar", "Tensor"),
    *(("Tensor", wanted) for wanted in ("Scalar", "bool", "double", "SymInt", "vector<Tensor>")),
    *((given, "Tensor") for given in ("double", "Scalar", "nullptr_t", "optional<Tensor>", "nullopt_t")),
    *(("SymInt", wanted) for wanted in ("int64_t", "double", "bool")),
    ("optional<int64_t>", "int64_t"),
    ("int", "ArrayRef<SymInt>"),
    ("ArrayRef<int64_t>", "vector<int64_t>"),
    ("ArrayRef<int64_t>", "ArrayRef<SymInt>"),
    ("ArrayRef<SymInt>", "ArrayRef<int64_t>"),
    ("vector<int64_t>", "ArrayRef<SymInt>"),
    ("string_view", "string"),
    ("ScalarType", "int64_t"),
    ("TypeMeta", "ScalarType"),
    ("array<bool,2>", "array<bool,3>"),
    ("array<bool,3>", "array<bool,2>"),
    ("tuple<Tensor,Tensor>", "tuple<Tensor,Tensor,Tensor>"),
]


@pytest.mark.parametrize(("given", "wanted"), CONVERTS)
def test_types_that_convert(given: str, wanted: str) -> None:
    assert TABLE.implicit(given, wanted)
    assert TABLE.explicit(given, wanted)


@pytest.mark.parametrize(("given", "wanted"), CONVERTS_NOT)
def test_types_that_do_not_convert(given: str, wanted: str) -> None:
    assert not TABLE.implicit(given, wanted)


@pytest.mark.parametrize("type", TYPES)
def test_every_type_converts_to_itself(type: str) -> None:
    assert TABLE.implicit(type, type)
    assert TABLE.explicit(type, type)
    assert TABLE.ternary(type, type) == type


@pytest.mark.parametrize("a", TYPES)
def test_what_converts_by_itself_converts_by_a_cast(a: str) -> None:
    assert [b for b in TYPES if TABLE.implicit(a, b) and not TABLE.explicit(a, b)] == []


def test_casts_that_no_conversion_does() -> None:
    casts = [
        ("int", "ArrayRef<SymInt>"),
        ("ScalarType", "int64_t"),
        ("string_view", "string"),
        ("int", "vector<SymInt>"),
    ]
    assert [(a, b) for a, b in casts if TABLE.implicit(a, b) or not TABLE.explicit(a, b)] == []


def test_a_tensor_is_a_tensor_base() -> None:
    assert TABLE.is_base("Tensor", "TensorBase")
    assert not TABLE.is_base("TensorBase", "Tensor")
    assert not TABLE.implicit("TensorBase", "Tensor")


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "==", "!=", "<", ">", "<=", ">="])
def test_tensors_combine_with_tensors_and_numbers_into_tensors(op: str) -> None:
    for other in ("Tensor", "Scalar", "int", "int64_t", "double", "bool", "SymInt", "complex<double>"):
        assert TABLE.binary(op, "Tensor", other) == "Tensor"
        assert TABLE.binary(op, other, "Tensor") == "Tensor"


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "==", "<"])
def test_scalars_do_not_combine_with_scalars_and_numbers(op: str) -> None:
    for other in ("Scalar", "int", "int64_t", "double"):
        assert TABLE.binary(op, "Scalar", other) is None
        assert TABLE.binary(op, other, "Scalar") is None


def test_a_scalar_can_be_negated_and_is_neither_true_nor_false() -> None:
    assert TABLE.unary("-", "Scalar") == "Scalar"
    assert TABLE.unary("!", "Scalar") is None


def test_arithmetic_of_symbolic_integers() -> None:
    assert TABLE.binary("+", "SymInt", "SymInt") == "SymInt"
    assert TABLE.binary("*", "SymInt", "int") == "SymInt"
    assert TABLE.binary("*", "SymInt", "double") == "SymFloat"
    assert TABLE.binary("==", "SymInt", "int64_t") == "bool"


def test_arithmetic_of_numbers() -> None:
    assert TABLE.binary("*", "int", "double") == "double"
    assert TABLE.binary("+", "int", "int64_t") == "int64_t"
    assert TABLE.binary("+", "bool", "bool") == "int"
    assert TABLE.unary("-", "bool") == "int"


def test_comparing_optionals() -> None:
    assert TABLE.binary("==", "optional<int64_t>", "int") == "bool"
    assert TABLE.binary("==", "optional<Tensor>", "nullopt_t") == "bool"
    assert TABLE.binary("+", "optional<int64_t>", "int") is None


def test_assignments_keep_the_type_on_the_left() -> None:
    assert TABLE.binary("+=", "Tensor", "Tensor") == "Tensor"
    assert TABLE.binary("*=", "Tensor", "Scalar") == "Tensor"
    assert TABLE.binary("+=", "int64_t", "double") == "int64_t"
    assert TABLE.binary("+=", "ArrayRef<int64_t>", "int64_t") is None


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        ("Tensor", "optional<Tensor>", "optional<Tensor>"),
        ("optional<Tensor>", "nullopt_t", "optional<Tensor>"),
        ("optional<string_view>", "nullopt_t", "optional<string_view>"),
        ("int", "double", "double"),
        ("SymInt", "int64_t", "SymInt"),
        ("ArrayRef<SymInt>", "vector<SymInt>", "ArrayRef<SymInt>"),
        ("Reduction", "int64_t", "int64_t"),
        ("Tensor", "nullopt_t", None),
        ("Tensor", "double", None),
        ("Tensor", "Scalar", None),
        ("Tensor", "vector<Tensor>", None),
        ("tuple<Tensor,Tensor>", "tuple<Tensor,Tensor,Tensor>", None),
    ],
)
def test_common_type_of_branches(a: str, b: str, common: str | None) -> None:
    assert TABLE.ternary(a, b) == common
    assert TABLE.ternary(b, a) == common


def test_the_common_type_does_not_depend_on_the_order() -> None:
    wrong = [(a, b) for a in TYPES for b in TYPES if TABLE.ternary(a, b) != TABLE.ternary(b, a)]
    assert wrong == []


def test_conditions() -> None:
    for fit in ("bool", "int", "double", "const char*", "optional<Tensor>", "OptionalArrayRef<int64_t>"):
        assert TABLE.condition(fit)
    for unfit in (
        "Tensor",
        "SymBool",
        "SymInt",
        "Scalar",
        "string",
        "vector<Tensor>",
        "ScalarType",
        "OptionalArray<int64_t>",
    ):
        assert not TABLE.condition(unfit)


def test_not_is_for_what_can_be_a_condition() -> None:
    # the null pointer can be one, by itself only
    differing = [type for type in TYPES if TABLE.condition(type) != (TABLE.unary("!", type) is not None)]
    assert [type for type in differing if type != "nullptr_t"] == []


def test_optionals_and_pointers_have_values() -> None:
    assert TABLE.unary("*", "optional<SymInt>") == "SymInt"
    assert TABLE.unary("*", "OptionalArrayRef<SymInt>") == "ArrayRef<SymInt>"
    assert TABLE.unary("*", "NestedTensorImpl*") == "?"
    assert TABLE.unary("*", "Tensor") is None


@pytest.mark.parametrize(
    ("owner", "index", "element"),
    [
        ("Tensor", "int", "Tensor"), ("Tensor", "Scalar", "Tensor"), ("Tensor", "Tensor", "Tensor"),
        ("vector<Tensor>", "int", "Tensor"), ("ArrayRef<SymInt>", "int64_t", "SymInt"),
        ("array<bool,3>", "size_t", "bool"), ("vector<SymInt>", "SymInt", None), ("Scalar", "int", None),
        ("optional<Tensor>", "int", None), ("tuple<Tensor,Tensor>", "int", None),
    ],
)  # fmt: skip
def test_indexing(owner: str, index: str, element: str | None) -> None:
    assert TABLE.index(owner, index) == element


def test_string_literals_fit_where_truth_is_wanted() -> None:
    for fit in ("const char*", "string", "string_view", "optional<string_view>", "bool"):
        assert TABLE.literal('"x"', fit)
    for unfit in ("Tensor", "Scalar", "int64_t", "double", "ScalarType", "ArrayRef<int64_t>"):
        assert not TABLE.literal('"x"', unfit)


def test_the_literal_zero_is_a_null_pointer_and_other_integers_are_none() -> None:
    for wanted in ("const char*", "NestedTensorImpl*"):
        assert TABLE.literal("0", wanted)
        assert not TABLE.implicit("int", wanted)
    assert TABLE.literal("nullptr", "const char*")
    assert not TABLE.literal("0", "Tensor")
    assert not TABLE.literal("nullptr", "Tensor")


def test_empty_braces_make_nearly_everything() -> None:
    refused = [type for type in TYPES if not TABLE.literal("{}", type)]
    assert {"Tensor", "Scalar", "SymInt", "ArrayRef<SymInt>", "optional<Tensor>", "int64_t"}.isdisjoint(refused)
    # types whose default constructor is explicit or missing
    assert {"Device", "Stream", "nullopt_t", "List<Tensor>"} <= set(refused)


def test_a_value_in_braces_makes_lists_of_one() -> None:
    assert TABLE.braced("int64_t", "ArrayRef<int64_t>")
    assert TABLE.braced("int", "vector<SymInt>")
    assert TABLE.braced("SymInt", "ArrayRef<SymInt>")
    assert TABLE.braced("Tensor", "vector<Tensor>")
    assert TABLE.braced("bool", "array<bool,3>")
    assert not TABLE.braced("SymInt", "ArrayRef<int64_t>")
    assert not TABLE.braced("Tensor", "ArrayRef<int64_t>")
    assert not TABLE.braced("Scalar", "double")


def test_null_options_as_a_branch() -> None:
    for first in (True, False):
        assert TABLE.literal_ternary("std::nullopt", "optional<Tensor>", literal_first=first) == "optional<Tensor>"
        assert TABLE.literal_ternary("std::nullopt", "Tensor", literal_first=first) is None
        assert TABLE.literal_ternary("0", "Tensor", literal_first=first) is None
        assert TABLE.literal_ternary("0", "double", literal_first=first) == "double"
        assert TABLE.literal_ternary('"x"', "string", literal_first=first) == "string"


def test_types_outside_of_the_table_are_refused() -> None:
    assert not TABLE.knows("tuple<int,int>")
    with pytest.raises(KeyError):
        TABLE.implicit("tuple<int,int>", "Tensor")
    with pytest.raises(KeyError):
        TABLE.binary("+", "tuple<int,int>", "Tensor")
