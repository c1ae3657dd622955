// Kernels for the dispatch key ADInplaceOrView that derivlint generated from ${source}. Do not edit.

#include "${view_funcs_header}"

#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include <ATen/FunctionalStorageImpl.h>
#include <c10/core/AutogradState.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/irange.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/library.h>

${operators}

${inverses}

namespace torch::autograd {
namespace ${kernels_namespace} {
namespace {

namespace view_funcs = ::${view_funcs_namespace};

using at::functionalization::FunctionalInverses;
using at::functionalization::InverseReturnMode;

// What may be done in place to a view that is made now; `with_grad` holds where gradients are recorded.
[[maybe_unused]] CreationMeta creation_meta(CreationMeta with_grad) {
  if (c10::InferenceMode::is_enabled()) {
    return CreationMeta::INFERENCE_MODE;
  }
  return c10::GradMode::is_enabled() ? with_grad : CreationMeta::NO_GRAD_MODE;
}

// Whether views of the tensor have to be made again by their operators, since as_strided cannot do it.
[[maybe_unused]] bool needs_replay(const at::Tensor& base) {
  const auto* impl = base.unsafeGetTensorImpl();
  return !impl->support_as_strided() || impl->is_python_dispatch() ||
      c10::AutogradState::get_tls_state().get_view_replay_enabled();
}

${kernels}

} // namespace

${registrations}

} // namespace ${kernels_namespace}
} // namespace torch::autograd
