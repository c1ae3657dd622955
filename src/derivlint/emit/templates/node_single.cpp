if (${condition}) { // ${argument}
  auto grad_result = ${value};
  copy_range(grad_inputs, ${argument}_ix, grad_result);
}
