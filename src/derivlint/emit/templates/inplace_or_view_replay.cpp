std::unique_ptr<ViewFunc> _view_func;
std::function<at::Tensor(const at::Tensor&)> _reverse_view_func;
if (needs_replay(self)) {
  ${functions}
}
