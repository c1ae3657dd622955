if (needs_input_grad[${index}]) { // ${argument}
  copy_range(grad_inputs, ${argument}_ix, std::get<${position}>(grad_result));
}
