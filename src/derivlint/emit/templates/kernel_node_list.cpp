std::vector<c10::intrusive_ptr<${node}>> grad_fns;
if (_any_requires_grad) {
  grad_fns.reserve(self.size());
  for (const auto i : c10::irange(self.size())) {
    const auto _requires_grad = compute_requires_grad(${inputs});
    check_inplace(self[i], _requires_grad);
    c10::intrusive_ptr<${node}> grad_fn;
    if (_requires_grad) {
      grad_fn = ${new_node};
      grad_fn->set_next_edges(collect_next_edges(${inputs}));
      ${save}
    }
    grad_fns.push_back(std::move(grad_fn));
  }
}
