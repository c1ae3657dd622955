variable_list ${name}::apply_with_saved(const variable_list& grads, SwapSavedVariables& saved) {
  ${before}
  variable_list results = apply(variable_list(grads));
  ${after}
  return results;
}
