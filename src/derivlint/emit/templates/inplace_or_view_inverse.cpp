_reverse_view_func = [${captures}](const at::Tensor& _written) {
  return FunctionalInverses::${inverse}(${inverse_arguments});
};
