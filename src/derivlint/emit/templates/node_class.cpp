// ${origin}
static variable_list ${name}_gradients(${parameters}) {
  IndexRangeGenerator gen;
  ${ranges}
  variable_list grad_inputs(gen.size());
  ${gradients}
  ${formulas}
  return grad_inputs;
}

variable_list ${name}::apply(variable_list&& grads) {
  ${lock}
  ${unpacking}
  return ${name}_gradients(${apply_arguments});
}

void ${name}::compiled_args(CompiledNodeArgs& args) const {
  ${collecting}
}

variable_list ${name}::apply_with_saved(const variable_list& grads, SwapSavedVariables& saved) {
#ifdef C10_MOBILE
  TORCH_INTERNAL_ASSERT(false, "compiled autograd is not built for mobile");
#else
  ${before}
  ${unpacking}
  variable_list results = traced_gradients<${name}_gradients>(${traced_arguments});
  ${after}
  return results;
#endif
}
