_view_func = std::make_unique<view_funcs::${view_func}>(${arguments});
_reverse_view_func = [${captures}](const at::Tensor& _written) {
  return FunctionalInverses::${inverse}(${inverse_arguments});
};
