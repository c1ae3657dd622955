"""The types of expressions, and what is refused: each fact is one that g++ confirms (tests/conformance)."""

from __future__ import annotations

import pytest

from derivlint.cpp.cpp_type import cpp_type
from derivlint.cpp.expressions.consumer import Consumer, Use, check_result
from derivlint.cpp.expressions.inference import Inference, number_value
from derivlint.cpp.library import Library, library_of
from derivlint.cpp.scope import BACKWARD_LEVELS, FORWARD_LEVELS, Scope
from derivlint.cpp.types import declared_type
from derivlint.formula import parse_formula
from derivlint.schema import load_index

VARIABLES = {
    "grad": "const Tensor&", "grads": "variable_list&&", "self": "Tensor&", "other": "Tensor&", "mask": "Tensor&",
    "dims": "std::vector<int64_t>&", "sizes": "std::vector<c10::SymInt>&", "dim": "int64_t&", "n": "c10::SymInt&",
    "keepdim": "bool&", "p": "double&", "factor": "::std::optional<double>&", "alpha": "at::Scalar&",
    "maybe": "::std::optional<at::Scalar>&", "dtype": "::std::optional<at::ScalarType>&",
    "maybe_dims": "c10::OptionalArray<int64_t>&", "tensors": "std::vector<Tensor>&", "text": "std::string&",
    "maybe_text": "std::optional<std::string>&", "indices": "torch::List<std::optional<Tensor>>&",
    "flags": "std::array<bool, 3>", "geometry": "at::TensorGeometry&", "pair": "std::tuple<Tensor, Tensor>&",
    "mystery": "my_project::Thing&",
}  # fmt: skip


@pytest.fixture(scope="module")
def library() -> Library:
    return library_of(load_index())


def infer(library: Library, text: str, *, forward: bool = False, complete: bool = True) -> Inference:
    levels = FORWARD_LEVELS if forward else BACKWARD_LEVELS
    scope = Scope({name: declared_type(type).value for name, type in VARIABLES.items()}, levels, "formula", complete)
    typer = Inference(scope, library)
    tree = parse_formula(text).tree
    assert tree is not None, text
    typer.of(tree)
    return typer


def type_of(library: Library, text: str, *, forward: bool = False) -> str:
    typer = infer(library, text, forward=forward)
    assert typer.problems == [], text
    tree = parse_formula(text).tree
    assert tree is not None
    return infer(library, text, forward=forward).of(tree).type.text


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("grad", "Tensor"),
        ("grads", "vector<Tensor>"),
        ("grads[0]", "Tensor"),
        ("dim + 1", "int64_t"),
        ("dim * 0.5", "double"),
        ("n + 1", "SymInt"),
        ("grad * self", "Tensor"),
        ("2 * grad", "Tensor"),
        ("grad * alpha", "Tensor"),
        ("-grad", "Tensor"),
        ("-alpha", "Scalar"),
        ("grad == self", "Tensor"),
        ("dim == 1", "bool"),
        ("!keepdim", "bool"),
        ("dim > 0 && grad.defined()", "bool"),
        ("grad.sym_sizes()", "ArrayRef<SymInt>"),
        ("grad.sizes()", "ArrayRef<int64_t>"),
        ("grad.scalar_type()", "ScalarType"),
        ("grad.sum(dims, keepdim)", "Tensor"),
        ("grad.sum()", "Tensor"),
        ("grad.sum({0, 1})", "Tensor"),
        ("grad.expand_symint(sizes)", "Tensor"),
        ("grad.expand(dims)", "Tensor"),
        ("at::sort(grad)", "tuple<Tensor,Tensor>"),
        ("std::get<1>(at::sort(grad))", "Tensor"),
        ("maybe.value()", "Scalar"),
        ("maybe->toDouble()", "double"),
        ("maybe.has_value() ? *maybe : alpha", "Scalar"),
        ("grad.defined() ? grad : Tensor()", "Tensor"),
        ("keepdim ? std::nullopt : factor", "optional<double>"),
        ("keepdim ? nullptr : text", "string"),
        ("keepdim ? 0 : text", "string"),
        ('keepdim ? text : "a"', "string"),
        ("grad.defined() ? pair : std::tuple<Tensor, Tensor>()", "tuple<Tensor,Tensor>"),
        ("flags[1]", "bool"),
        ("tensors.size()", "size_t"),
        ("tensors.back()", "Tensor"),
        ("M_PI * 2", "double"),
        ("at::Reduction::None", "Reduction"),
        ("std::nullopt", "nullopt_t"),
        ("std::vector<c10::SymInt>(3, 0)", "vector<SymInt>"),
        ("IntArrayRef({1, 2})", "ArrayRef<int64_t>"),
        ("maybe_multiply(grad, alpha)", "Tensor"),
        ("maybe_multiply(grad, 2)", "Tensor"),
        ("sum_backward(grad, sizes, maybe_dims, keepdim)", "Tensor"),
        ("where(mask, grad, 0)", "Tensor"),
        ("self = grad", "Tensor"),
        ("static_cast<double>(dim)", "double"),
        ("(double) dim", "double"),
        ("std::make_tuple(grad, dim)", "tuple<Tensor,int64_t>"),
        ("self.item<double>()", "double"),
        ("std::exp(self.item().toComplexDouble())", "complex<double>"),
        ("std::sqrt(dim)", "double"),
        ("mystery.anything(1)[2]", "?"),
        ("mystery + grad", "?"),
        ("grad.*self", "?"),
        ("dim <=> 1", "?"),
    ],
)
def test_types(library: Library, text: str, type: str) -> None:
    assert type_of(library, text) == type


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("grd * self", "undeclared-name ⟦grd⟧ * self"),
        ("grad * M_PII", "undeclared-name grad * ⟦M_PII⟧"),
        ("maybe_multiplyy(grad, alpha)", "undeclared-function ⟦maybe_multiplyy⟧(grad, alpha)"),
        ("scalar_tensor(0., grad.options())", "undeclared-function ⟦scalar_tensor⟧(0., grad.options())"),
        ("at::maybe_multiply(grad, alpha)", "not-in-namespace at::⟦maybe_multiply⟧(grad, alpha)"),
        ("torch::pow(grad, 2)", "not-in-namespace torch::⟦pow⟧(grad, 2)"),
        ("aten::pow(grad, 2)", "not-in-namespace ⟦aten⟧::pow(grad, 2)"),
        ("grad.conjj()", "no-such-member grad.⟦conjj⟧()"),
        ("grad.maybe_multiply(2)", "no-such-member grad.⟦maybe_multiply⟧(2)"),
        ("sizes.conj()", "no-such-member sizes.⟦conj⟧()"),
        ("maybe.toDouble()", "member-of-optional maybe.⟦toDouble⟧()"),
        ("grad->conj()", "wrong-access grad⟦->⟧conj()"),
        ("grad.conj", "not-called grad.⟦conj⟧"),
        ("grad * grad.conj", "not-called grad * grad.⟦conj⟧"),
        ("self(grad)", "not-callable ⟦self(grad)⟧"),
        ("maybe_multiply(grad)", "argument-count ⟦maybe_multiply(grad)⟧"),
        ("grad.conj(1)", "argument-count grad.⟦conj(1)⟧"),
        ("maybe_multiply(alpha, grad)", "argument-type maybe_multiply(⟦alpha⟧, grad)"),
        ("grad.masked_fill(dim, 0)", "argument-type grad.⟦masked_fill(dim⟧, 0)"),
        ("grad.expand(sizes)", "missing-symint grad.⟦expand(sizes⟧)"),
        ("grad.expand_symint(dims)", "superfluous-symint grad.⟦expand_symint(dims⟧)"),
        ("grad.mul_symint(self)", "superfluous-symint grad.⟦mul_symint⟧(self)"),
        ("grad.clamp(std::nullopt)", "ambiguous-call grad.⟦clamp(std::nullopt)⟧"),
        ("grad && self", "operands grad ⟦&&⟧ self"),
        ("grad * sizes", "operands grad ⟦*⟧ sizes"),
        ("alpha * alpha", "operands alpha ⟦*⟧ alpha"),
        ("-sizes", "operands ⟦-sizes⟧"),
        ("grad ? self : other", "condition ⟦grad⟧ ? self : other"),
        ("keepdim ? grad : 0.5", "branches keepdim ⟦? grad : 0.5⟧"),
        ("keepdim ? grad : std::nullopt", "branches keepdim ⟦? grad : std::nullopt⟧"),
        ("dim[0]", "not-indexable dim⟦[0]⟧"),
        ("std::get<2>(pair)", "tuple-index std::get<⟦2⟧>(pair)"),
        ("std::get<0>(grad)", "tuple-index ⟦std::get<0>(grad)⟧"),
        ("double(grad)", "construction ⟦double(grad)⟧"),
        ("std::tuple<Foo>()", "not-a-type std::tuple<⟦Foo⟧>()"),
        ("std::vector<Tnsor>{grad}", "not-a-type std::vector<⟦Tnsor⟧>{grad}"),
        ("std::vector<at::Tnsor>{grad}", "not-in-namespace std::vector<at::⟦Tnsor⟧>{grad}"),
        ("std::vector<std::tuple<grad>>()", "not-a-type std::vector<std::tuple<⟦grad⟧>>()"),
        ("std::vector<at::ones>()", "not-a-type std::vector<⟦at::ones⟧>()"),
        ("std::get<dim>(pair)", "not-a-type std::get<⟦dim⟧>(pair)"),
        ("static_cast<duble>(dim)", "not-a-type static_cast<⟦duble⟧>(dim)"),
        ("self.item<p>()", "not-a-type self.item<⟦p⟧>()"),
        ("at::ones::self", "not-a-type at::⟦ones⟧::self"),
        ("at::ones::self(grad)", "not-a-type at::⟦ones⟧::self(grad)"),
        ("self{grad}", "not-a-type ⟦self⟧{grad}"),
        ("[](Tnsor x) { return x; }", "not-a-type [](⟦Tnsor⟧ x) { return x; }"),
        ("[&] { Tnsor y = grad; return y; }", "not-a-type [&] { ⟦Tnsor⟧ y = grad; return y; }"),
        ("abs_(grad.conj())", "argument-type abs_(⟦grad.conj()⟧)"),
        ("grad.sum({0.5})", "argument-type grad.⟦sum({0.5}⟧)"),
        ("1 = dim", "not-assignable 1 ⟦=⟧ dim"),
    ],
)
def test_problems(library: Library, text: str, problem: str) -> None:
    found = [
        f"{item.kind.value} {text[: item.start]}⟦{text[item.start : item.end]}⟧{text[item.end :]}"
        for item in infer(library, text).problems
    ]
    assert found == [problem]


@pytest.mark.parametrize(
    "text",
    [
        "grad.sum(0.5)", 'grad.sum(0, "x")', "maybe_multiply(grad, n)", "not_implemented(nullptr)", "grad[0][1][dim]",
        "self.masked_fill_(mask, 0)", "at::where(mask, grad, 0.)", "at::zeros({}, grad.options())",
        "at::_index_put_impl_(self, indices, grad, true, true)",
        "grad.to(maybe_text.has_value() ? self.scalar_type() : *dtype)", "std::max(dim, dim)",
        "upsample_nearest1d(grad, dims, {factor})", "c10::multiply_integers(dims)",
        "std::log(std::complex<double>(1, 2)).real()", "std::vector<std::complex<double>>()",
        "std::integral_constant<bool, true>{}", "c10::complex<double>(p)",
        "[&](const at::Tensor& x, auto) mutable -> Tensor { std::vector<Tensor> y = {x}; return y[0]; }",
    ],
)  # fmt: skip
def test_what_compiles_is_no_problem(library: Library, text: str) -> None:
    assert infer(library, text).problems == []


def test_operators_are_found_without_namespace_in_kernels_only(library: Library) -> None:
    assert infer(library, "scalar_tensor(0., grad.options())", forward=True).problems == []
    assert [item.kind.value for item in infer(library, "complex(grad, self)", forward=True).problems] == [
        "ambiguous-name"
    ]


def test_names_of_headers_that_are_not_known_are_left_alone(library: Library) -> None:
    assert infer(library, "my_helper(grad, self).conj() * my_project::other(1)", complete=False).problems == []
    assert [item.name for item in infer(library, "maybe_multiplyy(grad, 2)", complete=False).problems] == [
        "maybe_multiplyy"
    ]
    assert infer(library, "std::vector<DTensor>(std::vector<my_project::Tensr>{grad})", complete=False).problems == []
    assert [item.name for item in infer(library, "std::vector<Tensr>{grad}", complete=False).problems] == ["Tensr"]


def test_one_error_gives_one_problem(library: Library) -> None:
    text = "maybe_multiply(grad.conjj() * self, alpha).sum(dims) + self.expand(dims)"
    assert [item.name for item in infer(library, text).problems] == ["conjj"]


@pytest.mark.parametrize(
    ("text", "consumer", "wanted"),
    [
        ("grad", Consumer(Use.GRADIENT), None),
        ("tensors", Consumer(Use.GRADIENT), ("Tensor",)),
        ("dim", Consumer(Use.GRADIENT), ("Tensor",)),
        ("tensors", Consumer(Use.BARE_GRADIENT), None),
        ("grad", Consumer(Use.BARE_GRADIENT), None),
        ("pair", Consumer(Use.GRADIENTS, count=2), None),
        ("pair", Consumer(Use.GRADIENTS, count=3), ("tuple<Tensor,Tensor,Tensor>",)),
        ("grad", Consumer(Use.GRADIENTS, count=2), ("tuple<Tensor,Tensor>",)),
        ("grad", Consumer(Use.ASSIGNED, type=cpp_type("optional<Tensor>")), None),
        ("alpha", Consumer(Use.ASSIGNED, type=cpp_type("optional<Tensor>")), ("optional<Tensor>",)),
        ("pair", Consumer(Use.ASSIGNED, type=cpp_type("optional<tuple<Tensor,Tensor>>")), None),
        ("mystery", Consumer(Use.GRADIENTS, count=2), None),
    ],
)
def test_results(library: Library, text: str, consumer: Consumer, wanted: tuple[str, ...] | None) -> None:
    typer = infer(library, text)
    tree = parse_formula(text).tree
    assert tree is not None
    check_result(typer, tree, typer.of(tree), consumer)
    assert [tuple(map(str, item.expected)) for item in typer.problems] == ([] if wanted is None else [wanted])


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("0", "int"), ("2147483648", "int64_t"), ("0x10", "int"), ("010", "int"), ("0b11", "int"), ("1'000", "int"),
        ("1L", "int64_t"), ("1LL", "long long"), ("1u", "unsigned int"), ("1ul", "size_t"), ("1.", "double"),
        (".5", "double"), ("1e3", "double"), ("1e-5f", "float"), ("1.5_x", "?"), ("09", "?"),
    ],
)  # fmt: skip
def test_numbers(text: str, type: str) -> None:
    assert number_value(text).type is cpp_type(type)
