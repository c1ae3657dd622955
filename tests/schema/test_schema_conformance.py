"""The native functions of the installed PyTorch are those of torchgen, in all that derivlint says of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from typing import Any

import pytest

from derivlint.schema import AUTOGRAD_KEYS, FunctionSchema, NativeFunction, NativeFunctions, OperatorName, parse_schema

Pairs = list[tuple[Any, NativeFunction]]

#: Tags that torchgen adds by itself; derivlint keeps what is written.
IMPLIED_TAGS = {"pt2_compliant_tag", "out", "inplace"}

SAME_ATTRIBUTES = (
    "namespace", "structured", "part_of_structured_group", "manual_kernel_registration", "manual_cpp_binding",
    "python_module", "category_override", "cpp_no_default_args", "device_guard", "use_const_ref_for_mutable_tensors",
    "is_abstract", "has_composite_implicit_autograd_kernel", "is_view_op", "root_name",
)  # fmt: skip

ARGUMENT_GROUPS = (
    "pre_self_positional", "post_self_positional", "pre_tensor_options_kwarg_only", "post_tensor_options_kwarg_only",
    "out", "flat_positional", "flat_kwarg_only", "flat_non_out", "flat_all",
)  # fmt: skip


@pytest.fixture(scope="module")
def pairs(natives: NativeFunctions, reference: list[Any]) -> Pairs:
    return list(zip(reference, natives.functions, strict=True))


def test_same_functions_in_the_same_order(natives: NativeFunctions, reference: list[Any]) -> None:
    assert natives.problems == ()
    assert [str(f.schema) for f in natives.functions] == [str(f.func) for f in reference]


def test_every_schema_prints_back_and_is_read_without_the_grammar(natives: NativeFunctions) -> None:
    from derivlint.schema.syntax.parser import _parse_canonical

    for function in natives.functions:
        schema = _parse_canonical(str(function.schema))
        assert schema is not None
        assert str(FunctionSchema(schema.name, schema.arguments, schema.returns)) == str(schema)
        assert str(schema) == schema.text == str(function.schema)


def test_the_grammar_reads_every_schema_in_the_same_way(natives: NativeFunctions) -> None:
    from derivlint.schema.syntax.grammar_parser import parse_with_grammar

    for function in natives.functions[::7]:
        text = str(function.schema)
        ours, grammar = parse_schema(text), parse_with_grammar(text)
        assert grammar == ours
        assert grammar.arguments == ours.arguments
        assert grammar.name_span == ours.name_span
        for one, other in zip(grammar.arguments.flat_all, ours.arguments.flat_all, strict=True):
            assert (one.type_span, one.name_span, one.default_span) == (
                other.type_span,
                other.name_span,
                other.default_span,
            )
        for back, other_back in zip(grammar.returns, ours.returns, strict=True):
            assert (back.type_span, back.name_span) == (other_back.type_span, other_back.name_span)


def test_same_facts(pairs: Pairs) -> None:
    for theirs, ours in pairs:
        for name in SAME_ATTRIBUTES:
            assert getattr(ours, name) == getattr(theirs, name), (name, ours)
        assert ours.variants == {v.name for v in theirs.variants}
        assert ours.tags - IMPLIED_TAGS == theirs.tags - IMPLIED_TAGS
        assert ours.generated == ("generated" in theirs.tags)
        assert list(ours.autogen) == [str(name) for name in theirs.autogen]
        assert ours.device_check == theirs.device_check.name
        assert ours.view_schema_kind.name == theirs.view_schema_kind.name
        assert ours.structured_delegate == (theirs.structured_delegate and str(theirs.structured_delegate))


def test_same_names(pairs: Pairs) -> None:
    for theirs, ours in pairs:
        name = theirs.func.name
        assert ours.name == ours.schema.name
        assert str(ours.name) == str(name)
        assert ours.name.name_without_overload == str(name.name)
        assert ours.name.unambiguous_name == name.unambiguous_name()
        assert ours.name == OperatorName(
            name.name.base,
            name.name.inplace,
            name.name.dunder_method,
            name.name.functional_overload,
            name.overload_name,
        )


def test_same_schema_facts(pairs: Pairs) -> None:
    for theirs, ours in pairs:
        schema = ours.schema
        assert schema.kind.name == theirs.func.kind().name
        assert schema.is_out == theirs.func.is_out_fn()
        assert schema.is_functional_overload == theirs.func.is_functional_fn()
        assert schema.has_symint == theirs.func.has_symint()
        assert schema.modifies_arguments == theirs.func.modifies_arguments
        for group in ARGUMENT_GROUPS:
            expected = [str(a) for a in getattr(theirs.func.arguments, group)]
            assert [str(a) for a in getattr(schema.arguments, group)] == expected, (group, ours)
        expected_options = theirs.func.arguments.tensor_options
        options = schema.arguments.tensor_options
        assert (
            [str(a) for a in options.all if options] == [str(a) for a in expected_options.all()]
            if options
            else (expected_options is None)
        )
        assert [type(a).__name__ for a in schema.arguments.non_out] == [
            type(a).__name__.replace("SelfArgument", "Argument") for a in theirs.func.arguments.non_out
        ]


def test_same_types(pairs: Pairs) -> None:
    for theirs, ours in pairs:
        for their, our in zip(theirs.func.schema_order_arguments(), ours.schema.schema_order_arguments, strict=True):
            assert our.type.is_tensor_like == their.type.is_tensor_like()
            assert our.type.is_symint_like == their.type.is_symint_like()
            assert our.type.is_generator_like == their.type.is_generator_like()
            assert our.type.is_nullable == their.type.is_nullable()
            assert str(our.type.is_list_like) == str(their.type.is_list_like())
            assert our.is_write == their.is_write


@pytest.mark.parametrize(("defaults", "views", "names"), list(product((False, True), repeat=3)))
def test_same_signatures(pairs: Pairs, defaults: bool, views: bool, names: bool) -> None:
    for theirs, ours in pairs:
        options = {"strip_default": defaults, "strip_view_copy_name": views, "keep_return_names": names}
        assert str(ours.schema.signature(**options)) == str(theirs.func.signature(**options))


def test_signature_keys_are_the_texts_of_the_signatures(natives: NativeFunctions) -> None:
    for function in natives.functions:
        schema = function.schema
        assert schema.signature_key == str(schema.signature())
        assert schema.signature_key_no_defaults == str(schema.signature(strip_default=True))
        assert schema.view_signature_key == str(schema.signature(strip_view_copy_name=True))


def flattened(reference: list[Any]) -> Iterator[Any]:
    for group in import_module("torchgen.gen").get_grouped_by_view_native_functions(reference):
        if hasattr(group, "functions"):
            yield from group.functions(include_copy=True)
        else:
            yield group


def test_same_signature_groups_in_the_same_order(natives: NativeFunctions, reference: list[Any]) -> None:
    expected: dict[Any, list[str]] = defaultdict(list)
    for theirs in flattened(reference):
        expected[str(theirs.func.signature())].append(str(theirs.func))
    for ours in natives.functions:
        key = ours.schema.signature_key
        assert [str(f.schema) for f in natives.signature_group(ours)] == expected[key]
        assert natives.by_signature(key) == natives.signature_group(ours)


def test_same_view_groups_in_the_same_order(natives: NativeFunctions, reference: list[Any]) -> None:
    grouped = import_module("torchgen.gen").get_grouped_by_view_native_functions(reference)
    expected = [
        tuple(str(f.func) if f else None for f in (group.view, group.view_copy, group.view_inplace))
        for group in grouped
        if hasattr(group, "functions")
    ]
    groups = natives.view_groups
    ours = [tuple(str(f.schema) if f else None for f in (g.view, g.view_copy, g.view_inplace)) for g in groups]
    assert ours == expected
    members = {f: group for group in groups for f in group.functions}
    for function in natives.functions:
        assert natives.view_group(function) is members.get(function)


def test_every_function_is_found_by_its_schema(natives: NativeFunctions) -> None:
    for function in natives.functions:
        assert natives.by_schema(str(function.schema)) is function
        assert function in natives.named(function.name.name_without_overload)
        assert function in natives.with_base(function.name.base)
        assert natives.operator(str(function.name)) is function


@pytest.mark.torch
def test_same_autograd_keys() -> None:
    assert list(AUTOGRAD_KEYS) == import_module("torchgen.model").AUTOGRAD_KEYS
