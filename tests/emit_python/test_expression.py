"""C++ expressions become the Python expressions that mean the same."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.analysis.typed import typed_formulas
from derivlint.emit.python.calls import helper_modules
from derivlint.emit.python.expression import PythonExpression, Typing, Untranslatable, translate
from derivlint.emit.python.module import PythonModule
from derivlint.emit.python.spelling import python_name
from derivlint.formula import Binary, Call, Member, Name, Number, parse_formula, unparenthesized
from derivlint.model import Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.sampling import examples


def translated(text: str, natives: NativeFunctions) -> PythonExpression | Untranslatable:
    """The translation of an expression of which nothing is known."""
    tree = parse_formula(text).tree
    assert tree is not None
    return translate(tree, natives, helper_modules())


@pytest.mark.parametrize(
    ("cpp", "python"),
    [
        ("grad * -self.sgn()", "grad * -self.sgn()"),
        ("a - (b - c) - d", "a - (b - c) - d"),
        ("(a < b) == (b < c)", "(a < b) == (b < c)"),
        ("a ? b : c ? d : e", "b if a else d if c else e"),
        ("!grad.defined() || a && !b", "grad is None or a and not b"),
        ("dim.has_value() ? dim.value() : 0", "dim if dim is not None else 0"),
        ("std::tuple<Tensor, Tensor>()", "(None, None)"),
        ("std::get<1>(f)", "f[1]"),
        ("Tensor()", "None"),
        ("maybe_multiply(grad, 2.f)", "F.maybe_multiply(grad, 2.0)"),
        ("std::sqrt(2 * M_PI)", "math.sqrt(2 * math.pi)"),
        ("{1, 2}", "[1, 2]"),
        ("std::vector<c10::SymInt>(padding.size(), 0)", "[0] * padding.size()"),
        ("std::vector<Tensor>(list.size())", "[None] * list.size()"),
        ("TensorGeometry(self)", "F.geometry(self)"),
        ("at::Reduction::Mean", "1"),
        ("from + lambda", "from_ + lambda_"),
        ("GradMode::is_enabled() ? a : b", "a if torch.is_grad_enabled() else b"),
        (
            "fmap(reverse_list(shifts), [](c10::SymInt i){return -i;})",
            "[-i for i in F.reverse_list(shifts)]",
        ),
    ],
)
def test_expressions(cpp: str, python: str, bundled_natives: NativeFunctions) -> None:
    """Precedence, absent values, C++'s own types and names that Python reserves."""
    found = translated(cpp, bundled_natives)
    assert isinstance(found, PythonExpression), found
    assert found.text == python


def test_what_cannot_be_said_is_reported_with_its_place(bundled_natives: NativeFunctions) -> None:
    """A call of something unknown is refused, and the refusal names it and where it is."""
    found = translated("grad * unheard_of(self)", bundled_natives)
    assert found == Untranslatable('there is no Python for "unheard_of"', 7, 23)


def test_names_are_those_of_the_formula(bundled_natives: NativeFunctions) -> None:
    """The variables are named as in C++; parameters of lambdas are not among them."""
    found = translated("maybe_multiply(from, fmap(xs, [](int i){return i;}))", bundled_natives)
    assert isinstance(found, PythonExpression)
    assert found.names == {"from", "xs"}
    assert found.helpers == {"maybe_multiply"}
    assert python_name("from") == "from_"


def test_overloads_are_chosen_by_types(real_model: Model) -> None:
    """Where types are known, an operator is called with its overload."""
    entry = next(entry for entry in real_model.entries if entry.operator == "minimum")
    found = {
        formula.written.names[0].text: translate(
            formula.tree, real_model.natives, helper_modules(), Typing(formula.values, formula.callees)
        )
        for formula in typed_formulas(real_model, entry)
    }
    other = found["other"]
    assert isinstance(other, PythonExpression)
    assert other.text == "aten.where.self(self == other, grad / 2, grad).masked_fill_(self < other, 0)"
    assert other.operators == {"where.self", "masked_fill_.Scalar"}


def test_every_formula_of_pytorch_is_parsed_by_python(real_model: Model) -> None:
    """What is translated is an expression of Python, and hardly anything but helpers is missing."""
    refused = []
    for entry in real_model.entries:
        for formula in typed_formulas(real_model, entry):
            if formula.evaluation.dispatch != "Default" or "not_implemented" in formula.text:
                continue
            typing = Typing(formula.values, formula.callees)
            found = translate(formula.tree, real_model.natives, helper_modules(), typing)
            if isinstance(found, PythonExpression):
                ast.parse(found.text, mode="eval")
            else:
                refused.append(found.reason)
    assert len(refused) <= 20, refused


_OPERANDS = st.sampled_from(["a", "b", "2", "3.5"])
_EXPRESSIONS = st.recursive(
    _OPERANDS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda each: f"({each[0]} {each[1]} {each[2]})"),
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(" ".join),
        inner.map(lambda each: f"-({each})"),
        st.tuples(inner, inner, inner).map(lambda each: f"({each[0]} < {each[1]} ? {each[2]} : {each[0]})"),
    ),
    max_leaves=12,
)


@given(text=_EXPRESSIONS)
def test_arithmetic_keeps_its_value(text: str, bundled_natives: NativeFunctions) -> None:
    """The parentheses that are left out are those that do not matter."""
    found = translated(text, bundled_natives)
    assert isinstance(found, PythonExpression)
    tree = parse_formula(text).tree
    assert tree is not None
    assert eval(found.text, {"a": 1.5, "b": -0.25}) == evaluated(tree)  # the text is our own


def evaluated(node: object) -> float:
    """The value of a tree, worked out on the tree itself."""
    from derivlint.formula import Conditional, Parenthesized, Unary

    if isinstance(node, Parenthesized):
        return evaluated(node.inner)
    if isinstance(node, Name):
        return {"a": 1.5, "b": -0.25}[node.spelling]
    if isinstance(node, Number):
        return float(node.text)
    if isinstance(node, Unary):
        return -evaluated(node.operand)
    if isinstance(node, Conditional):
        return evaluated(node.then) if evaluated(node.condition) else evaluated(node.otherwise)
    assert isinstance(node, Binary)
    left, right = evaluated(node.left), evaluated(node.right)
    if node.op == "<":
        return float(left < right)
    return {"+": left + right, "-": left - right, "*": left * right}[node.op]


def test_methods_are_those_of_python(real_module: PythonModule) -> None:
    """What is called as a method of a tensor is one, or is one of a number or of a sequence."""
    import torch

    known = {*dir(torch.Tensor), *dir(complex), "get", "of", "apply", "zeros", "tangents"}
    unknown = set()
    for item in real_module.functions:
        for node in ast.walk(ast.parse(item.text)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            text = ast.unparse(node.func)
            if not text.startswith(("aten.", "torch.", "math.", "F.", "ctx.")) and node.func.attr not in known:
                unknown.add(text)
    assert unknown == set()


_TENSORS = st.sampled_from(["self", "other", "grad"])
_FORMULAS = st.recursive(
    _TENSORS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda each: f"({' '.join(each)})"),
        st.tuples(inner, st.sampled_from(["sin", "neg", "conj", "sigmoid", "square"])).map(
            lambda e: f"{e[0]}.{e[1]}()"
        ),
        inner.map(lambda each: f"at::cos({each})"),
        inner.map(lambda each: f"maybe_multiply({each}, 2)"),
        st.tuples(inner, inner).map(lambda each: f"at::where({each[0]} > 0, {each[1]}, {each[0]})"),
        inner.map(lambda each: f"{each}.sum({{-1}}, true)"),
    ),
    max_leaves=8,
)
_TRUTH: dict[str, Callable[..., Any]] = {
    "sin": lambda value: value.sin(),
    "neg": lambda value: -value,
    "conj": lambda value: value,
    "sigmoid": lambda value: 1 / (1 + (-value).exp()),
    "square": lambda value: value * value,
    "cos": lambda value: value.cos(),
    "maybe_multiply": lambda value, factor: value * factor,
}


def truth(node: Any, values: dict[str, Any]) -> Any:
    """The value of a formula over tensors, worked out on its tree."""
    import torch

    node = unparenthesized(node)
    if isinstance(node, Name):
        return values[node.spelling]
    if isinstance(node, Number):
        return float(node.text)
    if isinstance(node, Binary):
        left, right = truth(node.left, values), truth(node.right, values)
        return {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right}[node.op]()
    assert isinstance(node, Call)
    if isinstance(node.callee, Member):
        owner = truth(node.callee.object, values)
        if node.callee.name == "sum":
            return owner.sum(-1, keepdim=True)
        return _TRUTH[node.callee.name](owner)
    assert isinstance(node.callee, Name)
    name = node.callee.parts[-1].identifier
    if name == "where":
        condition = unparenthesized(node.args[0])
        assert isinstance(condition, Binary)
        left, right = truth(node.args[1], values), truth(node.args[2], values)
        return torch.where(truth(condition.left, values) > 0, left, right)
    return _TRUTH[name](*(truth(item, values) for item in node.args))


@pytest.mark.torch
@given(text=_FORMULAS)
@settings(deadline=None, max_examples=examples(60))
def test_formulas_over_tensors_keep_their_value(text: str, bundled_natives: NativeFunctions) -> None:
    """Operators, methods, helpers and lists of numbers mean in Python what they mean in C++."""
    import torch

    from derivlint.functional import namespace

    yaml = f"- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: {text}\n"
    model = build_model(SourceFile("derivatives.yaml", yaml), bundled_natives)
    (formula,) = typed_formulas(model, model.entries[0])
    found = translate(formula.tree, bundled_natives, helper_modules(), Typing(formula.values, formula.callees))
    assert isinstance(found, PythonExpression), found
    generator = torch.Generator().manual_seed(0)
    values = {name: torch.randn(3, 2, dtype=torch.float64, generator=generator) for name in ("self", "other", "grad")}
    torch.testing.assert_close(eval(found.text, {**namespace(), **values}), truth(formula.tree, values))  # our own text
