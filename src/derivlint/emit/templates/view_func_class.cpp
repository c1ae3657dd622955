at::Tensor ${name}::operator()(const at::Tensor& input_base) const {
  return ${result};
}

std::unique_ptr<torch::autograd::ViewFunc> ${name}::clone_and_set(
    std::optional<std::vector<c10::SymInt>> symints,
    std::optional<std::vector<at::Tensor>> tensors) const {
  auto copy = std::make_unique<${name}>(${members});
  if (symints.has_value()) {
    copy->set_symints(*std::move(symints));
  }
  if (tensors.has_value()) {
    copy->set_tensors(*std::move(tensors));
  }
  return copy;
}

std::vector<c10::SymInt> ${name}::get_symints() const {
  return read_values<c10::SymInt>(${symints});
}

size_t ${name}::num_symints() const {
  return count_values<c10::SymInt>(${symints});
}

void ${name}::set_symints(std::vector<c10::SymInt> symints) {
  replace_values<c10::SymInt>(${set_symints});
}

std::vector<at::Tensor> ${name}::get_tensors() const {
  return read_values<at::Tensor>(${tensors});
}

size_t ${name}::num_tensors() const {
  return count_values<at::Tensor>(${tensors});
}

void ${name}::set_tensors(std::vector<at::Tensor> tensors) {
  replace_values<at::Tensor>(${set_tensors});
}
