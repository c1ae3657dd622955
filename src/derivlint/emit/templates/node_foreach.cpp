if (${condition}) { // ${argument}
  std::vector<Tensor> grad_result(grads.size());
  for (const auto i : c10::irange(grads.size())) {
    if (grads[i].defined()) {
      grad_result[i] = ${value};
    }
  }
  copy_range(grad_inputs, ${argument}_ix, grad_result);
}
