"""A file with one formula for each rule, and inputs as they would be recorded."""

from __future__ import annotations

ENTRIES = """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
  result: auto_element_wise

- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
  result: other_t * self_p + self_t * other_p

- name: sin(Tensor self) -> Tensor
  self: -grad * self.cos().conj()

- name: cos(Tensor self) -> Tensor
  self: grad * -self.sin().conj()
  result: self_t * self_p.sin()

- name: cosh(Tensor self) -> Tensor
  self: grad * self.sinh().conj()
  result: self_t * self_p.sinh() * 1.00001

- name: sinh(Tensor self) -> Tensor
  self: grad * self.cosh().detach().conj()

- name: tanh(Tensor self) -> Tensor
  self: grad.sum(-1)

- name: asinh(Tensor self) -> Tensor
  self: grad.sum(7)

- name: acosh(Tensor self) -> Tensor
  self: grad * self.no_such_method()

- name: erf(Tensor self) -> Tensor
  self: grad * self.strides()[1000000000000]

- name: reciprocal(Tensor self) -> Tensor
  self: -grad * (result * result)

- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, std::array<bool, 2>{grad_input_mask[0], grad_input_mask[0]})

- name: aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)
  self: "grad_min.defined() ? aminmax_backward(self, dim, keepdim, grad_min, grad_max, min, max) : zeros_like(self)"

- name: relu(Tensor self) -> Tensor
  self: grad * (self >= 0)

- name: stack(Tensor[] tensors, int dim=0) -> Tensor
  tensors: at::unbind(grad, dim)
"""

#: More entries of the run that compiles: what needs a newer PyTorch, what no input reaches, what needs all headers.
MORE_ENTRIES = """
- name: linalg_polar(Tensor A, *, str side="right") -> (Tensor U, Tensor P)
  A: grad

- name: expm1(Tensor self) -> Tensor
  self: at::linalg_matrix_sqrth(grad)

- name: threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor
  self: "grad.defined() ? grad.masked_fill(self <= threshold, 0) : Tensor()"

- name: neg(Tensor self) -> Tensor
  self: "torch::autograd::can_mutate_inplace_result::success == torch::autograd::can_mutate_inplace_result() ? -grad
    : -grad"
  result: auto_linear
"""

#: Writes the inputs of operators, for float64 and complex128.
SAMPLES = """
import sys, torch
from pathlib import Path
from derivlint.verify.inputs.samples import stems_with_samples
from derivlint.verify.inputs.stored import write_inputs
torch.manual_seed(0)
for dtype in ("float64", "complex128"):
    def r(*shape):
        return torch.rand(shape, dtype=getattr(torch, dtype)) + 0.5
    unary = [[r(3)], [r(2, 3)]]
    names = ("exp", "sin", "cos", "sinh", "cosh", "tanh", "asinh", "acosh", "erf", "reciprocal")
    names += ("exp2", "expm1", "sigmoid", "silu", "mish", "rsqrt", "neg", "log_sigmoid_forward")
    found = {name: unary for name in names}
    found["mul.Tensor"] = [[r(2, 3), r(3)], [r(2), r(2)]]
    found["clone"] = [[r(2, 3), None]]
    found["stack"] = [[[r(2), r(2)], 0]]
    if dtype == "float64":
        found["relu"] = unary
        found["threshold"] = [[r(3), 0.0, 0.0], [r(2, 3), 0.0, 0.0]]
        found["atan2"] = [[r(2, 3), r(3)], [r(2), r(2)]]
        found["aminmax"] = [[r(3), 0, False], [r(2, 3), 1, True]]
    none = dict.fromkeys(stems_with_samples(), [])
    write_inputs(Path(sys.argv[1].replace("DTYPE", dtype)), none | found)
"""
