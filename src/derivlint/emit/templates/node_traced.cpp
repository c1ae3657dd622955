variable_list ${name}::apply_with_saved(const variable_list& grads, SwapSavedVariables& saved) {
#ifdef C10_MOBILE
  TORCH_INTERNAL_ASSERT(false, "compiled autograd is not built for mobile");
#else
  ${before}
  ${unpacking}
  variable_list results = traced_gradients<${name}_gradients>(${arguments});
  ${after}
  return results;
#endif
}
