"""Kernels that track views and versions: the same as torchgen's, and they run inside PyTorch."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from torchgen.context import native_function_manager
from torchgen.gen import get_grouped_by_view_native_functions
from torchgen.gen_functionalization_type import gen_functionalization_view_inverse_declaration
from torchgen.model import NativeFunctionsViewGroup
from torchgen.packaged.autograd import gen_inplace_or_view_type
from torchgen.selective_build.selector import SelectiveBuilder

from derivlint.compiler.gxx import torch_includes
from derivlint.emit.emission import EmissionMode
from derivlint.emit.inplace_or_view import (
    InplaceOrViewKernel,
    inplace_or_view_kernels,
    inplace_or_view_source,
    variable_type_header,
)
from derivlint.emit.manifest import FORMAT, MANIFEST
from derivlint.emit.template import load
from derivlint.emit.view_funcs import HEADER, view_funcs, view_funcs_header, view_funcs_source
from derivlint.model import Model, build_model
from derivlint.runtime import build
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.emit import view_checks
from tests.emit.compiling import errors, run_script


@pytest.fixture(scope="module")
def all_kernels(model: Model) -> dict[str, InplaceOrViewKernel]:
    return {str(kernel.function.name): kernel for kernel in inplace_or_view_kernels(model)}


@pytest.fixture(scope="module")
def torchgen_kernels(torchgen_infos: tuple[Any, list[Any]]) -> dict[str, tuple[str, str, str]]:
    """Definition, registration and include of every kernel that torchgen generates."""
    found = {}
    for match in torchgen_infos[1]:
        if gen_inplace_or_view_type.use_derived(match):
            env = gen_inplace_or_view_type.gen_inplace_or_view_type_env(match)
            if env["inplace_or_view_method_definitions"]:
                (definition,) = env["inplace_or_view_method_definitions"]
                (registration,) = env["inplace_or_view_wrapper_registrations"]
                (header,) = env["ops_headers"]
                found[str(match.func.func.name)] = definition, registration, header
    return found


@pytest.fixture(scope="module")
def inverses(native_functions_path: Path, torchgen_functions: list[Any]) -> str:
    """The header with what goes from views to their bases, which PyTorch generates and does not ship."""
    declarations = []
    for group in get_grouped_by_view_native_functions(torchgen_functions):
        if isinstance(group, NativeFunctionsViewGroup):
            with native_function_manager(group.view):
                made = gen_functionalization_view_inverse_declaration(SelectiveBuilder.get_nop_selector(), group)
            if made is not None:
                declarations.append(made)
    template = native_functions_path.parent.parent / "templates" / "FunctionalInverses.h"
    text = template.read_text(encoding="utf-8").replace("${generated_comment}", "")
    return text.replace("${view_inverse_declarations}", "\n".join(declarations))


# ---- single kernels

SELECT = """\
- name: select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
  self: grad
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * other
- name: split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
  self: grad
- name: indices(Tensor(a) self) -> Tensor(a)
  output_differentiability: [False]
"""


def only(natives: NativeFunctions, name: str) -> InplaceOrViewKernel:
    (kernel,) = inplace_or_view_kernels(build_model(SourceFile("folder/d.yaml", SELECT), natives), [name])
    return kernel


def test_view(installed_natives: NativeFunctions) -> None:
    kernel = only(installed_natives, "select.int")
    assert (kernel.name, kernel.view_func, kernel.line) == ("select_int_kernel", "SelectIntViewFunc", 1)
    assert kernel.registration == 'm.impl("select.int", TORCH_FN(select_int_kernel));'
    assert kernel.inverse == (
        "static at::Tensor select_int_inverse(const at::Tensor & base, const at::Tensor & mutated_view, "
        "InverseReturnMode inverse_return_mode, int64_t dim, c10::SymInt index);"
    )
    assert (
        kernel.text
        == """\
// d.yaml: select.int
at::Tensor select_int_kernel(c10::DispatchKeySet ks, const at::Tensor & self, int64_t dim, c10::SymInt index) {
  auto _view = [&] {
    at::AutoDispatchBelowADInplaceOrView guard;
    return at::_ops::select_int::redispatch(ks & c10::after_ADInplaceOrView_keyset, self, dim, index);
  }();
  std::unique_ptr<ViewFunc> _view_func;
  std::function<at::Tensor(const at::Tensor&)> _reverse_view_func;
  if (needs_replay(self)) {
    _view_func = std::make_unique<view_funcs::SelectIntViewFunc>(dim, index);
    _reverse_view_func = [self, dim, index](const at::Tensor& _written) {
      return FunctionalInverses::select_int_inverse(self, _written, InverseReturnMode::AlwaysView, dim, index);
    };
  }
  return as_view(
      self,
      _view,
      true,
      true,
      std::move(_view_func),
      std::move(_reverse_view_func),
      creation_meta(CreationMeta::DEFAULT));
}"""
    )


def test_several_views(installed_natives: NativeFunctions) -> None:
    kernel = only(installed_natives, "split_with_sizes")
    assert "[self, view_idx, split_sizes = split_sizes.vec(), dim](const at::Tensor& _written)" in kernel.text
    assert "creation_meta(CreationMeta::MULTI_OUTPUT_NODE));\n  }\n  return _views;\n}" in kernel.text
    assert "for (const auto view_idx : c10::irange(static_cast<int64_t>(_views.size()))) {" in kernel.text


def test_view_that_is_not_differentiable(installed_natives: NativeFunctions) -> None:
    kernel = only(installed_natives, "indices")
    assert (kernel.view_func, kernel.inverse) == (None, "")
    assert kernel.text.endswith("  return as_view(self, _view, false, false);\n}")


def test_inplace_and_out(installed_natives: NativeFunctions) -> None:
    assert (
        only(installed_natives, "mul_.Tensor").text
        == """\
// d.yaml: mul_.Tensor
at::Tensor & mul__Tensor_kernel(c10::DispatchKeySet ks, at::Tensor & self, const at::Tensor & other) {
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    at::_ops::mul__Tensor::redispatch(ks & c10::after_ADInplaceOrView_keyset, self, other);
  }
  increment_version(self);
  return self;
}"""
    )
    kernel = only(installed_natives, "sort.values")
    assert kernel.text.startswith("// no entry: sort.values\n::std::tuple<at::Tensor &,at::Tensor &> sort_out_values_")
    assert kernel.text.endswith(
        "  increment_version(values);\n"
        "  increment_version(indices);\n"
        "  return std::forward_as_tuple(values, indices);\n"
        "}"
    )
    assert kernel.line is None


def test_what_neither_writes_nor_makes_views_has_no_kernel(installed_natives: NativeFunctions) -> None:
    model = build_model(SourceFile("d.yaml", SELECT), installed_natives)
    assert inplace_or_view_kernels(model, ["mul.Tensor", "_foreach_mul_.Scalar", "no_such_operator"]) == ()


@pytest.mark.parametrize(
    "entry",
    [
        # as many values as there are outputs are needed
        "- name: select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)\n"
        "  output_differentiability: [True, False]\n",
        # the function that goes back could not keep the dtype
        "- name: view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)\n  self: grad\n",
    ],
)
def test_what_pytorchs_generator_refuses_has_no_kernel(entry: str, installed_natives: NativeFunctions) -> None:
    model = build_model(SourceFile("d.yaml", entry), installed_natives)
    assert inplace_or_view_kernels(model, ["select.int" if "select" in entry else "view.dtype"]) == ()


def test_without_formulas_for_all_keys_every_output_is_differentiable(installed_natives: NativeFunctions) -> None:
    text = (
        "- name: view(Tensor(a) self, SymInt[] size) -> Tensor(a)\n"
        "  dispatch:\n    AutogradNestedTensor:\n      self: grad\n"
    )
    (kernel,) = inplace_or_view_kernels(build_model(SourceFile("d.yaml", text), installed_natives), ["view"])[:1]
    assert (kernel.view_func, kernel.line) == ("ViewViewFunc", None)


# ---- against torchgen


def test_kernels_are_those_of_torchgen(
    all_kernels: dict[str, InplaceOrViewKernel], torchgen_kernels: dict[str, tuple[str, str, str]]
) -> None:
    assert all_kernels.keys() == torchgen_kernels.keys()
    assert len(all_kernels) > 1000


def test_every_kernel_is_torchgens(
    all_kernels: dict[str, InplaceOrViewKernel], torchgen_kernels: dict[str, tuple[str, str, str]]
) -> None:
    """All of it: signature, call, conditions, what is kept, views, versions, return."""
    different = {
        name: (theirs, own)
        for name, kernel in all_kernels.items()
        if (theirs := _theirs(torchgen_kernels[name][0])) != (own := _own(kernel.text))
    }
    assert different == {}


def test_every_operator_is_included(
    all_kernels: dict[str, InplaceOrViewKernel], torchgen_kernels: dict[str, tuple[str, str, str]]
) -> None:
    source = inplace_or_view_source(list(all_kernels.values()))
    headers = re.findall(r"^#include <ATen/ops/.*>$", source, flags=re.M)
    assert len(headers) == len(set(headers))
    assert set(headers) == {header for _, _, header in torchgen_kernels.values()}


def test_every_operator_is_registered_once(all_kernels: dict[str, InplaceOrViewKernel]) -> None:
    source = inplace_or_view_source(list(all_kernels.values()))
    assert re.findall(r'^  m\.impl\("(.*?)", TORCH_FN\(\w+\)\);$', source, flags=re.M) == sorted(all_kernels)
    assert len({kernel.name for kernel in all_kernels.values()}) == len(all_kernels)


def _plain(text: str) -> str:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"\s+", "", text)


def _replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def _theirs(definition: str) -> str:
    """torchgen's kernel in the words of ours."""
    text = _plain(definition)
    # lists that the function keeps are copied before it is made
    kept = re.findall(r"auto(\w+)_vec=\1\.vec\(\);", text)
    for name in kept:
        text = text.replace(f"auto{name}_vec={name}.vec();", "").replace(f"{name}_vec", name)
    text = re.sub(r"^(.*?)(\w+)\(c10::DispatchKeySetks", r"KERNEL(c10::DispatchKeySetks", text)
    text = re.sub(
        r"InferenceMode::is_enabled\(\)\?CreationMeta::INFERENCE_MODE:\(at::GradMode::is_enabled\(\)\?"
        r"(CreationMeta::\w+):CreationMeta::NO_GRAD_MODE\)",
        r"creation_meta(\1)",
        text,
    )
    condition = (
        "||!self.unsafeGetTensorImpl()->support_as_strided()||self.unsafeGetTensorImpl()->is_python_dispatch()"
        "||c10::AutogradState::get_tls_state().get_view_replay_enabled()"
    )
    text = re.sub(r"auto(\w+)=(as_view\(.*?\);)return\1;", r"return\2", text)
    text = re.sub(r"auto(\w+)=std::move\(_tmp\);return\1;", "return_tmp;", text)
    text = re.sub(r"(\W|auto|return)_tmp\b", r"\1_view", text)
    text = _replaced(
        text,
        ("([&](){", "[&]{"),
        ("})();", "}();"),
        ("func(nullptr);", "func;"),
        ("rev_func=nullptr;", "rev_func;"),
        ("true" + condition, "true"),
        ("false" + condition, "needs_replay(self)"),
        ("torch::autograd::generated::", ""),
        ("torch::autograd::", ""),
        ("at::functionalization::", ""),
        ("[=]", "[]"),
        ("rev_func", "reverse"),
        ("std::move(func),reverse,", "std::move(func),std::move(reverse),"),
        ("input_view", "_written"),
    )
    return f"{text} keeps {','.join(kept)}"


def _own(listing: str) -> str:
    text = _plain(listing)
    kept = re.findall(r"[\[,](\w+)=\1\.vec\(\)", text)
    text = re.sub(r"=\[self[^\]]*\]\(", "=[](", text)
    text = re.sub(r"^(.*?)(\w+)\(c10::DispatchKeySetks", r"KERNEL(c10::DispatchKeySetks", text)
    # what is always replayed has no condition
    text = re.sub(
        r"(std::function<at::Tensor\(constat::Tensor&\)>_reverse_view_func;)(_view_func=.*?\};)",
        r"\1if(true){\2}",
        text,
    )
    text = _replaced(
        text,
        ("_reverse_view_func", "reverse"),
        ("_view_func", "func"),
        ("_views", "_view"),
        ("c10::irange(static_cast<int64_t>(_view.size()))", "c10::irange(_view.size())"),
        ("constautoview_idx", "autoview_idx"),
        ("view_funcs::", ""),
    )
    return f"{text} keeps {','.join(kept)}"


def test_captures_are_all_arguments(all_kernels: dict[str, InplaceOrViewKernel]) -> None:
    """What goes back keeps every argument: lists by value, no reference."""
    for kernel in all_kernels.values():
        captures = re.findall(r"= \[(self[^\]]*)\]\(", kernel.text)
        assert len(captures) == (kernel.view_func is not None)
        for names in captures:
            kept = [name.partition(" = ")[0] for name in names.split(", ")]
            own = [argument.name for argument in kernel.function.schema.arguments.flat_all]
            assert [name for name in kept if name != "view_idx"] == own


def test_inverses_are_declared_as_torchgen_declares_them(
    all_kernels: dict[str, InplaceOrViewKernel], inverses: str
) -> None:
    def normal(line: str) -> str:
        return re.sub(r"\s+", "", line.partition(" //")[0].replace("at::functionalization::", ""))

    theirs = {normal(line) for line in inverses.splitlines() if line.startswith("static ")}
    # the functionalization pass calls the index by another name
    theirs = {re.sub(r"int64_t(mutated_view_idx|out_index)", "int64_tINDEX", line) for line in theirs}
    ours = {
        re.sub(r"int64_t(mutated_view_idx|out_index)", "int64_tINDEX", normal(kernel.inverse))
        for kernel in all_kernels.values()
        if kernel.inverse
    }
    assert ours - theirs == set()
    assert len(ours) > 30


# ---- files


@pytest.mark.full
def test_all_kernels_compile_as_pytorchs_own(
    model: Model, all_kernels: dict[str, InplaceOrViewKernel], inverses: str, tmp_path: Path
) -> None:
    """With PyTorch's header of inverses, headers for each operator, and the signatures of the operators."""
    found = list(all_kernels.values())
    source = inplace_or_view_source(found)
    checks = "".join(
        f"static_assert(std::is_same_v<decltype({kernel.name}), "
        f"decltype(at::_ops::{kernel.function.name.unambiguous_name}::redispatch)>);\n"
        for kernel in found
    )
    head, mark, tail = source.partition("TORCH_LIBRARY_IMPL(")
    files = {
        HEADER: view_funcs_header(view_funcs(model)),
        "ATen/FunctionalInverses.h": inverses,
        "ADInplaceOrViewType.cpp": head + checks + mark + tail,
    }
    assert errors(files, "ADInplaceOrViewType.cpp", tmp_path, "-DAT_PER_OPERATOR_HEADERS") == []


@pytest.mark.full
def test_an_empty_shard_compiles(tmp_path: Path) -> None:
    files = {HEADER: view_funcs_header(()), "empty.cpp": inplace_or_view_source(())}
    assert errors(files, "empty.cpp", tmp_path) == []


def test_emission_is_deterministic(
    all_kernels: dict[str, InplaceOrViewKernel], derivatives_path: Path, installed_natives: NativeFunctions
) -> None:
    again = inplace_or_view_kernels(build_model(SourceFile.read(derivatives_path), installed_natives))
    assert inplace_or_view_source(again) == inplace_or_view_source(list(all_kernels.values()))


@pytest.fixture(scope="module")
def shipped_header() -> str:
    """The header of variable types as PyTorch ships it."""
    includes = torch_includes()
    assert includes is not None
    return (includes[0] / "torch/csrc/autograd/generated/VariableType.h").read_text(encoding="utf-8")


def test_variable_type_header_declares_what_the_shipped_one_declares(shipped_header: str) -> None:
    def names(text: str) -> set[str]:
        return set(re.findall(r"using [\w: ]+|\w+(?=\([^()]*\);)", text))

    def signatures(text: str) -> set[str]:
        found = re.findall(r"^ *(?:TORCH_API )?[\w:<>*& ]+\w+\([^()]*\);", text, flags=re.M)
        return {re.sub(r"\s+", "", line) for line in found}

    own = variable_type_header()
    assert names(own) == names(shipped_header)
    assert signatures(own) == signatures(shipped_header)
    assert len(signatures(own)) == 8


# ---- inside PyTorch


@pytest.fixture(scope="module")
def observed(
    request: pytest.FixtureRequest, model: Model, shipped_header: str, precompiled_headers: None
) -> dict[str, dict[str, str]]:
    """What was seen before and after our kernels were loaded into the installed torch, in a process of its own.

    One unit has all views, without the header of inverses that is not shipped, and both headers of variable types: what
    one declares, the other declares again with the same type. The build takes half a minute and is kept in pytest's
    cache, by content.
    """
    cache = request.config.cache
    assert cache is not None
    folder = cache.mkdir("derivlint-views")
    namespace = "derivlint_view_tests"
    funcs = view_funcs(model)
    kernels = [each for each in inplace_or_view_kernels(model) if each.view_func is not None]
    assert len(kernels) > 30
    kernels += [each for each in inplace_or_view_kernels(model, view_checks.OPERATORS) if each.view_func is None]
    unit = (
        '#include "own.h"\n#include "shipped.h"\n',
        inplace_or_view_source(kernels, namespace, view_funcs_header="ViewFuncs.h"),
        view_funcs_source(funcs, namespace, "ViewFuncs.h"),
    )
    files = {
        "own.h": variable_type_header(),
        "shipped.h": shipped_header.replace("#pragma once", ""),
        "ViewFuncs.h": view_funcs_header(funcs, namespace),
        "own_views.cpp": "\n".join(unit),
        "loader.cpp": load("loader.cpp") + "\n",
    }
    operators = {str(kernel.function.name): None for kernel in kernels}
    manifest = {
        "format": FORMAT,
        "mode": EmissionMode.EXTENSION.value,
        "namespace": namespace,
        "files": sorted(files),
        "operators": operators,
    }
    for name, text in {**files, MANIFEST: json.dumps(manifest)}.items():
        (folder / name).write_text(text, encoding="utf-8")
    build(folder)
    found: dict[str, dict[str, str]] = run_script(view_checks, folder)
    return found


runs = pytest.mark.skipif(sys.platform != "linux", reason="hidden helpers are reached on Linux only")


@runs
def test_our_kernels_are_those_that_run(observed: dict[str, dict[str, str]]) -> None:
    assert observed["registered"]
    assert {name for name, file in observed["registered"].items() if "own_views.cpp" not in file} == set()


@runs
def test_views_behave_as_before(observed: dict[str, dict[str, str]]) -> None:
    """Bases, versions, gradients, replays, reverses, modes and messages are the same under our kernels."""
    assert observed["after"] == observed["before"]
    assert len(observed["after"]) > 60


@runs
def test_views_behave_as_they_should(observed: dict[str, dict[str, str]]) -> None:
    after = observed["after"]
    assert after["select.int: is view of base"] == "True True"
    assert after["in place on a view: grad of base"] == "[3.0, 3.0, 1.0, 1.0]"
    assert after["version: base and view"] == "1 1"
    assert after["version: out"] == "1"
    assert after["replay of select.int"] == "[7.0, 8.0]"
    assert after["replay of select.int with other index"] == "[9.0, 10.0]"
    assert after["_indices: requires grad, is view, version"] == "False False True"
    assert "created in no_grad mode" in after["in place on a view of no_grad"]
    assert "function that returns multiple views" in after["in place on one of several views"]
    assert "inference_mode" in after["in place on a view of inference mode"]
