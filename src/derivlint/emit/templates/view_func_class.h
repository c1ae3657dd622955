// ${origin}
#define ${available}
struct ${name} : public torch::autograd::ViewFunc {
  ${name}(${parameters})${initializers} {}

  at::Tensor operator()(const at::Tensor& input_base) const override;
  std::unique_ptr<ViewFunc> clone_and_set(
      std::optional<std::vector<c10::SymInt>> symints = std::nullopt,
      std::optional<std::vector<at::Tensor>> tensors = std::nullopt) const override;
  std::vector<c10::SymInt> get_symints() const override;
  size_t num_symints() const override;
  std::vector<at::Tensor> get_tensors() const override;
  size_t num_tensors() const override;

 protected:
  void set_symints(std::vector<c10::SymInt> symints) override;
  void set_tensors(std::vector<at::Tensor> tensors) override;
${private}
};
