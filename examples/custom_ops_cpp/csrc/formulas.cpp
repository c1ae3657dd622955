#include "formulas.h"

#include <ATen/ATen.h>

namespace my_ops {

at::Tensor affine_backward(const at::Tensor& grad, const at::Tensor& weight) {
  return weight.defined() ? grad * weight : grad;
}

at::Tensor affine_jvp(
    const at::Tensor& x,
    const at::Tensor& x_t,
    const at::Tensor& weight,
    const at::Tensor& weight_t,
    const at::Tensor& bias_t) {
  auto result = weight.defined() ? x_t * weight + x * weight_t : x_t;
  return bias_t.defined() ? result + bias_t : result;
}

at::Tensor tail_backward(const at::Tensor& grad, c10::SymIntArrayRef sizes, c10::SymInt n) {
  auto others = sizes.vec();
  others[0] = others[0] - n;
  return at::cat({grad.new_zeros_symint(others), grad});
}

std::vector<at::Tensor> scale_all_backward(const std::vector<at::Tensor>& grads, const at::Scalar& by) {
  std::vector<at::Tensor> found;
  for (const auto& grad : grads) {
    // the gradient of an output that nothing was computed of is undefined
    found.push_back(grad.defined() ? grad * by : grad);
  }
  return found;
}

std::vector<at::Tensor> scale_all_jvp(at::TensorList xs, const at::Scalar& by) {
  std::vector<at::Tensor> found;
  for (const auto& x : xs) {
    const auto tangent = x._fw_grad(/*level=*/0);
    found.push_back(tangent.defined() ? tangent * by : tangent);
  }
  return found;
}

at::Tensor times_i(const at::Tensor& x) {
  return at::complex(-at::imag(x), at::real(x));
}

} // namespace my_ops
