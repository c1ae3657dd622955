"""What is said about slips in the syntax: the kind, the message, and the exact place."""

from __future__ import annotations

import pytest

from derivlint.formula import SyntaxProblem, SyntaxProblemKind, parse_formula


def problem_of(text: str) -> SyntaxProblem:
    (problem,) = parse_formula(text).problems
    return problem


#: (the formula with the marked place in ⟦⟧, kind, message, help)
SLIPS = [
    # nothing there
    ("⟦  ⟧", "empty", "the formula is empty", None),
    (" ⟦/* todo */⟧", "empty", "the formula is only a comment", None),
    ("⟦// todo⟧", "empty", "the formula is only a comment", None),
    # brackets
    ("f⟦(⟧a, g(b)", "unclosed-bracket", '"(" is never closed', 'add ")"'),
    ("f(x⟦[⟧1)", "unclosed-bracket", '"[" is not closed before ")"', 'add "]"'),
    ("f(x[1]⟦]⟧", "mismatched-bracket", '"(" is closed by "]"', 'write ")"'),
    ("(a)⟦)⟧ * b", "unmatched-bracket", '")" closes no "("', None),
    ("std::get⟦<⟧0(x)", "unclosed-bracket", 'the template arguments of "std::get" are never closed', 'add ">"'),
    # operands side by side
    ("a ⟦b⟧", "missing-operator", 'missing operator between "a" and "b"', None),
    ("(double) a ⟦b⟧", "missing-operator", 'missing operator between "a" and "b"', None),
    ("(const Tensor&) a ⟦b⟧", "missing-operator", 'missing operator between "a" and "b"', None),
    ("f(a ⟦b⟧)", "missing-operator", 'missing operator or comma between "a" and "b"', None),
    ("x.sum() ⟦2⟧", "missing-operator", 'missing operator between ")" and "2"', None),
    ("2 ⟦(⟧x)", "missing-operator", 'missing operator between "2" and "("', None),
    ("(1 - x) ⟦(⟧y)", "missing-operator", 'missing operator between ")" and "("', None),
    ("a ⟦if⟧ b else c", "missing-operator", 'missing operator between "a" and "if"', 'C++ writes "condition ? a : b"'),
    ("a ⟦!⟧b", "missing-operator", 'missing operator between "a" and "!"', None),
    # operators side by side
    ("a ⟦*⟧ ", "missing-operand", 'missing operand after "*"', None),
    ("⟦/⟧ b", "missing-operand", 'missing operand before "/"', None),
    ("a * ⟦/⟧ b", "missing-operand", 'missing operand between "*" and "/"', None),
    ("f(a ⟦+⟧)", "missing-operand", 'missing operand after "+"', None),
    ("f(a ⟦+⟧, b)", "missing-operand", 'missing operand after "+"', None),
    ("f(a, ⟦/⟧ b)", "missing-operand", 'missing operand before "/"', None),
    ("⟦()⟧ + a", "missing-operand", 'missing operand: empty pair of parentheses "()"', None),
    ("x⟦[]⟧", "missing-operand", 'missing operand: empty subscript "[]"', None),
    ("x⟦.⟧", "missing-operand", 'missing name after "."', None),
    ("x⟦->⟧(y)", "missing-operand", 'missing name after "->"', None),
    ("at⟦::⟧(x)", "missing-operand", 'missing name after "::"', None),
    ("f(⟦std::tuple<A, B>⟧)", "missing-operand", '"std::tuple<A, B>" is a type, not a value', 'add "()"'),
    # commas
    ("f(a,⟦,⟧ b)", "stray-comma", 'nothing is between "," and ","', 'remove the ","'),
    ("f(a⟦,⟧ )", "stray-comma", 'nothing is between "," and ")"', 'remove the ","'),
    ("f(⟦,⟧ a)", "stray-comma", 'nothing is between "(" and ","', 'remove the ","'),
    ("a⟦,⟧ b", "stray-comma", 'a formula must be a single expression: "," is outside of a call', None),
    ("std::tuple<A, ⟦,⟧ B>()", "stray-comma", 'unexpected ","', None),
    # conditionals
    ("a ⟦?⟧ b", "missing-colon", '"?" without a ":" after it', None),
    ("f(a ⟦?⟧ b, c)", "missing-colon", '"?" without a ":" after it', None),
    ("a ⟦:⟧ b", "missing-question", '":" without a "?" before it', None),
    ("a ? b : c ⟦:⟧ d", "missing-question", '":" without a "?" before it', None),
    ("a ? b ⟦:⟧ ", "missing-operand", 'missing operand after ":"', None),
    ("a ? ⟦:⟧ b", "missing-operand", 'missing operand between "?" and ":"', None),
    (
        "x[1⟦:⟧2]",
        "missing-question",
        '":" without a "?" before it',
        "C++ has no slices, call slice(dim, start, end)",
    ),
    # characters, literals, comments
    ("a ⟦$⟧ b", "bad-character", '"$" means nothing in a C++ expression', None),
    (
        "a ⟦@⟧ b",
        "bad-character",
        '"@" means nothing in a C++ expression',
        'C++ has no "@" operator, call "matmul"',
    ),
    ("a ⟦\u2212⟧ b", "bad-character", '"\u2212" (U+2212, minus sign) is not an ASCII character', 'did you mean "-"?'),
    (
        "f(⟦“⟧a”)",
        "bad-character",
        '"“" (U+201C, left double quotation mark) is not an ASCII character',
        "write ASCII quotes",
    ),
    ("a⟦\u00a0⟧+ b", "bad-character", "no-break space U+00A0 is not an ASCII character", "write a blank"),
    ("a⟦\u200b⟧ + b", "bad-character", "zero width space U+200B is not an ASCII character", "remove it"),
    ("a⟦≤⟧b", "bad-character", '"≤" (U+2264, less-than or equal to) is not an ASCII character', 'did you mean "<="?'),
    ("⟦x²⟧", "bad-character", '"x²" is not an identifier in C++', None),
    ("f(⟦...⟧)", "unexpected", 'unexpected "..."', None),
    ('f(⟦"floor)⟧', "unclosed-string", "string literal is never closed", 'close it with "'),
    ("⟦'a⟧", "unclosed-string", "character literal is never closed", "close it with '"),
    ("f(a ⟦/*⟧ b)", "unclosed-comment", '"/*" is never closed', 'close the comment with "*/"'),
    ("⟦1_000⟧ * x", "bad-number", '"1_000" is not a number in C++', "C++ groups digits with \"'\": 1'000"),
    ("⟦1.2.3⟧", "bad-number", '"1.2.3" is not a number in C++', 'a number has one "."'),
    ("⟦08⟧", "bad-number", '"08" is not a number in C++', "a number that begins with 0 is octal in C++"),
    ("⟦2j⟧ * x", "bad-number", '"2j" is not a number in C++', "C++ has no imaginary numbers"),
    ("⟦1e⟧", "bad-number", '"1e" is not a number in C++', None),
    # statements
    (
        "⟦return⟧ f(x);",
        "statement",
        'a formula must be a single expression, not a statement with "return"',
        'keep only the expression after "return"',
    ),
    (
        "⟦if⟧ (a) { b; }",
        "statement",
        'a formula must be a single expression, not a statement with "if"',
        'write "condition ? a : b"',
    ),
    ("⟦auto x⟧ = f(y)", "statement", 'a formula must be a single expression, not a declaration of "x"', None),
    ("⟦const Tensor& x⟧ = f(y)", "statement", 'a formula must be a single expression, not a declaration of "x"', None),
    ("a⟦;⟧ b", "statement", 'a formula must be a single expression: ";" ends a statement', None),
    ("⟦new⟧ T", "statement", '"new" has no place in a formula', None),
    # braces and others
    ("a + ⟦{⟧1}", "unexpected", "a braced list can only be an argument or follow the name of a type", None),
    ("f(x)⟦::⟧y", "unexpected", '"::" does not follow a name', None),
    ("f(⟦[⟧x, y])", "missing-operand", 'missing operand before "["', "C++ writes lists as {a, b}"),
]


@pytest.mark.parametrize(("marked", "kind", "message", "help_text"), SLIPS, ids=[slip[0] for slip in SLIPS])
def test_a_slip_is_named_and_marked(marked: str, kind: str, message: str, help_text: str | None) -> None:
    text = marked.replace("⟦", "").replace("⟧", "")
    problem = problem_of(text)
    shown = f"{text[: problem.start]}⟦{text[problem.start : problem.end]}⟧{text[problem.end :]}"
    assert (shown, problem.kind.value, problem.message, problem.help) == (marked, kind, message, help_text)


def test_the_empty_text_is_an_empty_formula() -> None:
    assert problem_of("") == SyntaxProblem(SyntaxProblemKind.EMPTY, "the formula is empty", 0, 0)


def test_a_mismatched_bracket_points_to_the_one_that_was_opened() -> None:
    assert problem_of("f(a]").related == (('"(" opened here', 1, 2),)
    assert problem_of("f(x[1)").related == (('")" closes an outer bracket', 5, 6),)
    assert problem_of("f(g(a").related == (('"(" is not closed either', 1, 2),)


# ---- problems of a text that still has a tree


def test_a_semicolon_at_the_end_keeps_the_tree() -> None:
    formula = parse_formula("a * b ;; ")
    assert formula.problems == (
        SyntaxProblem(
            SyntaxProblemKind.TRAILING_SEMICOLON,
            'a formula is an expression, it does not end with ";"',
            6,
            8,
            'remove the ";"',
        ),
    )
    assert formula.tree is not None
    assert (formula.tree.start, formula.tree.end) == (0, 5)


def test_a_worse_slip_is_reported_instead_of_the_semicolon_at_the_end() -> None:
    assert problem_of("f(a b);").kind.value == "missing-operator"


def test_a_line_comment_that_ends_with_the_formula_hides_what_is_generated_behind_it() -> None:
    formula = parse_formula("a // all of it")
    (problem,) = formula.problems
    assert problem == SyntaxProblem(
        SyntaxProblemKind.LINE_COMMENT,
        'a "//" comment also hides the code that is generated after the formula',
        2,
        14,
        "write /* ... */, or a YAML comment",
    )
    assert formula.tree is not None


def test_a_line_comment_is_the_cause_of_the_bracket_that_it_hides() -> None:
    assert problem_of("f(a // first, b)").kind.value == "line-comment"


def test_a_line_comment_that_a_line_break_ends_is_fine() -> None:
    assert parse_formula("a // first\n + b").problems == ()


def test_the_comma_operator_has_a_tree_and_a_problem_of_its_own() -> None:
    formula = parse_formula("f((a, b, c))")
    assert formula.tree is not None
    assert formula.problems == (
        SyntaxProblem(
            SyntaxProblemKind.COMMA_OPERATOR,
            '"," discards the value before it: these parentheses are not a call',
            4,
            5,
            "write the function before the parentheses, or remove the value",
        ),
    )


@pytest.mark.parametrize(
    "text",
    ["0", "0x1Fu", "0b101", "017", "1'000'000LL", "1.", ".5f", "1e5", "1.5E-3L", "0x1.8p3", "2ul"],
)
def test_numbers_of_cpp_are_no_problem(text: str) -> None:
    assert parse_formula(text).problems == ()


@pytest.mark.parametrize("text", ["(f)(x)", "f(x)(y)", "x[0](y)", "(a ? f : g)(x)", "(*f)(x)", "[] { return 1; }()"])
def test_what_may_be_a_function_can_be_called(text: str) -> None:
    assert parse_formula(text).problems == ()
