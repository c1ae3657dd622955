// Autograd kernels that derivlint generated from ${source}. Do not edit.

${includes}

using namespace at;
using namespace torch::autograd::generated;
using namespace torch::autograd::generated::details;

// The formulas see names as they do in PyTorch's own kernels: those of torch::autograd before those of at.
namespace torch::autograd {
namespace ${kernels_namespace} {
namespace {

${nodes}

[[maybe_unused]] void expect_defined(const at::Tensor& tensor, const char* name, int position) {
  TORCH_CHECK(
      tensor.defined(),
      "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #",
      position,
      " '",
      name,
      "'");
}

[[maybe_unused]] bool has_tangent(const ::std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && tensor->defined() && tensor->_fw_grad(/*level=*/0).defined();
}

[[maybe_unused]] bool any_tangent(at::ITensorListRef tensors) {
  for (const auto& tensor : tensors) {
    if (has_tangent(tensor)) {
      return true;
    }
  }
  return false;
}

[[maybe_unused]] bool any_tangent(const c10::List<::std::optional<at::Tensor>>& tensors) {
  for (const ::std::optional<at::Tensor> tensor : tensors) {
    if (has_tangent(tensor)) {
      return true;
    }
  }
  return false;
}

// A tangent that is a formula's to read: an absent one costs no memory.
[[maybe_unused]] at::Tensor tangent_or_zero(const at::Tensor& tangent, const at::Tensor& primal) {
  at::Tensor found = tangent;
  if (!tangent.defined() && primal.defined()) {
    found = at::_efficientzerotensor_symint(primal.sym_sizes(), primal.options());
  }
  if (primal.unsafeGetTensorImpl()->is_wrapped_number()) {
    found.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return found;
}

// A tangent that an in-place formula may write to.
[[maybe_unused]] at::Tensor tangent_to_write(const at::Tensor& tangent, const at::Tensor& primal) {
  if (tangent.defined() || !primal.defined()) {
    return tangent;
  }
  return at::zeros_symint(primal.sym_sizes(), primal.options());
}

[[maybe_unused]] void set_tangent(
    const at::Tensor& output,
    const ::std::optional<at::Tensor>& tangent,
    bool is_inplace) {
  if (tangent.has_value() && tangent->defined() && output.defined()) {
    output._set_fw_grad(*tangent, /*level=*/0, is_inplace);
  }
}

[[maybe_unused]] void set_tangents(
    at::TensorList outputs,
    const ::std::optional<std::vector<at::Tensor>>& tangents,
    bool is_inplace) {
  if (!tangents.has_value()) {
    return;
  }
  TORCH_INTERNAL_ASSERT(outputs.size() == tangents->size());
  for (const auto i : c10::irange(outputs.size())) {
    set_tangent(outputs[i], (*tangents)[i], is_inplace);
  }
}

[[maybe_unused]] void set_tangents_of_elements(
    at::TensorList outputs,
    const std::vector<::std::optional<at::Tensor>>& tangents,
    bool is_inplace) {
  for (const auto i : c10::irange(tangents.size())) {
    set_tangent(outputs[i], tangents[i], is_inplace);
  }
}

[[maybe_unused]] void expect_as_many(at::TensorList tensors, at::TensorList others) {
  TORCH_CHECK(
      tensors.size() == others.size(),
      "Tensor lists must have the same number of tensors, got ",
      tensors.size(),
      " and ",
      others.size());
}

[[maybe_unused]] void reset_grad_accumulator(at::Tensor& tensor) {
  if (auto* meta = torch::autograd::impl::get_autograd_meta(tensor)) {
    meta->grad_accumulator_.reset();
  }
}

${checks}

${kernels}

} // namespace

${registrations}

} // namespace ${kernels_namespace}
} // namespace torch::autograd
