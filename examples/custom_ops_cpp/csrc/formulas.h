// What the formulas of derivatives.yaml call beside operators.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace my_ops {

at::Tensor affine_backward(const at::Tensor& grad, const at::Tensor& weight);
at::Tensor affine_jvp(
    const at::Tensor& x,
    const at::Tensor& x_t,
    const at::Tensor& weight,
    const at::Tensor& weight_t,
    const at::Tensor& bias_t);
at::Tensor tail_backward(const at::Tensor& grad, c10::SymIntArrayRef sizes, c10::SymInt n);
std::vector<at::Tensor> scale_all_backward(const std::vector<at::Tensor>& grads, const at::Scalar& by);
std::vector<at::Tensor> scale_all_jvp(at::TensorList xs, const at::Scalar& by);
at::Tensor times_i(const at::Tensor& x);

} // namespace my_ops
