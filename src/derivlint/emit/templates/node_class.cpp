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

void ${name}::compiled_args(CompiledNodeArgs& args) ${constness}{
  ${collecting}
}

${traced}
