// The operators and their kernels, which know nothing of gradients.

#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <torch/library.h>

namespace my_ops {
namespace {

at::Tensor scaled(const at::Tensor& x, const at::Scalar& by) {
  return x * by;
}

std::tuple<at::Tensor, at::Tensor> split_sign(const at::Tensor& x) {
  return {x.abs(), x.sign()};
}

at::Tensor total(const at::Tensor& x, at::OptionalIntArrayRef dim, bool keepdim) {
  return x.sum(dim, keepdim);
}

at::Tensor joined(at::TensorList parts) {
  return at::cat(parts);
}

at::Tensor affine(const at::Tensor& x, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias) {
  auto result = weight.has_value() ? x * *weight : x.clone();
  return bias.has_value() ? result + *bias : result;
}

at::Tensor& scale_(at::Tensor& self, double by) {
  return self.mul_(by);
}

at::Tensor tail(const at::Tensor& self, c10::SymInt n) {
  return self.narrow_symint(0, self.sym_size(0) - n, n);
}

std::vector<at::Tensor> scale_all(at::TensorList xs, const at::Scalar& by) {
  std::vector<at::Tensor> found;
  for (const auto& x : xs) {
    found.push_back(x * by);
  }
  return found;
}

at::Tensor turned(const at::Tensor& z, const at::Tensor& phase) {
  return z * at::polar(at::ones_like(phase), phase);
}

at::Tensor softplus2(const at::Tensor& x) {
  return at::log1p(at::exp(x));
}

at::Tensor softplus2_twice(const at::Tensor& x) {
  return softplus2(softplus2(x));
}

} // namespace

TORCH_LIBRARY(my_ops, m) {
  // for torch.compile: the operators compute on tensors without data as well
  m.def("scaled(Tensor x, Scalar by=2) -> Tensor");
  m.def("split_sign(Tensor x) -> (Tensor magnitude, Tensor sign)");
  m.def("total(Tensor x, int[1]? dim=None, bool keepdim=False) -> Tensor");
  m.def("joined(Tensor[] parts) -> Tensor");
  m.def("affine(Tensor x, Tensor? weight=None, Tensor? bias=None) -> Tensor");
  m.def("scale_(Tensor(a!) self, float by) -> Tensor(a!)");
  m.def("tail(Tensor(a) self, SymInt n) -> Tensor(a)");
  m.def("scale_all(Tensor[] xs, Scalar by) -> Tensor[]");
  m.def("turned(Tensor z, Tensor phase) -> Tensor");
  m.def("softplus2(Tensor x) -> Tensor");
  m.def("softplus2_twice(Tensor x) -> Tensor");
}

TORCH_LIBRARY_IMPL(my_ops, CompositeExplicitAutograd, m) {
  m.impl("scaled", scaled);
  m.impl("split_sign", split_sign);
  m.impl("total", total);
  m.impl("joined", joined);
  m.impl("affine", affine);
  m.impl("scale_", scale_);
  m.impl("tail", tail);
  m.impl("scale_all", scale_all);
  m.impl("turned", turned);
  m.impl("softplus2", softplus2);
  m.impl("softplus2_twice", softplus2_twice);
}

} // namespace my_ops
