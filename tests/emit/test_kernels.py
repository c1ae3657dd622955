"""Autograd kernels: what they hold, which there are, and that they compile against PyTorch's headers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from derivlint.emit.kernels import SHIPPED_NAMESPACE, SHIPPED_NODES, Kernel, kernels, kernels_source
from derivlint.emit.selection import is_selected
from derivlint.model.layout import CANDLE
from derivlint.model.model import Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.emit.compiling import errors


@pytest.fixture(scope="module")
def all_kernels(model: Model) -> dict[tuple[str, str], Kernel]:
    return {(str(kernel.function.name), kernel.dispatch_key): kernel for kernel in kernels(model)}


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
