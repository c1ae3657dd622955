c10::intrusive_ptr<${node}> grad_fn;
if (_any_requires_grad) {
  grad_fn = ${new_node};
  grad_fn->set_next_edges(collect_next_edges(${inputs}));
  ${save}
}
