if (${has_tangents}) {
  // no forward formula: differentiate the decomposition of the operator, where there is one
  static const auto _operator = c10::Dispatcher::singleton().findSchemaOrThrow("aten::${operator}", "${overload}");
  return impl::run_jit_decomposition_with_args_for_jvp<${return_type}>(${arguments});
}
