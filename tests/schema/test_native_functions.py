"""Reading files of native functions, and what is generated of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from derivlint.schema import (
    NativeFunction,
    NativeFunctions,
    ViewSchemaKind,
    describe_operator,
    read_native_functions,
)
from derivlint.source import SourceFile


def read(*texts: str, tags: str | None = None) -> NativeFunctions:
    sources = [SourceFile(f"{index}.yaml", text) for index, text in enumerate(texts)]
    return read_native_functions(sources, tags=None if tags is None else SourceFile("tags.yaml", tags))


def problems(natives: NativeFunctions) -> list[tuple[str, str, str, str | None]]:
    """Path, message, marked text and help."""
    return [(p.source.path, p.message, p.source.slice(p.span), p.help) for p in natives.problems]


FULL = """\
- func: npu::thing.out(Tensor self, int x=1, *, Tensor(a!) out) -> Tensor(a!)
  variants: function, method
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, NewBackend: thing_out
    CUDA: thing_cuda
  tags: [core, brand_new]
  autogen: thing.a_out, thing.b_out
  manual_kernel_registration: yes
  manual_cpp_binding: true
  python_module: nn
  category_override: dummy
  cpp_no_default_args: ['x']
  device_check: NoCheck
  device_guard: False
  use_const_ref_for_mutable_tensors: True
  ufunc_inner_loop:
    Generic: add (AllAndComplex, BFloat16)
  field_of_tomorrow: 3
"""


def test_every_field_is_read() -> None:
    natives = read(FULL)
    (function,) = natives.written
    text = "thing.out(Tensor self, int x=1, *, Tensor(a!) out) -> Tensor(a!)"
    assert natives.problems == ()
    assert function.source is not None
    assert not function.in_cpp_api
    assert asdict(function) | {"source": None, "in_cpp_api": True} == asdict(
        NativeFunction(
            text,
            namespace="npu",
            variants=frozenset({"function", "method"}),
            structured=True,
            dispatch=("CPU", "NewBackend", "CUDA"),
            tags=frozenset({"core", "brand_new"}),
            autogen=("thing.a_out", "thing.b_out"),
            manual_kernel_registration=True,
            manual_cpp_binding=True,
            python_module="nn",
            category_override="dummy",
            cpp_no_default_args=frozenset({"x"}),
            device_check="NoCheck",
            device_guard=False,
            use_const_ref_for_mutable_tensors=True,
            ufunc=True,
        )
    )
    assert function.source[0] == "0.yaml"
    assert FULL[slice(*function.source[1])] == f"npu::{text}"


def test_defaults_and_single_tags() -> None:
    natives = read("- func: f(Tensor self) -> Tensor\n  tags: core\n")
    (function,) = natives.written
    assert function.tags == {"core"}
    assert function.variants == {"function"}
    assert function.dispatch is None
    assert not function.is_abstract
    assert function.has_composite_implicit_autograd_kernel


def test_values_of_the_wrong_type_count_as_absent() -> None:
    natives = read("- func: f(Tensor self) -> Tensor\n  dispatch: CPU\n  structured: maybe\n  tags: {a: b}\n")
    (function,) = natives.written
    assert (function.dispatch, function.structured, function.tags) == (None, False, frozenset())
    assert natives.problems == ()


BROKEN = """\
- func: good(Tensor self) -> Tensor
- variants: function
- just text
- func: bad(Tensor self, other) -> Tensor
- func: "quoted(Tensor self,
    Tensor?(a!) x) -> Tensor"
- func: aten::worse(Tensor self) ->
- func: good(Tensor self, int again) -> Tensor
- func: last(Tensor self) -> Tensor
"""


def test_what_cannot_be_read_is_a_problem_and_the_rest_goes_on() -> None:
    natives = read(BROKEN)
    assert [str(f.name) for f in natives.functions] == ["good", "last"]
    assert problems(natives) == [
        ("0.yaml", 'the entry has no "func" with a schema', "variants: function", None),
        ("0.yaml", 'the entry has no "func" with a schema', "just text", None),
        ("0.yaml", 'argument "other" needs a type and a name', "other", 'write "Tensor other"'),
        (
            "0.yaml",
            'an alias annotation comes before any "?" or "[]" of the type',
            "(",
            'write "Tensor(a!)?" or "Tensor(a!)[]"',
        ),
        ("0.yaml", "the schema has no returns", "", 'end it with "-> Tensor", or with "-> ()" for none'),
        (
            "0.yaml",
            'operator "good" is declared twice, first on line 1',
            "good(Tensor self, int again) -> Tensor",
            None,
        ),
    ]


def test_yaml_problems_are_problems() -> None:
    natives = read("- func: f(Tensor self) -> Tensor\n- func: [\n")
    assert len(natives.problems) == 1
    assert read("42\n").problems[0].message == "the file is not a list of native functions"
    assert read("").problems == ()


def test_a_later_file_replaces_and_extends() -> None:
    first = "- func: f(Tensor self) -> Tensor\n- func: g(Tensor self) -> Tensor\n"
    second = "- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: f}\n- func: f.x(Tensor self) -> Tensor\n"
    natives = read(first, second)
    assert natives.problems == ()
    assert [(str(f.schema), f.dispatch) for f in natives.written] == [
        ("f(Tensor self) -> Tensor", ("CPU",)),
        ("g(Tensor self) -> Tensor", None),
        ("f.x(Tensor self) -> Tensor", None),
    ]


GROUPED = """\
backend: NPU
all_version: [v1, v2]
supported:
  - add
  - func: clone
    op_api: True
official:
  - func: f(Tensor self) -> Tensor
    acl_op: all_version
custom:
  - func: npu_op(Tensor self) -> Tensor
  - func: npu_op(Tensor self, int x) -> Tensor
"""


def test_groups_of_a_backend_add_operators_and_change_none() -> None:
    natives = read("- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: f}\n", GROUPED)
    assert natives.problems == ()
    assert [(str(f.schema), f.dispatch) for f in natives.written] == [
        ("f(Tensor self) -> Tensor", ("CPU",)),
        ("npu_op(Tensor self) -> Tensor", ("PrivateUse1",)),
        ("npu_op(Tensor self, int x) -> Tensor", ("PrivateUse1",)),
    ]


def test_a_mistake_in_a_renamed_schema_is_where_it_is_written() -> None:
    """The argument "grad" is "grad_out" in entries of a back end."""
    ((_, message, place, _),) = problems(read("custom:\n  - func: f(Tensor(a)[ grad=\n"))
    assert (place, message) == ("grad", 'expected a number or "]", found "grad"')


def test_groups_without_a_list_serve_the_versions_that_they_name() -> None:
    """As in op-plugin until November 2024."""
    natives = read("""\
custom:
  - func: f(Tensor self) -> Tensor
    impl_ns: acl_op, acl_op
    version: v2.0, v2.1
  - func: g(Tensor self) -> Tensor
    version: v1.11
  - func: h(Tensor self) -> Tensor
""")
    assert [function.versions for function in natives.written] == [{"v2.0", "v2.1"}, {"v1.11"}, None]


def test_an_operator_of_a_backend_needs_a_derivative() -> None:
    """The backend has its kernel, so it is not made of other operators, which autograd could differentiate instead."""
    natives = read(GROUPED)
    assert [function.is_abstract for function in natives.named("npu_op")] == [True, True]


def test_tags_file() -> None:
    natives = read("[]", tags="- tag: core\n  desc: x\n- tag: inplace_view\n  desc: y\n- broken\n")
    assert natives.known_tags == frozenset({"core", "inplace_view"})
    assert read("[]").known_tags is None


def generated(text: str) -> list[str]:
    natives = read(text)
    assert natives.problems == ()
    return [str(f.schema) for f in natives.functions if f.generated]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (  # a functional operator gets an out variant where autogen asks for it
            "- func: f.x(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, int y=1) -> Tensor\n  dispatch: {CPU: f}\n  autogen: f.x_out\n",
            ["f.x_out(Tensor self, *, int y=1, Tensor(a!) out) -> Tensor(a!)"],
        ),
        (  # several returns; what is not a tensor stays a return, and then the tensors are not returned
            "- func: f(Tensor self) -> (Tensor a, int, Tensor[])\n  dispatch: {CPU: f}\n  autogen: f.out\n",
            ["f.out(Tensor self, *, Tensor(a!) out0, Tensor(c!)[] out2) -> int"],
        ),
        (  # an in-place operator gets both
            "- func: f_(Tensor(a!) self, Tensor x) -> Tensor(a!)\n  dispatch: {CPU: f}\n  autogen: f, f.out\n",
            ["f.out(Tensor self, Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "f(Tensor self, Tensor x) -> Tensor"],
        ),
        (  # a mutable one gets a functional twin of another name, and new letters for the out arguments
            "- func: f(Tensor self, Tensor(a!) x) -> Tensor y\n  dispatch: {CPU: f}\n  autogen: f_functional, f.out\n",
            [
                "f.out(Tensor self, Tensor(a!) x, *, Tensor(b!) out) -> Tensor(b!)",
                "f_functional(Tensor self, Tensor x) -> (Tensor y, Tensor x_out)",
            ],
        ),
        (  # in-place and out without functional
            "- func: f_(Tensor(a!) self) -> Tensor(a!)\n  dispatch: {CPU: f}\n"
            "- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch: {CPU: f}\n",
            ["f(Tensor self) -> Tensor"],
        ),
        ("- func: f(Tensor self) -> Tensor\n  autogen: f.out\n", []),  # decomposes, so autograd needs no variants
        (  # decomposes, but is a core operator
            "- func: f(Tensor self) -> Tensor\n  autogen: f.out\n  tags: core\n",
            ["f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"],
        ),
        ("- func: f(Tensor(a) self) -> Tensor(a)\n  dispatch: {CPU: f}\n  autogen: f.out\n", []),  # a view
        ("- func: f(Tensor self) -> bool\n  dispatch: {CPU: f}\n  autogen: f.out\n", []),  # no tensor to write to
        ("- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: f}\n", []),  # no one asks
        ("- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch: {CPU: f}\n", []),  # alone
        ("- func: f_(Tensor(a!) x) -> Tensor(a!)\n  dispatch: {CPU: f}\n  autogen: f, f.out\n", []),  # no self
    ],
)
def test_generated_variants(entry: str, expected: list[str]) -> None:
    assert generated(entry) == expected


def test_a_generated_function_inherits_little() -> None:
    natives = read(
        "- func: ns::f_(Tensor(a!) self) -> Tensor(a!)\n  variants: method\n  dispatch: {CPU: f}\n"
        "  autogen: f, f.out\n  tags: [nondeterministic_seeded, pointwise]\n"
    )
    origin, out, functional = natives.functions
    for function in (out, functional):
        assert function.generated_from is origin
        assert function.namespace == "ns"
        assert function.variants == {"function"}
        assert function.tags == {"generated", "nondeterministic_seeded"}
        assert function.dispatch == ("CompositeExplicitAutograd",)
        assert function.is_abstract
        assert function.source is None
    assert natives.signature_group(functional) == (origin, out, functional)


VIEWS = """\
- func: v_copy.x(Tensor self) -> Tensor
  dispatch: {CompositeExplicitAutogradNonFunctional: v_copy}
  tags: view_copy
  autogen: v_copy.x_out
- func: v.x(Tensor(a) self) -> Tensor(a)
  dispatch: {CPU: v}
- func: v_.x(Tensor(a!) self) -> Tensor(a!)
  dispatch: {CPU: v_}
  tags: inplace_view
- func: w(Tensor self) -> Tensor
"""


def test_views_their_copies_and_in_place_forms() -> None:
    natives = read(VIEWS)
    copy, view, inplace, other = natives.written
    (group,) = natives.view_groups
    assert (group.view, group.view_copy, group.view_inplace) == (view, copy, inplace)
    assert [natives.view_group(f) for f in (copy, view, inplace, other)] == [group, group, group, None]
    assert [f.view_schema_kind for f in natives.written] == [
        ViewSchemaKind.non_aliasing,
        ViewSchemaKind.aliasing,
        ViewSchemaKind.aliasing_inplace,
        ViewSchemaKind.non_aliasing,
    ]
    assert natives.signature_group(view) == (view, inplace)
    assert [str(f.name) for f in natives.signature_group(copy)] == ["v_copy.x", "v_copy.x_out"]


def test_two_functions_of_one_kind_and_signature_are_kept() -> None:
    natives = read("- func: f.a(Tensor(a) self) -> Tensor(a)\n- func: f.b(Tensor(a) self) -> Tensor(a)\n")
    one, two = natives.written
    assert natives.signature_group(one) == (one, two)
    assert [g.view for g in natives.view_groups] == [one]


def test_namespaces_do_not_mix() -> None:
    natives = read("- func: f(Tensor self) -> Tensor\n", "- func: my::f(Tensor self) -> Tensor\n")
    one, two = natives.written
    assert natives.signature_group(one) == (one,)
    assert natives.signature_group(two) == (two,)
    # an entry has no namespace, and a project declares an operator again in order to write its derivative
    assert natives.by_schema("f(Tensor self) -> Tensor") is two
    assert [one.key, two.key] == ["f(Tensor self) -> Tensor", "my::f(Tensor self) -> Tensor"]


def test_questions_about_unknown_operators_have_empty_answers(natives: NativeFunctions) -> None:
    assert natives.by_schema("abss(Tensor self) -> Tensor") is None
    assert natives.by_schema("") is None
    assert natives.by_schema("abs(Tensor  self) -> Tensor") is None
    assert natives.named("abss") == ()
    assert natives.with_base("abss") == ()
    assert natives.foreach_of("abss") == ()
    assert natives.operator("abs.nope") is None
    assert describe_operator(natives, "abss") is None


def test_names_of_the_real_file(natives: NativeFunctions) -> None:
    assert [str(f.name) for f in natives.with_base("abs")] == ["abs", "abs_", "abs.out"]
    assert [str(f.name) for f in natives.named("abs")] == ["abs", "abs.out"]
    assert [str(f.name) for f in natives.foreach_of("abs")] == ["_foreach_abs", "_foreach_abs_", "_foreach_abs.out"]
    assert {"abs", "abs_", "_foreach_abs_"} <= set(natives.operator_names())
    assert natives.operator_names() == tuple(sorted(set(natives.operator_names())))
    assert "_foreach_abs_" in {str(f.name) for f in natives.inplace_foreach}
    assert all(f.name.inplace for f in natives.inplace_foreach)


def test_asking_for_one_operator_leaves_the_others_alone(natives: NativeFunctions) -> None:
    fresh = NativeFunctions(natives.written)
    found = fresh.by_schema("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
    assert found is not None
    assert set(fresh._families) == {"transpose"}


def test_described_operator(natives: NativeFunctions) -> None:
    facts = describe_operator(natives, "aten::transpose.int")
    assert facts is not None
    (function,) = facts.functions
    assert function.kind == "functional"
    assert function.view == "aliasing"
    assert function.variants == ("function", "method")
    assert function.view_group == ("transpose.int", "transpose_", "transpose_copy.int")
    assert function.signature_group == ("transpose.int", "transpose_")
    everything = describe_operator(natives, "abs")
    assert everything is not None
    assert [f.kind for f in everything.functions] == ["functional", "inplace", "out"]
    assert len(everything.foreach) == 3
    one_form = describe_operator(natives, "abs_")
    assert one_form is not None
    assert [f.schema for f in one_form.functions] == ["abs_(Tensor(a!) self) -> Tensor(a!)"]


YAML_PIECES = st.sampled_from(
    ["- func: ", "f(Tensor self) -> Tensor", "\n", "  dispatch:", " {CPU: f}", "  tags: [", "]", "a: ", "- ", "\t", "*"]
)


@given(st.lists(YAML_PIECES, max_size=12).map("".join))
def test_any_file_is_read(text: str) -> None:
    natives = read(text)
    assert all(f.schema for f in natives.functions)
    assert all(0 <= p.span.start <= p.span.end <= len(text) for p in natives.problems)
