"""Autograd kernels: what they hold, which there are, and that they compile against PyTorch's headers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from torchgen.packaged.autograd import gen_variable_type
from torchgen.packaged.autograd.gen_inplace_or_view_type import use_derived

from derivlint.emit.kernels import SHIPPED_NAMESPACE, SHIPPED_NODES, Kernel, kernels, kernels_source
from derivlint.emit.places import without_marks
from derivlint.emit.selection import is_selected
from derivlint.model.layout import CANDLE
from derivlint.model.model import Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.emit.compiling import errors


@pytest.fixture(scope="module")
def all_kernels(model: Model) -> dict[tuple[str, str], Kernel]:
    return {(str(kernel.function.name), kernel.dispatch_key): kernel for kernel in kernels(model)}


@pytest.fixture(scope="module")
def torchgen_kernels(torchgen_infos: tuple[Any, list[Any]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Registration and definition of every kernel that torchgen generates."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for match in torchgen_infos[1]:
        if not use_derived(match):
            continue
        made = gen_variable_type.gen_variable_type_func(match)
        for part, (registration,) in made.items():
            if part.startswith("wrapper_registrations_"):
                key = part.removeprefix("wrapper_registrations_")
                (definition,) = made[f"type_derived_method_definitions_{key}"]
                name = (str(match.func.func.name), "Autograd" if key == "Default" else key)
                found[name] = registration, definition
    return found


def only(natives: NativeFunctions, text: str, name: str) -> Kernel:
    """The kernel of a function, of a file with that text."""
    (kernel,) = kernels(build_model(SourceFile("d.yaml", text), natives), [name])
    return kernel


# ---- single kernels

NEG = """\
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
  result: auto_linear
"""
MUL = """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * other
  other: grad * self
  result: other_t * self_p + self_t * other_p
"""


def test_functional_kernel(installed_natives: NativeFunctions) -> None:
    kernel = only(installed_natives, MUL, "mul.Tensor")
    assert (kernel.dispatch_key, kernel.name, kernel.line, kernel.node) == (
        "Autograd",
        "mul_Tensor_kernel",
        1,
        "MulBackward0",
    )
    assert kernel.registration == 'm.impl("mul.Tensor", TORCH_FN(mul_Tensor_kernel));'
    assert (
        kernel.listing
        == """\
// d.yaml:1: mul.Tensor
at::Tensor mul_Tensor_kernel(c10::DispatchKeySet ks, const at::Tensor & self, const at::Tensor & other) {
  expect_defined(self, "self", 0);
  expect_defined(other, "other", 1);
  [[maybe_unused]] auto _any_requires_grad = compute_requires_grad(self, other);
  [[maybe_unused]] const bool _any_has_forward_grad_result = has_tangent(self) || has_tangent(other);
  c10::intrusive_ptr<nodes::MulBackward0> grad_fn;
  if (_any_requires_grad) {
    grad_fn = c10::make_intrusive<nodes::MulBackward0>();
    grad_fn->set_next_edges(collect_next_edges(self, other));
    if (grad_fn->should_compute_output(0)) {
      grad_fn->other_ = SavedVariable(other, false);
    }
    if (grad_fn->should_compute_output(1)) {
      grad_fn->self_ = SavedVariable(self, false);
    }
  }
  auto result = [&]() -> at::Tensor {
    at::AutoDispatchBelowADInplaceOrView guard;
    return at::_ops::mul_Tensor::redispatch(ks & c10::after_autograd_keyset, self, other);
  }();
  if (grad_fn) {
    set_history(flatten_tensor_args(result), grad_fn);
  }
  ::std::optional<at::Tensor> result_new_fw_grad_opt = ::std::nullopt;
  if (_any_has_forward_grad_result && result.defined()) {
    auto self_t_raw = toNonOptFwGrad(self);
    auto self_tensor = toNonOptTensor(self);
    auto self_t = tangent_or_zero(self_t_raw, self_tensor);
    auto self_p = toNonOptPrimal(self);
    auto other_t_raw = toNonOptFwGrad(other);
    auto other_tensor = toNonOptTensor(other);
    auto other_t = tangent_or_zero(other_t_raw, other_tensor);
    auto other_p = toNonOptPrimal(other);
    result_new_fw_grad_opt = other_t * self_p + self_t * other_p;
  }
  set_tangent(result, result_new_fw_grad_opt, false);
  return result;
}
// Autograd: m.impl("mul.Tensor", TORCH_FN(mul_Tensor_kernel));"""
    )


def test_inplace_kernel_writes_into_the_tangent(installed_natives: NativeFunctions) -> None:
    assert (
        only(installed_natives, NEG, "neg_").listing
        == """\
// d.yaml:1: neg_
at::Tensor & neg__kernel(c10::DispatchKeySet ks, at::Tensor & self) {
  expect_defined(self, "self", 0);
  [[maybe_unused]] auto _any_requires_grad = compute_requires_grad(self);
  [[maybe_unused]] const bool _any_has_forward_grad_self = has_tangent(self);
  check_inplace(self, _any_requires_grad);
  c10::intrusive_ptr<nodes::NegBackward0> grad_fn;
  if (_any_requires_grad) {
    grad_fn = c10::make_intrusive<nodes::NegBackward0>();
    grad_fn->set_next_edges(collect_next_edges(self));
  }
  {
    at::AutoDispatchBelowAutograd guard;
    at::_ops::neg_::redispatch(ks & c10::after_autograd_keyset, self);
  }
  if (grad_fn) {
    rebase_history(flatten_tensor_args(self), grad_fn);
  }
  ::std::optional<at::Tensor> self_new_fw_grad_opt = ::std::nullopt;
  if (_any_has_forward_grad_self && self.defined()) {
    auto self_t_raw = toNonOptFwGrad(self);
    auto self_tensor = toNonOptTensor(self);
    auto self_t = tangent_to_write(self_t_raw, self_tensor);
    self_t = GradMode::is_enabled() ? self_t.clone() : self_t;
    self_new_fw_grad_opt = self_t_raw.defined() ? self_t_raw.copy_(at::neg(self_t)) : at::neg(self_t);
  }
  set_tangent(self, self_new_fw_grad_opt, true);
  return self;
}
// Autograd: m.impl("neg_", TORCH_FN(neg__kernel));"""
    )


def test_out_kernel_refuses_gradients_and_tangents(installed_natives: NativeFunctions) -> None:
    assert (
        only(installed_natives, NEG, "neg.out").listing
        == """\
// d.yaml:1: neg.out
at::Tensor & neg_out_out_kernel(c10::DispatchKeySet ks, const at::Tensor & self, at::Tensor & out) {
  expect_defined(self, "self", 0);
  expect_defined(out, "out", 1);
  if (compute_requires_grad(self)) {
    throw_error_out_requires_grad("neg");
  }
  if (compute_requires_grad(out)) {
    throw_error_out_requires_grad("neg");
  }
  {
    at::AutoDispatchBelowAutograd guard;
    at::_ops::neg_out::redispatch(ks & c10::after_autograd_keyset, self, out);
  }
  TORCH_CHECK_NOT_IMPLEMENTED(!(has_tangent(self) || has_tangent(out)), \
"Trying to use forward AD with neg_out that does not support it because it is an out= function");
  return out;
}
// Autograd: m.impl("neg.out", TORCH_FN(neg_out_out_kernel));"""
    )


def test_operator_without_entry_gets_the_generic_kernel(installed_natives: NativeFunctions) -> None:
    found = kernels(build_model(SourceFile("d.yaml", NEG), installed_natives), ["acos.out"])
    assert [(each.registration, each.text, each.line, each.is_generic) for each in found] == [
        ('m.impl("acos.out", torch::autograd::autogradNotImplementedFallback());', "", None, True)
    ]


def test_operators_are_chosen_by_full_name_name_or_base(installed_natives: NativeFunctions) -> None:
    model = build_model(SourceFile("d.yaml", MUL), installed_natives)

    def names(*operators: str) -> list[str]:
        return [str(kernel.function.name) for kernel in kernels(model, operators)]

    assert names("mul.Tensor") == ["mul.Tensor"]
    assert "mul.Tensor" not in names("mul_")
    assert set(names("mul")) >= {"mul.Tensor", "mul.out", "mul_.Tensor"}
    assert names("no_such_operator") == []


@pytest.mark.parametrize("operators", [None, ["mul"], ["select.int", "_foreach_add", "abs_"], ["view_as_real_copy"]])
def test_kernels_with_an_entry_are_some_of_all(
    model: Model, all_kernels: dict[tuple[str, str], Kernel], operators: list[str] | None
) -> None:
    chosen = [kernel for kernel in all_kernels.values() if is_selected(kernel.function, operators)]
    assert kernels(model, operators) == tuple(chosen)
    with_entry = tuple(kernel for kernel in chosen if kernel.line is not None)
    assert kernels(model, operators, only_with_entry=True) == with_entry != ()


def test_an_operator_that_only_an_entry_declares_has_no_kernel(installed_natives: NativeFunctions) -> None:
    text = f"{NEG}- name: cdl_only(Tensor self) -> Tensor\n  self: grad\n"
    model = build_model(SourceFile("d.yaml", text), installed_natives, CANDLE)
    assert [entry.function is not None for entry in model.entries] == [True, True]
    found = kernels(model, only_with_entry=True)
    assert {kernel.function.name.base for kernel in found} == {"neg"}


# ---- against torchgen


def test_kernels_are_those_of_torchgen(
    all_kernels: dict[tuple[str, str], Kernel], torchgen_kernels: dict[tuple[str, str], tuple[str, str]]
) -> None:
    assert all_kernels.keys() == torchgen_kernels.keys()
    generic = {name for name, (registration, _) in torchgen_kernels.items() if "NotImplementedFallback" in registration}
    assert {name for name, kernel in all_kernels.items() if kernel.is_generic} == generic


def test_every_statement_about_differentiation_is_torchgens(
    all_kernels: dict[tuple[str, str], Kernel], torchgen_kernels: dict[tuple[str, str], tuple[str, str]]
) -> None:
    different = {
        name: (theirs, own)
        for name, kernel in all_kernels.items()
        if (theirs := _statements(torchgen_kernels[name][1], is_out=kernel.function.schema.is_out))
        != (own := _statements(without_marks(kernel.text), is_out=kernel.function.schema.is_out))
    }
    assert different == {}


_STATEMENTS = re.compile(
    r"(?=("
    r"grad_fn->\w+=(?!=)[^;]*;|if\(grad_fn->should_compute_output[^{]*\{|check_no_requires_grad\([^;]*;"
    r"|throw_error\w+\([^;]*;|check_inplace\([^;]*;|(?:set|rebase)_history\([^;]*;"
    r"|compute_requires_grad\([^;{]*[;{]|collect_next_edges\([^;]*;|original_selfs?(?:\[i\])?=[^;]*;"
    r"|\w+_new_fw_grad_opts?(?:\[i\])?=(?!=)[^;]*;|AutoDispatch\w+guard|run_jit_decomposition\w+"
    r"|reset_grad_accumulator\(|TORCH_CHECK_NOT_IMPLEMENTED[^;]*;|_any_has_forward_grad_\w+(?:\[i\])?=[^;]*;|auto\w+_p=toNonOptPrimal\([^;]*;"
    r"|auto\w+_t_raw=toNonOptFwGrad\([^;]*;|WRITTEN|READ|_any_requires_grad&=[^;]*;"
    r"))"
)
_UNDIFFERENTIATED = ("set_history", "rebase_history", "compute_requires_grad", "_any_has_forward_grad")


def _statements(text: str, *, is_out: bool) -> Counter[str]:
    """The statements that matter, without blanks and in the same words for both."""
    text = re.sub(r"#ifndef NDEBUG.*?#endif", "", text, flags=re.S)
    text = re.sub(r"//.*", "", text)
    text = re.sub(r"\s+", "", text.replace("at::zeros_symint(", "WRITTEN(").replace("tangent_to_write(", "WRITTEN("))
    for theirs, own in (
        (r"at::_efficientzerotensor_symint\(", "READ("),
        (r"tangent_or_zero\(", "READ("),
        (r"nodes::", ""),
        (r"isFwGradDefinedTensorList\(", "any_tangent("),
        (r"isFwGradDefined\(", "has_tangent("),
        (r"ith_requires_grad", "_requires_grad"),
        (r"differentiable_outputs\[i\]", "self[i]"),
        (r"auto&(\w+)_new_fw_grad_opt=\1_new_fw_grad_opts\[i\];", ""),
        (r"\w+_new_fw_grad_opt=::std::nullopt;", ""),
    ):
        text = re.sub(theirs, own, text)
    # an out function throws where anything requires a gradient, so that torchgen's other statements do nothing
    skipped = _UNDIFFERENTIATED if is_out else ()
    found = (statement for statement in _STATEMENTS.findall(text) if not statement.startswith(skipped))
    return Counter(_without_parentheses(statement) for statement in found)


def _without_parentheses(statement: str) -> str:
    """A condition without the parentheses that only group it."""
    is_condition = statement.startswith(("_any_has_forward_grad", "TORCH_CHECK_NOT_IMPLEMENTED"))
    return re.sub(r"[()]", "", statement) if is_condition else statement


# ---- files


def source_of(found: tuple[Kernel, ...]) -> str:
    return kernels_source(found, "checked", nodes_header=SHIPPED_NODES, nodes_namespace=SHIPPED_NAMESPACE)


def test_emission_is_deterministic(derivatives_path: Path, installed_natives: NativeFunctions, model: Model) -> None:
    again = build_model(SourceFile.read(derivatives_path), installed_natives)
    assert source_of(kernels(again)) == source_of(kernels(model))


def test_registrations_are_grouped_by_dispatch_key(model: Model) -> None:
    source = source_of(kernels(model, ["_test_autograd_multiple_dispatch.fullcoverage"]))
    blocks = re.findall(r"^TORCH_LIBRARY_IMPL\(aten, (\w+), m\) \{\n((?:  .*\n)+)\}", source, flags=re.M)
    name = "_test_autograd_multiple_dispatch"
    assert [(key, body.strip()) for key, body in blocks] == [
        ("Autograd", f'm.impl("{name}.fullcoverage", TORCH_FN({name}_fullcoverage_kernel));'),
        (
            "AutogradCUDA",
            f'm.impl("{name}.fullcoverage", TORCH_FN({name}_fullcoverage_AutogradCUDA_kernel));',
        ),
        (
            "AutogradNestedTensor",
            f'm.impl("{name}.fullcoverage", TORCH_FN({name}_fullcoverage_AutogradNestedTensor_kernel));',
        ),
    ]


@pytest.mark.full
def test_all_kernels_compile(model: Model, tmp_path: Path) -> None:
    """With the signatures that the operators are registered with; test_extension builds a sample of them."""
    found = kernels(model)
    checks = "".join(
        f"static_assert(std::is_same_v<decltype({kernel.name}), "
        f"decltype(at::_ops::{kernel.function.name.unambiguous_name}::redispatch)>);\n"
        for kernel in found
        if not kernel.is_generic
    )
    head, mark, tail = source_of(found).partition("TORCH_LIBRARY_IMPL(")
    assert errors({"kernels.cpp": head + checks + mark + tail}, "kernels.cpp", tmp_path) == []
