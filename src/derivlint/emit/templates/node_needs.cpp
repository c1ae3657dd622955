IndexRangeGenerator gen;
${ranges}
const std::array<bool, ${count}> needs_input_grad{
  ${tasks}
};
