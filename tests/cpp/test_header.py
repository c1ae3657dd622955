"""Reading whole headers: those of PyTorch, and those that no one can read."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torchgen.api import cpp
from torchgen.api.types import CppSignatureGroup
from torchgen.context import native_function_manager
from torchgen.gen import parse_native_yaml
from torchgen.model import NativeFunction, Variant

from derivlint.cpp.canonical import canonical_type
from derivlint.cpp.cpp_type import CHAR_POINTER, UNKNOWN, cpp_type
from derivlint.cpp.declarations.declaration import AUTO, Declarations, Function, declarations_from_json
from derivlint.cpp.declarations.header import HeaderReading, read_declarations
from derivlint.source import Span
from tests.counting import calls_of

DETAILS = "torch::autograd::generated::details"


def _folder(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


INCLUDE = _folder("torch") / "include"
NATIVE = _folder("torchgen") / "packaged/ATen/native"


@cache
def _text(header: str) -> str:
    return (INCLUDE / header).read_text(encoding="utf-8")


@cache
def _reading(header: str) -> HeaderReading:
    return read_declarations(_text(header))


@cache
def _native_functions() -> list[NativeFunction]:
    parsed = parse_native_yaml(str(NATIVE / "native_functions.yaml"), str(NATIVE / "tags.yaml"))
    return list(parsed.native_functions)


# ---- FunctionsManual.h

MANUAL = "torch/csrc/autograd/FunctionsManual.h"
#: As they are in the header of the release that the tests are run with, copied by hand.
SIGNATURES = {
    "toNonOptFwGrad": ["Tensor toNonOptFwGrad(optional<Tensor> t)"],
    "any_variable_defined": ["bool any_variable_defined(vector<Tensor> variables)"],
    "update_wrapped_number": ["void update_wrapped_number(Tensor& input, Tensor& output)"],
    "copy_range": [
        "void copy_range(vector<Tensor>& out, IndexRange range, Tensor t)",
        "void copy_range(vector<Tensor>& out, IndexRange range, ArrayRef<Tensor> t)",
    ],
    "not_implemented": ["Tensor not_implemented(const char* name, const char* reason = ...)"],
    "not_implemented_list": ["vector<Tensor> not_implemented_list(const char* name, const char* reason = ...)"],
    "handle_r_to_c": ["Tensor handle_r_to_c(ScalarType self_st, Tensor gradient_result)"],
    "maybe_multiply": ["Tensor maybe_multiply(Tensor t, Scalar s)"],
    "_safe_size": ["int64_t _safe_size(ArrayRef<int64_t> sizes, ArrayRef<int64_t> dim)"],
    "wrap_opt_if": ["optional<Tensor> wrap_opt_if(Tensor t, bool cond)"],
    "norm_backward": [
        "Tensor norm_backward(Tensor grad, Tensor self, optional<Scalar> p_, Tensor norm)",
        "Tensor norm_backward(Tensor grad, Tensor self, optional<Scalar> p_, Tensor norm, ArrayRef<int64_t> dim, "
        "bool keepdim)",
    ],
    "pow_backward_exponent": [
        "Tensor pow_backward_exponent(Tensor grad, Tensor self, Tensor exponent, Tensor result)",
        "Tensor pow_backward_exponent(Tensor grad, Scalar base, Tensor exponent, Tensor result)",
    ],
    "mul_tensor_backward": ["Tensor mul_tensor_backward(Tensor grad, T other, ScalarType self_st)"],
    "div_tensor_self_backward": [
        "Tensor div_tensor_self_backward(Tensor grad, T other, ScalarType self_st, "
        "optional<string_view> rounding_mode = ...)"
    ],
    "sum_backward": [
        "Tensor sum_backward(Tensor grad, ArrayRef<SymInt> sizes, OptionalArrayRef<int64_t> opt_dims, bool keepdim)",
        "Tensor sum_backward(Tensor grad, ArrayRef<SymInt> sizes, ArrayRef<int64_t> dims, bool keepdim)",
    ],
    "unsqueeze_to": [
        "Tensor unsqueeze_to(Tensor self, ArrayRef<SymInt> sym_sizes)",
        "Tensor unsqueeze_to(Tensor self, int64_t dim, ArrayRef<SymInt> sym_sizes)",
        "Tensor unsqueeze_to(Tensor self, ArrayRef<int64_t> dim, ArrayRef<SymInt> sym_sizes)",
    ],
    "clamp_backward": [
        "Tensor clamp_backward(Tensor grad, Tensor self, optional<Scalar> min, optional<Scalar> max)",
        "Tensor clamp_backward(Tensor grad, Tensor self, Tensor min, Tensor max)",
    ],
    "linear_double_backward": [
        "tuple<Tensor,Tensor,Tensor> linear_double_backward(vector<Tensor> grads, Tensor self, Tensor grad_output, "
        "Tensor weight)"
    ],
}

#: The header is laid out by clang-format: declarations begin at the margin, and what belongs to them is indented.
_AT_MARGIN = re.compile(r"^(?!namespace|using|struct|template|extern|//|#|\})(?:[\w:][^;{}(]*?)\b(\w+)\(", re.MULTILINE)


def test_the_helpers_of_pytorch_are_all_read() -> None:
    reading = _reading(MANUAL)
    assert reading.problems == ()
    assert reading.declarations.opaque == {}
    assert list(reading.declarations.functions) == [DETAILS]
    read = [function.name for functions in reading.declarations.functions[DETAILS].values() for function in functions]
    assert sorted(read) == sorted(_AT_MARGIN.findall(_text(MANUAL)))
    assert len(read) > 200
    assert reading.declarations.variables == {DETAILS: {"kCudnnDoubleBackwardMsg": CHAR_POINTER}}
    assert set(reading.declarations.classes) == {"IndexRangeGenerator"}


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_helpers_of_pytorch_are_read_as_they_are_written(name: str) -> None:
    functions = _reading(MANUAL).declarations.functions[DETAILS][name]
    assert [function.signature for function in functions] == SIGNATURES[name]


def test_no_type_of_a_helper_is_unreadable() -> None:
    for functions in _reading(MANUAL).declarations.functions[DETAILS].values():
        for function in functions:
            types = [function.result, *(parameter.type for parameter in function.parameters)]
            assert not {UNKNOWN, AUTO} & set(types)
            assert [canonical_type(type.text) for type in types] == types


def test_the_helpers_of_pytorch_are_read_with_few_calls() -> None:
    """Each of the more than 200 helpers is read by itself, so that what it costs does not grow with the file."""
    text = _text(MANUAL)
    read_declarations(text)
    assert calls_of(lambda: read_declarations(text)) < 300_000


# ---- what PyTorch generates, whose signatures torchgen knows


def _expected(function: NativeFunction, *, method: bool) -> set[tuple[object, ...]]:
    found: set[tuple[object, ...]] = set()
    with native_function_manager(function):
        group = CppSignatureGroup.from_native_function(function, method=method)
        for signature in group.signatures():
            parameters = tuple(
                (canonical_type(binding.type), binding.name, binding.default is not None)
                for binding in signature.arguments()
            )
            result = cpp.returns_type(signature.func.returns, symint=signature.symint).cpp_type()
            found.add((signature.name(), canonical_type(result), parameters))
    return found


def _as_read(function: Function) -> tuple[object, ...]:
    parameters = tuple((each.type, each.name, each.has_default) for each in function.parameters)
    return function.name, function.result, parameters


def test_every_generated_method_of_tensors_is_read_exactly() -> None:
    declarations = _reading("ATen/core/TensorBody.h").declarations
    tensor = declarations.classes["Tensor"]
    expected: set[tuple[object, ...]] = set()
    for function in _native_functions():
        if Variant.method in function.variants and not function.manual_cpp_binding:
            expected |= _expected(function, method=True)
    read = {_as_read(function) for functions in tensor.methods.values() for function in functions}
    assert len({signature[0] for signature in expected}) > 500
    assert expected - read == set()
    generated = {signature[0] for signature in expected}
    more = [
        function
        for functions in tensor.methods.values()
        for function in functions
        if _as_read(function) not in expected
    ]
    assert [function.signature for function in more if function.name in generated] == [
        "T item()",
        "Tensor index(ArrayRef<indexing::TensorIndex> indices)",
        "Tensor index(initializer_list<indexing::TensorIndex> indices)",
        "Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, Tensor rhs)",
        "Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, Scalar v)",
        "Tensor& index_put_(initializer_list<indexing::TensorIndex> indices, Tensor rhs)",
        "Tensor& index_put_(initializer_list<indexing::TensorIndex> indices, Scalar v)",
        "Tensor std(int dim)",
        "Tensor var(int dim)",
        "Tensor to(TypeMeta type_meta, bool non_blocking = ..., bool copy = ...)",
        "Tensor to(Device device, TypeMeta type_meta, bool non_blocking = ..., bool copy = ...)",
    ]
    by_hand = {function.name for function in more}
    assert {
        "cpu", "cuda", "conj", "contiguous", "backward", "requires_grad_", "register_hook", "item", "data",
    } <= by_hand  # fmt: skip
    assert not any(name.endswith("_symint") for name in by_hand)


def test_the_rest_of_tensors_is_read() -> None:
    declarations = _reading("ATen/core/TensorBody.h").declarations
    tensor = declarations.classes["Tensor"]
    assert tensor.bases == (cpp_type("TensorBase"),)
    assert [function.signature for function in tensor.constructors] == [
        "Tensor Tensor()",
        "Tensor Tensor(intrusive_ptr<TensorImpl,UndefinedTensorImpl> tensor_impl)",
        "Tensor Tensor(Tensor tensor)",
        "Tensor Tensor(TensorBase base)",
    ]
    (is_variable,) = tensor.methods["is_variable"]
    assert is_variable.deprecated is not None
    assert is_variable.deprecated.startswith("Tensor.is_variable() is deprecated")
    assert [function.is_static for function in tensor.methods["wrap_tensor_impl"]] == [True]
    base = _reading("ATen/core/TensorBase.h").declarations.classes["TensorBase"]
    assert {"defined", "dim", "sym_sizes", "options", "is_cuda", "scalar_type", "suggest_memory_format"} <= set(
        base.methods
    )
    assert [function.signature for function in base.methods["size"]] == ["int64_t size(int64_t dim)"]
    assert [function.signature for function in base.methods["sym_sizes"]] == ["ArrayRef<SymInt> sym_sizes()"]


@pytest.mark.parametrize(
    "operator", ["add", "sum", "empty", "narrow", "split", "zeros_like", "conv2d", "to", "topk", "_foreach_add"]
)
def test_generated_functions_are_read_exactly(operator: str) -> None:
    reading = _reading(f"ATen/ops/{operator}.h")
    assert reading.problems == ()
    functions = reading.declarations.functions.get("at", {})
    expected: set[tuple[object, ...]] = set()
    for function in _native_functions():
        is_function = Variant.function in function.variants and not function.manual_cpp_binding
        if function.root_name == operator and is_function:
            expected |= _expected(function, method=False)
    read = {_as_read(function) for overloads in functions.values() for function in overloads}
    assert expected <= read


def test_hand_written_headers_are_read() -> None:
    assert _reading("ATen/core/Reduction.h") == HeaderReading(
        Declarations(
            variables={
                path: dict.fromkeys(("None", "Mean", "Sum", "END"), cpp_type("Reduction"))
                for path in ("at::Reduction::Reduction", "at::Reduction")
            },
            classes=_reading("ATen/core/Reduction.h").declarations.classes,
        )
    )
    scalar = _reading("c10/core/Scalar.h").declarations.classes["Scalar"]
    # its accessors are made by macros
    assert scalar.bases == (UNKNOWN,)
    assert [function.signature for function in scalar.methods["isIntegral"]] == [
        "bool isIntegral()",
        "bool isIntegral(bool includeBool)",
    ]
    array = _reading("c10/util/ArrayRef.h").declarations.classes["ArrayRef"]
    assert array.template == ("T",)
    assert array.bases == (cpp_type("HeaderOnlyArrayRef<T>"),)
    assert [function.signature for function in array.methods["slice"]] == [
        "ArrayRef<T> slice(size_t N, size_t M)",
        "ArrayRef<T> slice(size_t N)",
    ]
    geometry = _reading("ATen/TensorGeometry.h").declarations.classes["TensorGeometry"]
    assert [function.signature for function in geometry.methods["sym_sizes"]] == ["ArrayRef<SymInt> sym_sizes()"]


def test_a_macro_without_semicolon_hides_no_enumeration() -> None:
    reading = read_declarations("DECLARE(a, b)\n\nenum class Kind {\n  One,\n  Two,\n};\n\nint f(Kind kind);\n")
    assert reading.problems == ()
    assert list(reading.declarations.functions[""]) == ["f"]


def test_nearly_every_header_of_the_core_is_read() -> None:
    problems = [
        (path.name, problem.message)
        for folder in ("ATen/core", "c10/core", "c10/util")
        for path in sorted((INCLUDE / folder).glob("*.h"))
        for problem in read_declarations(path.read_text(encoding="utf-8")).problems
    ]
    # "typedef unsigned int(digest_type)[5]" and a "<" that is less-than in template arguments
    assert [name for name, _ in problems] == ["SmallVector.h", "hash.h"]


# ---- what cannot be read


@pytest.mark.parametrize(
    ("text", "message", "marked", "opaque"),
    [
        ("int f(int a b + c);", 'cannot read the declaration of "f": unexpected "+"', "+", "f"),
        ("int f(int);\nint g(3);", 'cannot read the declaration of "g": unexpected "3"', "3", "g"),
        ("TORCH_API return x;", 'cannot read the declaration of "x": unexpected "return"', "return", "x"),
        ("int f(int a = 1,);", 'cannot read the declaration of "f": unexpected ")"', ")", "f"),
        ("int f(int a, A& b B c);", 'cannot read the declaration of "f": unexpected "B"', "B", "f"),
        ("long f(unsigned long a int b);", 'cannot read the declaration of "f": unexpected "int"', "int", "f"),
        ("using = 3;", 'cannot read the declaration: unexpected "="', "=", None),
        ("using namespace;", "cannot read the declaration: it ends too early", "using namespace", None),
        ("int f(int a)", 'the declaration of "f" ends without ";"', "int f(int a)", "f"),
        ("namespace a { int f(); int g }", 'the declaration of "g" ends without ";"', "int g", "g"),
        ("int f(); }", '"}" closes nothing', "}", None),
        ("int f(); namespace a {", '"{" is never closed', "{", None),
        ("int f(); /* int g();", "a comment is never closed", "/*", None),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_place(
    text: str, message: str, marked: str, opaque: str | None
) -> None:
    reading = read_declarations(text)
    start = text.rindex(marked)
    assert [problem[:2] for problem in reading.problems] == [(message, Span(start, start + len(marked)))]
    names = {name for names in reading.declarations.opaque.values() for name in names}
    assert names == ({opaque} if opaque is not None else set())


def test_both_of_two_declarations_without_a_semicolon_between_them_are_read() -> None:
    text = "at::Tensor f(const at::Tensor& a)\nat::Tensor g(const at::Tensor& b);\nnamespace x { int h()\nint i(); }\n"
    reading = read_declarations(text)
    functions = {namespace: list(names) for namespace, names in reading.declarations.functions.items()}
    assert functions == {"": ["f", "g"], "x": ["h", "i"]}
    assert reading.declarations.opaque == {}
    assert [(problem.message, problem.help, problem.hides) for problem in reading.problems] == [
        ('the declaration of "f" ends without ";"', 'write ";" after it', False),
        ('the declaration of "h" ends without ";"', 'write ";" after it', False),
    ]


def test_a_bracket_that_is_never_closed_is_one_problem() -> None:
    reading = read_declarations("int f(int a;\nint g();\n")
    (problem,) = reading.problems
    assert (problem.message, problem.span, problem.hides) == ('"(" is never closed', Span(5, 6), True)
    assert problem.help == 'write ")" where it ends; calls of "f" are not checked until the header can be read'
    assert list(reading.declarations.functions[""]) == ["g"]


def test_a_broken_declaration_does_not_stop_the_others() -> None:
    text = """
        int f();
        int broken(1 + 2);
        namespace at {
        struct A { int m(); int n(3); A(1); private: int o(4); };
        @@@ class Strange { int x; };
        Tensor g(Tensor a);
        }
        int h() { if (a) { return "}"; } }
        int i();
    """
    reading = read_declarations(text)
    assert len(reading.problems) == 5
    functions = {namespace: list(names) for namespace, names in reading.declarations.functions.items()}
    assert functions == {"": ["f", "h", "i"], "at": ["g"]}
    assert reading.declarations.opaque == {"": frozenset({"broken"}), "at": frozenset({"Strange"})}
    members = reading.declarations.classes["A"]
    assert {name: overloads[0].signature for name, overloads in members.methods.items()} == {
        "m": "int m()",
        "n": "auto n(...)",
    }
    assert [function.signature for function in members.constructors] == ["A A(...)"]
    assert members.bases == ()


def test_every_beginning_of_a_header_can_be_read() -> None:
    text = _text("ATen/TensorGeometry.h") + _text("c10/core/Device.h")
    for end in range(0, len(text), 97):
        _assert_sound(text[:end])


def _assert_sound(text: str) -> None:
    reading = read_declarations(text)
    for problem in reading.problems:
        assert 0 <= problem.span.start < problem.span.end <= len(text)
        assert "\n" not in problem.message
        assert len(problem.message) < 200
    assert declarations_from_json(reading.declarations.to_json()) == reading.declarations


PIECES = """
template < typename T > class struct enum namespace using operator friend public: private: ( ) { } [ ] ; : , = == :: &
&& * ... -> int const Tensor at f g A TORCH_API DEPRECATED( requires decltype( noexcept =default =delete 1 'c' "s" //
/* */ \\ #if #else #endif extern "C" static explicit typedef ~ << >> @ A( R"( )"
"""


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*PIECES.split(), "\n", "#if 0\n"]), max_size=40).map(" ".join) | st.text(max_size=80))
def test_no_text_is_too_much(text: str) -> None:
    _assert_sound(text)


@pytest.mark.parametrize(
    "text",
    [
        "namespace a {" * 5000,
        "class A {" * 5000,
        "(" * 20000,
        "template <" * 2000,
        "f(a<" * 2000,
        "int a" + ", b" * 20000 + ";",
        "A() : " + "a{}, " * 5000 + "b{} {}",
        "#if X\n{\n" * 2000,
        "".join(f"using A{i} = tuple<A{i + 1}, A{i + 1}>;" for i in range(200)) + "void f(A0);",
        "using A0 = int;" + "".join(f"using A{i + 1} = A{i};" for i in range(500)) + "void f(A500);",
    ],
)
def test_long_and_deep_text_takes_work_in_proportion(text: str) -> None:
    """A bounded number of calls for each character; with the square of the length it would be thousands."""
    limit = sys.getrecursionlimit()
    assert calls_of(lambda: _assert_sound(text)) < 500 * len(text)
    assert sys.getrecursionlimit() == limit
