#ifndef C10_MOBILE
namespace {

// What compiled autograd needs of a function of gradients: to call it with its arguments packed, and their types.
template <auto gradients>
struct Traced;

template <typename Mask, typename... Saved, variable_list (*gradients)(variable_list&&, Mask, Saved...)>
struct Traced<gradients> {
  static variable_list call(const variable_list& grads, const ivalue_list& packed) {
    PackedArgs reader(packed);
    // a braced list is evaluated from left to right, which is the order of packing
    std::tuple<Mask, std::decay_t<Saved>...> values{
        reader.template unpack<Mask>(), reader.template unpack<std::decay_t<Saved>>()...};
    return std::apply([&grads](auto&... value) { return gradients(variable_list(grads), value...); }, values);
  }

  static std::vector<at::TypePtr> types() {
    using namespace torch::dynamo::autograd;
    return {IValuePacker<Mask>::packed_type(), IValuePacker<std::decay_t<Saved>>::packed_type()...};
  }
};

// Puts a call of `gradients` into the graph that compiled autograd captures.
template <auto gradients, typename... Values>
variable_list traced_gradients(
    const Node& node,
    const variable_list& grads,
    const SwapSavedVariables& saved,
    const Values&... values) {
  using namespace torch::dynamo::autograd;
  const auto& compiler = getPyCompilerInterface();
  // compiled autograd keeps one function of each name; PyTorch's own nodes may have the same
  const std::string function = "${prefix}" + node.name();
  static const bool is_bound = [&] {
    compiler->bind_function(
        saved.get_py_compiler(), function, Traced<gradients>::call, Traced<gradients>::types());
    return true;
  }();
  (void)is_bound;
  PackedArgs packed;
  (packed.pack(values), ...);
  const at::IValue edges =
      IValuePacker<std::vector<std::optional<InputMetadata>>>::pack(get_input_metadata(node.next_edges()));
  return compiler->call_function(
      saved.get_py_compiler(), "apply_functional", function, grads, packed.vec(), edges);
}

} // namespace
#endif
