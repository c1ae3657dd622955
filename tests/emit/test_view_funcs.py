"""View functions against the header that PyTorch ships, and against the compiler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from derivlint.compiler.gxx import torch_includes
from derivlint.cpp.types import declared_type, optional_of, vector_of
from derivlint.emit.view_funcs import (
    HEADER,
    SHIPPED_NAMESPACE,
    ViewFunc,
    ViewFuncMember,
    view_func,
    view_funcs,
    view_funcs_header,
    view_funcs_source,
)
from derivlint.model import Model, build_model
from derivlint.schema import NativeFunction, NativeFunctions
from derivlint.source import SourceFile
from tests.emit.compiling import errors

#: Class, constructor and data of PyTorch's own header, and of ours.
_CLASS = re.compile(
    r"#define (\w+)\nstruct (\w+) : public torch::autograd::ViewFunc \{\n  \2\(([^\n]*?)\)(?: : ([^\n{]*?))?\s*\{\}\n"
    r".*?(?:private:\n(.*?))?\n?\};",
    re.S,
)

Class = tuple[str, str, str, str, list[str]]


@pytest.fixture(scope="module")
def funcs(model: Model) -> tuple[ViewFunc, ...]:
    return view_funcs(model)


@pytest.fixture(scope="module")
def shipped() -> str:
    includes = torch_includes()
    assert includes is not None
    return (includes[0] / HEADER).read_text(encoding="utf-8")


def classes(text: str) -> list[Class]:
    """Macro, name, parameters, initializers and data members of every class."""
    return [
        (macro, name, parameters, initializers, [line.strip() for line in data.splitlines() if line.strip()])
        for macro, name, parameters, initializers, data in _CLASS.findall(text)
    ]


def test_every_class_is_that_of_the_shipped_header(funcs: tuple[ViewFunc, ...], shipped: str) -> None:
    """In its order, with its macro, constructor and data members."""
    theirs = classes(shipped)
    assert classes(view_funcs_header(funcs)) == theirs
    assert [func.name for func in funcs] == [name for _, name, _, _, _ in theirs]
    assert len(theirs) == shipped.count("_AVAILABLE") > 35


def test_members_are_what_the_header_says(funcs: tuple[ViewFunc, ...]) -> None:
    ours = {func.name: [f"{member.type} {member.name};" for member in func.members] for func in funcs}
    assert ours == {name: data for _, name, _, _, data in classes(view_funcs_header(funcs))}


def test_operators_are_included_that_the_shipped_header_includes(funcs: tuple[ViewFunc, ...], shipped: str) -> None:
    pattern = re.compile(r"#include <ATen/ops/\w+>")
    assert set(pattern.findall(view_funcs_header(funcs))) == set(pattern.findall(shipped))


def test_a_class_as_a_whole(model: Model) -> None:
    (func,) = view_funcs(model, ["as_strided"])
    number, sizes = declared_type("c10::SymInt"), declared_type("c10::SymIntArrayRef")
    assert func.members == (
        ViewFuncMember(vector_of(number), "size", sizes, number, "size.vec()"),
        ViewFuncMember(vector_of(number), "stride", sizes, number, "stride.vec()"),
        ViewFuncMember(optional_of(number), "storage_offset", optional_of(number), number, "storage_offset"),
    )
    assert (
        func.source
        == """\
at::Tensor AsStridedViewFunc::operator()(const at::Tensor& input_base) const {
  return at::_ops::as_strided::call(input_base, size, stride, storage_offset);
}

std::unique_ptr<torch::autograd::ViewFunc> AsStridedViewFunc::clone_and_set(
    std::optional<std::vector<c10::SymInt>> symints,
    std::optional<std::vector<at::Tensor>> tensors) const {
  auto copy = std::make_unique<AsStridedViewFunc>(size, stride, storage_offset);
  if (symints.has_value()) {
    copy->set_symints(*std::move(symints));
  }
  if (tensors.has_value()) {
    copy->set_tensors(*std::move(tensors));
  }
  return copy;
}

std::vector<c10::SymInt> AsStridedViewFunc::get_symints() const {
  return read_values<c10::SymInt>(size, stride, storage_offset);
}

size_t AsStridedViewFunc::num_symints() const {
  return count_values<c10::SymInt>(size, stride, storage_offset);
}

void AsStridedViewFunc::set_symints(std::vector<c10::SymInt> symints) {
  replace_values<c10::SymInt>(symints, size, stride, storage_offset);
}

std::vector<at::Tensor> AsStridedViewFunc::get_tensors() const {
  return read_values<at::Tensor>();
}

size_t AsStridedViewFunc::num_tensors() const {
  return count_values<at::Tensor>();
}

void AsStridedViewFunc::set_tensors(std::vector<at::Tensor> tensors) {
  replace_values<at::Tensor>(tensors);
}"""
    )


def test_one_of_several_views_is_chosen_by_its_index(model: Model) -> None:
    (func,) = view_funcs(model, ["unbind.int"])
    assert [(str(member.type), member.name) for member in func.members] == [("int64_t", "dim"), ("int64_t", "view_idx")]
    assert "return at::_ops::unbind_int::call(input_base, dim)[view_idx];" in func.source


def test_operators_are_chosen_by_full_name_name_or_base(model: Model) -> None:
    def names(*operators: str) -> list[str]:
        return [str(func.function.name) for func in view_funcs(model, operators)]

    assert names("squeeze") == ["squeeze", "squeeze.dim", "squeeze.dims"]
    assert names("squeeze.dim", "t", "view_as_real") == ["squeeze.dim", "t", "view_as_real"]
    assert names("squeeze_", "mul", "no_such_operator") == []


def test_emission_is_deterministic(
    funcs: tuple[ViewFunc, ...], derivatives_path: Path, installed_natives: NativeFunctions
) -> None:
    again = view_funcs(build_model(SourceFile.read(derivatives_path), installed_natives))
    assert view_funcs_header(again) == view_funcs_header(funcs)
    assert view_funcs_source(again) == view_funcs_source(funcs)


#: Every kind of argument that a view could have; what is not kept by the view itself dangles.
ODD = NativeFunction(
    "odd_view(Tensor(a) self, int[] a, SymInt[]? b, int[]? c, Tensor[] d, str e, str? f, float[] g, "
    "Scalar h, Tensor? i, SymInt j, bool[2] k, float[]? l) -> Tensor(a)"
)


def test_every_argument_is_kept_by_value() -> None:
    func = view_func(ODD)
    assert [(member.name, str(member.type), member.state and str(member.state)) for member in func.members] == [
        ("a", "::std::vector<int64_t>", None),
        ("b", "::std::optional<::std::vector<c10::SymInt>>", "c10::SymInt"),
        ("c", "::std::optional<::std::vector<int64_t>>", None),
        ("d", "::std::vector<at::Tensor>", "at::Tensor"),
        ("e", "::std::string", None),
        ("f", "::std::optional<::std::string>", None),
        ("g", "::std::vector<double>", None),
        ("h", "at::Scalar", None),
        ("i", "::std::optional<at::Tensor>", "at::Tensor"),
        ("j", "c10::SymInt", "c10::SymInt"),
        ("k", "::std::array<bool,2>", None),
        ("l", "::std::optional<::std::vector<double>>", None),
    ]


@pytest.mark.full
def test_view_functions_compile_as_pytorchs_own(funcs: tuple[ViewFunc, ...], tmp_path: Path) -> None:
    """The header takes the place of PyTorch's; views with arguments of every kind compile, too."""
    odd = view_func(ODD)
    declaration = (
        "#include <ATen/core/Tensor.h>\n#include <ATen/core/List.h>\n#include <array>\n"
        "namespace at::_ops {\nstruct odd_view {\n  static at::Tensor call(const at::Tensor&, "
        f"{', '.join(str(member.parameter_type) for member in odd.members)});\n}};\n}}\n"
    )
    files = {
        HEADER: declaration + view_funcs_header((*funcs, odd)),
        "ViewFuncs.cpp": view_funcs_source((*funcs, odd), SHIPPED_NAMESPACE),
    }
    assert errors(files, "ViewFuncs.cpp", tmp_path) == []


@pytest.mark.full
def test_an_own_namespace_stands_beside_pytorchs(model: Model, tmp_path: Path) -> None:
    chosen = view_funcs(model, ["select", "split", "view"])
    files = {
        "mine.h": view_funcs_header(chosen, "::mine::views"),
        "mine.cpp": view_funcs_source(chosen, "::mine::views", "mine.h") + f"#include <{HEADER}>\n",
    }
    assert errors(files, "mine.cpp", tmp_path) == []
