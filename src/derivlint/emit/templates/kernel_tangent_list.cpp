std::vector<::std::optional<at::Tensor>> ${tangent}(self.size(), ::std::nullopt);
for (const auto i : c10::irange(${tangent}.size())) {
  if (${condition}) {
    ${unpack}
    ${tangent}[i] = ${formula};
  }
}
