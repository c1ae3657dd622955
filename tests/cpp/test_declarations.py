"""What single C++ declarations say."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from derivlint.cpp.cpp_type import CppType, cpp_type
from derivlint.cpp.declarations.declaration import (
    ClassDeclaration,
    Declarations,
    Function,
    Parameter,
    declarations_from_json,
    without_repetitions,
)
from derivlint.cpp.declarations.header import read_declarations
from tests.counting import calls_of

SIGNATURES = {
    "Tensor f();": ["Tensor f()"],
    "Tensor f(void);": ["Tensor f()"],
    "void f(Tensor& out, const Tensor& self);": ["void f(Tensor& out, Tensor self)"],
    'int64_t f(unsigned long, const char* reason = "");': ["int64_t f(size_t, const char* reason = ...)"],
    "TORCH_API ::std::tuple<at::Tensor, at::Tensor> f(at::IntArrayRef dim);": [
        "tuple<Tensor,Tensor> f(ArrayRef<int64_t> dim)"
    ],
    "MYLIB Tensor TORCH_API f(int x);": ["Tensor f(int x)"],
    "EXPORT int64_t f();": ["int64_t f()"],
    "[[nodiscard]] static inline constexpr bool f(bool a) noexcept(true) { return g({a}); }": ["bool f(bool a)"],
    "__attribute__((always_inline)) bool f();": ["bool f()"],
    'C10_DEPRECATED_MESSAGE("use g") C10_API bool f();': ["bool f()"],
    'extern "C" void f(int a);': ["void f(int a)"],
    "auto f(Tensor self) -> std::optional<Tensor>;": ["optional<Tensor> f(Tensor self)"],
    "auto f(Tensor self);": ["auto f(Tensor self)"],
    "auto f(...);": ["auto f(...)"],
    "decltype(auto) f(const Tensor& self) { return self; }": ["auto f(Tensor self)"],
    "void f(const char* format, ...);": ["void f(const char* format, ...)"],
    "void f(const char* format ...);": ["void f(const char* format, ...)"],
    "template <class... Args> void f(Args...);": ["void f(...)"],
    "void f(int64_t sizes[3], const char* names[]);": ["void f(int64_t* sizes, const char** names)"],
    "void f(void (*callback)(int), int last = 0);": ["void f(?, int last = ...)"],
    "void f(std::function<Tensor(const Tensor&, int)> g);": ["void f(function<Tensor(Tensor,int)> g)"],
    "void f(int a = (1, 2), std::array<bool, 2> b = std::array<bool, 2>{}, int c = x < y, int d = 0);": [
        "void f(int a = ..., array<bool,2> b = ..., int c = ..., int d = ...)"
    ],
    "void f(const struct Node* node, unsigned, const Tensor);": ["void f(Node* node, unsigned int, Tensor)"],
    "template <typename T> T f(const std::vector<T>& x, T y);": ["T f(vector<T> x, T y)"],
    "template <class... Args> void f(Tensor self, Args&&... args);": ["void f(Tensor self, ...)"],
    "template <typename T, typename = std::enable_if_t<(sizeof(T) > 2)>> void f(T x);": ["void f(T x)"],
    "template <std::integral T> requires (sizeof(T) > 2) && Small<T> T f(T x);": ["T f(T x)"],
    "template <typename T> std::enable_if_t<is_int<T>, Tensor> f(T x);": ["auto f(T x)"],
    "Tensor f(Tensor a); Tensor f(const Tensor& a, int b);": ["Tensor f(Tensor a)", "Tensor f(Tensor a, int b)"],
    "Tensor f(Tensor a, int b = 1); Tensor f(Tensor a, int b) { return a; }": ["Tensor f(Tensor a, int b = ...)"],
    "int x; /* Tensor f(); */ // Tensor f();\n bool f(); // no\n": ["bool f()"],
    "#define F(x) \\\n  Tensor f(x);\nbool f();": ["bool f()"],
    "#if 0\nTensor f();\n#else\nbool f();\n#endif": ["bool f()"],
    "#ifdef A\nbool f(int a\n#else\nbool f(long a\n#endif\n);": ["bool f(int a)"],
}


FIELDS = {"B": "Box::Plain", "field": "T", "other": "T", "kSize": "int"}


def shown(types: Mapping[str, CppType]) -> dict[str, str]:
    return {name: type.text for name, type in types.items()}


def shown_all(types: Mapping[str, Mapping[str, CppType]]) -> dict[str, dict[str, str]]:
    return {namespace: shown(names) for namespace, names in types.items()}


def _functions(text: str) -> dict[str, tuple[Function, ...]]:
    reading = read_declarations(text)
    assert reading.problems == ()
    return dict(reading.declarations.functions.get("", {}))


@pytest.mark.parametrize(("text", "signatures"), SIGNATURES.items())
def test_signatures(text: str, signatures: list[str]) -> None:
    functions = _functions(text)
    assert list(functions) == ["f"]
    assert [function.signature for function in functions["f"]] == signatures


def test_a_whole_function() -> None:
    text = """
        template <typename T, int N = 2>
        [[deprecated("use " "g")]] static T f(T x, std::array<T, N>&, int n = 0, ...);
    """
    parameters = (
        Parameter(cpp_type("T"), "x"),
        Parameter(cpp_type("array<T,N>&"), ""),
        Parameter(cpp_type("int"), "n", True),
    )
    function = Function(
        "f", cpp_type("T"), parameters, template=("T", "N"), is_static=True, variadic=True, deprecated="use g"
    )
    assert _functions(text) == {"f": (function,)}
    assert function.required == 2


@pytest.mark.parametrize(
    "text",
    [
        'static_assert(sizeof(int) == 4, "no");', "bool operator==(const Tensor& a, const Tensor& b);",
        "Tensor Tensor::cpu() const { return *this; }", "Tensor f(Tensor a) = delete;",
        "template <> Tensor f<int>(int x);", "template Tensor f(int x);", "template <typename T> List(T) -> List<T>;",
        "DEFINE_KERNEL(f, 1 + 2)", "DEFINE_KERNEL(f, 1 + 2);", "class Tensor; struct Node; enum class Kind : int;",
        "namespace short_name = at::native;", "using enum Kind;", ";;;",
    ],
)  # fmt: skip
def test_what_declares_nothing_that_can_be_called(text: str) -> None:
    assert _functions(text) == {}


def test_macros_ahead_of_declarations_are_passed_over() -> None:
    assert list(_functions("DISPATCH(a, b)\nDISPATCH(c) Tensor f(); DISPATCH(d) using X = int;")) == ["f"]


def test_variables() -> None:
    text = """
        extern const char* kMessage;
        constexpr auto kAuto = 3;
        inline constexpr ScalarType kByte = ScalarType::Byte, kChar{1};
        int64_t a = f(1, 2), *b, c[3] = {1, 2};
        void (*handler)(int) = nullptr;
        std::vector<at::Tensor> list{1, 2};
    """
    reading = read_declarations(text, "at")
    assert reading.problems == ()
    assert shown_all(reading.declarations.variables) == {
        "at": {
            "kMessage": "const char*", "kAuto": "?", "kByte": "ScalarType", "kChar": "ScalarType", "a": "int64_t",
            "b": "int64_t*", "c": "int64_t*", "handler": "?", "list": "vector<Tensor>",
        }
    }  # fmt: skip


def test_enumerators_are_constants_of_the_namespace_or_of_the_enumeration() -> None:
    text = """
        namespace at::Reduction { enum Reduction { None, Mean = 1 << 2, Sum [[deprecated]], }; }
        namespace c10 { enum class C10_API Layout : int8_t { Strided = f(1, 2), Sparse }; enum { One }; }
    """
    declarations = read_declarations(text).declarations
    reductions = {"None": "Reduction", "Mean": "Reduction", "Sum": "Reduction"}
    assert shown_all(declarations.variables) == {
        "at::Reduction": reductions,
        "at::Reduction::Reduction": reductions,
        "c10::Layout": {"Strided": "Layout", "Sparse": "Layout"},
        "c10": {"One": "int"},
    }
    assert set(declarations.classes) == {"Reduction", "Layout"}


def test_namespaces() -> None:
    text = """
        namespace a::b { int f(); namespace { int g(); } inline namespace v1 { int h(); } }
        extern "C" { namespace a { int i(); } }
        int j();
    """
    functions = read_declarations(text, "outer").declarations.functions
    assert {name: list(names) for name, names in functions.items()} == {
        "outer::a::b": ["f", "g", "h"],
        "outer::a": ["i"],
        "outer": ["j"],
    }


def test_only_the_public_members_of_a_class_count() -> None:
    text = """
        namespace at {
        template <typename T, size_t N = 2>
        class TORCH_API Box final : public Base<T>, private Hidden {
          int secret_;
          struct Inner { int z; };
         public:
          using value_type = T;
          enum class Tag { A };
          enum Plain { B };
          Box() = default;
          explicit Box(const T& value, int n = 0) : value_{value}, n_(n) {}
          Box(const Box&) = delete;
          ~Box();
          static Box<T, N> make(Box other);
          const value_type& at(size_t i) const& { return value_; }
          T& at(size_t i) &;
          Tag tag() const noexcept;
          virtual int64_t size() const = 0;
          operator bool() const;
          Box& operator+=(const T& x) { return *this; }
          T field = {}, other;
          static constexpr int kSize = 2;
          friend Box copy(Box);
         protected:
          void hidden();
         private:
          void more();
        };
        }
    """
    reading = read_declarations(text)
    assert reading.problems == ()
    box = reading.declarations.classes["Box"]
    assert box == ClassDeclaration(
        "Box",
        ("T", "N"),
        {
            "make": (
                Function("make", cpp_type("Box<T,N>"), (Parameter(cpp_type("Box<T,N>"), "other"),), is_static=True),
            ),
            "at": (Function("at", cpp_type("T&"), (Parameter(cpp_type("size_t"), "i"),)),),
            "tag": (Function("tag", cpp_type("Box::Tag"), ()),),
            "size": (Function("size", cpp_type("int64_t"), ()),),
        },
        {name: cpp_type(text) for name, text in FIELDS.items()},
        (
            Function("Box", cpp_type("Box<T,N>"), ()),
            Function(
                "Box", cpp_type("Box<T,N>"), (Parameter(cpp_type("T"), "value"), Parameter(cpp_type("int"), "n", True))
            ),
        ),
        (cpp_type("Base<T>"),),
    )
    assert set(reading.declarations.functions) == {"at::Box"}
    assert shown(reading.declarations.variables["at::Box"]) == {"B": "Box::Plain", "kSize": "int"}


def test_a_class_with_members_that_cannot_be_read_has_an_unknown_base() -> None:
    text = "struct A { DEFINE_ACCESSORS(x) int f(); }; struct B { union { int a; int b; }; }; struct C { int f(); };"
    classes = read_declarations(text).declarations.classes
    assert {name: tuple(map(str, declared.bases)) for name, declared in classes.items()} == {
        "A": ("?",),
        "B": ("?",),
        "C": (),
    }


def test_using_declarations_in_a_class_join_the_overloads() -> None:
    text = """
        struct Base { int f(int); int g(); };
        struct One : Base { using Base::f; using Base::g; int f(); };
        struct Two : Elsewhere { using Elsewhere::f; int f(); };
        struct Three : Base { using Base::Base; };
    """
    classes = read_declarations(text).declarations.classes
    assert [function.signature for function in classes["One"].methods["f"]] == ["int f()", "int f(int)"]
    assert set(classes["One"].methods) == {"f"}
    assert [function.signature for function in classes["Two"].methods["f"]] == ["int f()", "auto f(...)"]
    assert [function.signature for function in classes["Three"].constructors] == ["Three Three(...)"]


def test_aliases_are_resolved_where_they_are_seen() -> None:
    text = """
        using OptTensor = std::optional<at::Tensor>;
        typedef std::vector<OptTensor> OptTensors;
        namespace vendor {
        struct Config;
        using Inner = Config;
        using at::Tensor;
        OptTensors f(const Inner& a, Config* b, vendor::Config c, ::OptTensor d, std::vector<Config> e);
        template <typename Inner> void g(Inner a);
        using Callback = void (*)(int);
        void h(Callback c);
        template <typename T> using Vec = std::vector<T>;
        }
        void k(vendor::Inner a, Inner b, vendor::Tensor c);
    """
    reading = read_declarations(text)
    assert reading.problems == ()
    declarations = reading.declarations
    signatures = {
        name: function.signature
        for names in declarations.functions.values()
        for name, functions in names.items()
        for function in functions
    }
    assert signatures == {
        "f": "vector<optional<Tensor>> f(vendor::Config a, vendor::Config* b, vendor::Config c, "
        "optional<Tensor> d, vector<vendor::Config> e)",
        "g": "void g(Inner a)",
        "h": "void h(? c)",
        "k": "void k(vendor::Config a, Inner b, Tensor c)",
    }
    assert shown_all(declarations.aliases) == {
        "": {"OptTensor": "optional<Tensor>", "OptTensors": "vector<optional<Tensor>>"},
        "vendor": {"Inner": "vendor::Config", "Callback": "?"},
    }
    assert declarations.using == {"vendor": ("at::Tensor",)}
    assert declarations.opaque == {"vendor": frozenset({"Vec"})}


def test_aliases_that_go_in_circles_do_no_harm() -> None:
    text = "using A = B; using B = A; using C = std::vector<C>; void f(A, C);"
    (function,) = read_declarations(text).declarations.functions[""]["f"]
    assert len(function.parameters) == 2


def test_using_directives_and_declarations() -> None:
    text = "namespace a { using namespace at; using at::sum, ::at::mul; } using namespace std;"
    assert read_declarations(text).declarations.using == {"a": ("at::", "at::sum", "at::mul"), "": ("std::",)}


def test_overloads_that_only_constraints_tell_apart_are_opaque() -> None:
    text = """
        template <typename T, typename = std::enable_if_t<is_int<T>>> void f(T x);
        template <typename T, std::enable_if_t<is_float<T>, bool> = true> void f(T x);
        struct A {
          template <Integral T> int g(T x);
          template <Floating T> int g(T x);
        };
    """
    declarations = read_declarations(text).declarations
    assert declarations.opaque == {"": frozenset({"f"})}
    assert [function.signature for function in declarations.classes["A"].methods["g"]] == ["auto g(...)"]


def test_templates_and_plain_functions_with_the_same_parameters_both_stay() -> None:
    text = "struct A { template <typename T> T item() const; Scalar item() const; };"
    (template, plain) = read_declarations(text).declarations.classes["A"].methods["item"]
    assert (template.result.text, template.template) == ("T", ("T",))
    assert (plain.result.text, plain.template) == ("Scalar", ())


def test_repetitions_are_united() -> None:
    functions = [
        Function(
            "f",
            cpp_type("Tensor"),
            (Parameter(cpp_type("int"), ""), Parameter(cpp_type("int"), "b", True)),
            deprecated="no",
        ),
        Function("f", cpp_type("Tensor&"), (Parameter(cpp_type("int"), "a", True), Parameter(cpp_type("int"), "c"))),
        Function("f", cpp_type("Tensor"), (Parameter(cpp_type("int"), "a"),)),
    ]
    assert without_repetitions(functions) == (
        Function(
            "f",
            cpp_type("Tensor&"),
            (Parameter(cpp_type("int"), "a", True), Parameter(cpp_type("int"), "b", True)),
            deprecated="no",
        ),
        functions[2],
    )


FIRST = """
    namespace at { Tensor f(Tensor a); extern int v; using A = int; using namespace std; struct S { int m(); int x; }; }
    template <typename T> using Vec = std::vector<T>;
"""
SECOND = """
    namespace at { Tensor f(Tensor a, int b); Tensor f(Tensor a); extern long v; using B = int; using c10::D;
      struct S : Base { int m(int); S(int); }; }
    int g();
"""


def test_declarations_of_several_headers_are_one() -> None:
    first, second = read_declarations(FIRST).declarations, read_declarations(SECOND).declarations
    merged = first.merged(second)
    assert [function.signature for function in merged.functions["at"]["f"]] == [
        "Tensor f(Tensor a)",
        "Tensor f(Tensor a, int b)",
    ]
    assert list(merged.functions) == ["at", ""]
    assert shown_all(merged.variables) == {"at": {"v": "int64_t"}}
    assert shown_all(merged.aliases) == {"at": {"A": "int", "B": "int"}}
    assert merged.using == {"at": ("std::", "c10::D")}
    assert merged.opaque == {"": frozenset({"Vec"})}
    declared = merged.classes["S"]
    assert [function.signature for function in declared.methods["m"]] == ["int m()", "int m(int)"]
    assert [str(base) for base in declared.bases] == ["Base"]
    assert (len(declared.constructors), shown(declared.fields)) == (1, {"x": "int"})
    assert Declarations().merged(first) == first.merged() == first
    assert first.merged(first) == first


def test_json_keeps_everything() -> None:
    declarations = read_declarations(FIRST + SECOND).declarations
    text = json.dumps(declarations.to_json())
    assert declarations_from_json(json.loads(text)) == declarations
    shuffled = read_declarations(FIRST).declarations.merged(read_declarations(SECOND).declarations)
    assert json.dumps(shuffled.to_json()) == text
    assert declarations_from_json({}) == Declarations()


def test_json_is_compact() -> None:
    function = Function(
        "f",
        cpp_type("Tensor"),
        (Parameter(cpp_type("const char*"), "name"), Parameter(cpp_type("unsigned int"), "", True)),
    )
    written = Declarations({"at": {"f": (function,)}}).to_json()["functions"]
    assert written == {"at": {"f": [["Tensor", ["const char* name", "unsigned int ="]]]}}
    template = Function("f", cpp_type("T"), (), template=("T",), is_static=True, variadic=True, deprecated="")
    written = Declarations({"at": {"f": (template,)}}).to_json()["functions"]
    more = {"template": ["T"], "static": True, "variadic": True, "deprecated": ""}
    assert written == {"at": {"f": [["T", [], more]]}}


def test_functions_are_loaded_when_they_are_asked_for() -> None:
    """Taking a thousand functions from JSON takes a few calls for each."""
    parameters = [f"Tensor self{number % 40}=" for number in range(4)]
    content = {"functions": {"at": {f"f{number}": [["Tensor", parameters]] for number in range(1000)}}}
    assert calls_of(lambda: declarations_from_json(content)) < 10_000
