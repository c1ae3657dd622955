"""The syntax tree: which operands an operator takes, what each notation becomes, and where nodes begin and end."""

from __future__ import annotations

import ast
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.formula import (
    Binary,
    Call,
    Conditional,
    Index,
    Lambda,
    Member,
    Name,
    Node,
    Number,
    Parenthesized,
    TypeName,
    Unary,
    parse_formula,
    walk,
)
from tests.formula.shape import good, shape, shape_of

#: From what binds most tightly to what binds least, as in the C++ standard, [expr].
LEVELS = (
    ("->*", ".*"), ("*", "/", "%"), ("+", "-"), ("<<", ">>"), ("<=>",), ("<", "<=", ">", ">="), ("==", "!="), ("&",),
    ("^",), ("|",), ("&&",), ("||",),
)  # fmt: skip
ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|=")
LEVEL = {operator: level for level, operators in enumerate(LEVELS) for operator in operators}


@pytest.mark.parametrize(("first", "second"), list(product(LEVEL, LEVEL)))
def test_of_two_binary_operators_the_tighter_one_binds_first_and_the_left_one_among_equals(
    first: str, second: str
) -> None:
    left_first = LEVEL[first] <= LEVEL[second]
    expected = f"({second} ({first} a b) c)" if left_first else f"({first} a ({second} b c))"
    assert shape_of(f"a {first} b {second} c") == expected


@pytest.mark.parametrize("operator", ASSIGNMENTS)
def test_assignments_bind_least_and_group_from_the_right(operator: str) -> None:
    assert shape_of(f"a {operator} b {operator} c || d") == f"({operator} a ({operator} b (|| c d)))"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a ? b : c ? d : e", "(? a b (? c d e))"), ("a ? b ? c : d : e", "(? a (? b c d) e)"),
        ("a || b ? c : d || e", "(? (|| a b) c (|| d e))"), ("a = b ? c : d = e", "(= a (? b c (= d e)))"),
        ("a ? b = c : d", "(? a (= b c) d)"), ("dim < 0 ? a : b", "(? (< dim 0) a b)"),
        ("!a && -b", "(&& (! a) (- b))"), ("-a * -b", "(* (- a) (- b))"), ("- - a", "(- (- a))"),
        ("*a.b", "(* (. a b))"), ("-a.f()[0]", "(- (index (call (. a f)) 0))"), ("&x + ~y", "(+ (& x) (~ y))"),
        ("--x - y--", "(- (-- x) (post-- y))"), ("not a and b or c", "(|| (&& (! a) b) c)"),
        ("a - b - c", "(- (- a b) c)"), ("a - (b - c)", "(- a (paren (- b c)))"),
        ("(std::vector<Tensor>) x", "(cast std::vector<Tensor> x)"), ("(vector) - x", "(- (paren vector) x)"),
        ("(double) x * y", "(* (cast double x) y)"), ("(const at::Tensor&) x", "(cast const at::Tensor& x)"),
        ("(int)-1", "(cast int (- 1))"), ("-(int) x", "(- (cast int x))"), ("(x) - 1", "(- (paren x) 1)"),
    ],
)  # fmt: skip
def test_unary_operators_conditionals_and_casts_nest_as_in_cpp(text: str, expected: str) -> None:
    assert shape_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f()", "(call f)"),
        ("f(a, {1, 2}, {})", "(call f a (braces 1 2) (braces))"),
        ("f({1, 2,})", "(call f (braces 1 2))"),
        ("{{1, 2}, {x}}", "(braces (braces 1 2) (braces x))"),
        ("x->sizes()[i].y", "(. (index (call (-> x sizes)) i) y)"),
        ("(f)(x)", "(call (paren f) x)"),
        ("grads[0]", "(index grads 0)"),
        ("at::real(x)", "(call at::real x)"),
        ("at :: /* real */ real (x)", "(call at::real x)"),
        ("::std::nullopt", "::std::nullopt"),
        ("std::get<1>(x)", "(call std::get<1> x)"),
        ("std::vector<int64_t>{1, 2}", "(construct std::vector<int64_t> (braces 1 2))"),
        ("IntArrayRef{}", "(construct IntArrayRef (braces))"),
        ("::std::optional<at::Tensor>{}", "(construct ::std::optional<at::Tensor> (braces))"),
        ("x.item<float>()", "(call (. x item<float>))"),
        ('x.div(y, "floor" "ed")', '(call (. x div) y "floor" "ed")'),
        ('\'a\' + "b\\"c"', '(+ \'a\' "b\\"c")'),
        ('R"(a"b)"', 'R"(a"b)"'),
        ("0x1F + 1'000LL + 1. + .5f + 1e-5", "(+ (+ (+ (+ 0x1F 1'000LL) 1.) .5f) 1e-5)"),
        ("f(x, /*keepdim=*/true)", "(call f x true)"),
        ("a // the first\n + b", "(+ a b)"),
        ("fmap(x, [](int64_t i) { return -i; })", "(call fmap x (lambda (i) () (- i)))"),
        ("[&, y](const Tensor& a, int) { return a + y; }", "(lambda (a ) (y) (+ a y))"),
        ("[=] { auto z = x; return z * y; }()", "(call (lambda () (x y) ...))"),
        # several variables in one declaration
        ("[&] { T a, b(x, y), c = f(z, a), d; b = d; return c; }()", "(call (lambda () (x y z) ...))"),
        (
            "[&] { auto f = [&](const T& a, U&& b) { return a + z; }; return f(x, (y & a)); }()",
            "(call (lambda () (z x y) ...))",
        ),
        ("[&] { const auto& [a, b] = f(x); auto&& [c] = a; return b + c; }()", "(call (lambda () (x) ...))"),
        (
            "[&] { for (int i = 0, n = x; i < n; ++i) { y += i; } return f(a, b); }()",
            "(call (lambda () (x y a b) ...))",
        ),
        ("[](int i) { return [](int j) { return j; }(i); }", "(lambda (i) () (call (lambda (j) () j) i))"),
        ("this->x", "(-> this x)"),
    ],
)
def test_every_notation_has_its_node(text: str, expected: str) -> None:
    assert shape_of(text) == expected


def test_a_qualified_name_keeps_the_places_of_its_segments() -> None:
    text = "at::f<1, const Tensor &>::g(x)"
    call = good(text).tree
    assert isinstance(call, Call)
    name = call.callee
    assert isinstance(name, Name)
    assert name.simple is None
    assert not name.leading_colons
    assert [(part.identifier, text[part.start : part.end]) for part in name.parts] == [
        ("at", "at"),
        ("f", "f<1, const Tensor &>"),
        ("g", "g"),
    ]
    arguments = name.parts[1].template_args
    assert arguments is not None
    number, reference = arguments
    assert isinstance(number, Number)
    assert isinstance(reference, TypeName)
    assert reference.spelling == "const Tensor&"
    assert [item.spelling for item in reference.names] == ["const", "Tensor"]


def test_a_member_has_the_place_of_its_name() -> None:
    text = "x . sum ( dim )"
    call = good(text).tree
    assert isinstance(call, Call)
    member = call.callee
    assert isinstance(member, Member)
    assert (text[member.name_start : member.name_end], member.arrow) == ("sum", False)
    assert text[member.start : member.end] == "x . sum"


def test_a_lambda_parameter_has_the_places_of_its_type_and_name() -> None:
    text = "[](const c10::SymInt& i) { return i; }"
    node = good(text).tree
    assert isinstance(node, Lambda)
    (param,) = node.params
    assert text[param.type_start : param.type_end] == "const c10::SymInt&"
    assert text[param.name_start : param.name_end] == "i"
    assert text[node.capture_start : node.capture_end] == "[]"


def test_walk_visits_parents_first_and_in_source_order() -> None:
    tree = good("f(a + b, c)").tree
    assert tree is not None
    assert [shape(node) for node in walk(tree)] == ["(call f (+ a b) c)", "f", "(+ a b)", "a", "b", "c"]


def test_free_names_are_neither_bound_by_a_lambda_nor_qualified_nor_types() -> None:
    formula = good("fmap(at::f(x), [y](int64_t i) { return i + y + std::vector<z>(w).size(); }, i)")
    assert [(name.simple, name.start) for name in formula.names] == [
        ("fmap", 0),
        ("x", 11),
        ("y", 16),
        ("y", 43),
        ("w", 62),
        ("i", 76),
    ]


def test_a_formula_is_parsed_once() -> None:
    assert parse_formula("grad * self") is parse_formula("grad * self")


# ---- the same trees as Python's own parser, for what the two languages share

NAMES = st.sampled_from(["a", "b", "grad", "self_t"])
ATOMS = st.one_of(NAMES, st.sampled_from(["1", "2.5", "1e-5"]), NAMES.map(lambda name: f"{name}.x"))
BINARY = st.sampled_from(["+", "-", "*", "/", "%", "<<", ">>", "&", "^", "|"])
BLANK = st.sampled_from([" ", "  "])


def _extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, BLANK, BINARY, BLANK, inner).map("".join),
        st.tuples(st.sampled_from(["- ", "~ ", "+ "]), inner).map("".join),
        st.tuples(st.just("("), inner, st.just(")")).map("".join),
        st.tuples(NAMES, st.just("("), st.lists(inner, max_size=3).map(", ".join), st.just(")")).map("".join),
        st.tuples(NAMES, st.just("["), inner, st.just("].sum()")).map("".join),
    )


EXPRESSIONS = st.recursive(ATOMS, _extend, max_leaves=25)
PYTHON_OPERATORS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "Mod": "%", "LShift": "<<", "RShift": ">>",
    "BitAnd": "&", "BitXor": "^", "BitOr": "|", "USub": "-", "UAdd": "+", "Invert": "~",
}  # fmt: skip


def _python(node: ast.expr) -> str:
    match node:
        case ast.BinOp():
            return f"({PYTHON_OPERATORS[type(node.op).__name__]} {_python(node.left)} {_python(node.right)})"
        case ast.UnaryOp():
            return f"({PYTHON_OPERATORS[type(node.op).__name__]} {_python(node.operand)})"
        case ast.Call():
            return f"({' '.join(['call', *map(_python, [node.func, *node.args])])})"
        case ast.Attribute():
            return f"(. {_python(node.value)} {node.attr})"
        case ast.Subscript():
            return f"(index {_python(node.value)} {_python(node.slice)})"
        case ast.Name():
            return node.id
        case ast.Constant():
            return repr(node.value)
        case _:
            raise AssertionError(node)


def _without_parentheses(node: Node) -> str:
    match node:
        case Parenthesized():
            return _without_parentheses(node.inner)
        case Binary():
            return f"({node.op} {_without_parentheses(node.left)} {_without_parentheses(node.right)})"
        case Unary():
            return f"({node.op} {_without_parentheses(node.operand)})"
        case Call():
            return f"({' '.join(['call', *map(_without_parentheses, [node.callee, *node.args])])})"
        case Index():
            return f"(index {_without_parentheses(node.object)} {_without_parentheses(node.args[0])})"
        case Member():
            return f"(. {_without_parentheses(node.object)} {node.name})"
        case Number():
            return repr(ast.literal_eval(node.text))
        case _:
            return shape(node)


@given(EXPRESSIONS)
def test_what_is_also_python_has_the_tree_that_python_gives_it(text: str) -> None:
    tree = good(text).tree
    assert tree is not None
    assert _without_parentheses(tree) == _python(ast.parse(text, mode="eval").body)


@given(EXPRESSIONS)
def test_children_lie_in_their_parents_one_behind_the_other(text: str) -> None:
    tree = good(f"{text} ? std::get<0>({text}) : [](int i) {{ return i; }}").tree
    assert isinstance(tree, Conditional)
    for node in walk(tree):
        position = node.start
        for child in node.children:
            assert position <= child.start < child.end <= node.end
            position = child.end


# ---- limits


@pytest.mark.parametrize(
    "text",
    ["(" * 2000 + "x" + ")" * 2000, "-" + " -" * 2000 + "x", "+".join("x" * 2000), "f(" * 300 + ")" * 300],
    ids=["parentheses", "signs", "sum", "calls"],
)
def test_what_is_nested_too_deeply_is_a_problem_and_not_a_crash(text: str) -> None:
    formula = parse_formula(text)
    assert formula.tree is None
    assert [(problem.kind.value, problem.message) for problem in formula.problems] == [
        ("too-deep", "the formula is nested more than 120 levels deep")
    ]


def test_a_hundred_levels_are_not_too_deep() -> None:
    assert good("(" * 100 + "x" + ")" * 100).tree is not None


def test_what_is_too_long_is_a_problem_and_has_no_tree() -> None:
    assert parse_formula(f"f({'x, ' * 2498}x)").tree is not None
    formula = parse_formula(f"f({'x, ' * 2499}x)")
    assert formula.tree is None
    assert [(problem.kind.value, problem.message) for problem in formula.problems] == [
        ("too-large", "the formula has 5,002 tokens, more than 5,000")
    ]
    assert len(formula.words) == 2501


@pytest.mark.parametrize("text", ["grad * 1{}", 'f("{}")', "grad /* {} */", "grad * {}", "grad {}"])
def test_what_has_too_many_characters_is_not_cut_into_tokens(text: str) -> None:
    formula = parse_formula(text.format("1" * 50_000))
    assert formula.tree is None
    assert formula.words == ()
    assert [(problem.kind.value, problem.message) for problem in formula.problems] == [
        ("too-large", f"the formula has {len(formula.text):,} characters, more than 50,000")
    ]
