// ${origin}
struct NODE_CLASS ${name} : public ${base} {
  NODE_CONSTRUCTOR ${name}() = default;
  using ${base}::${base};

  ${members}

  std::string name() const override {
    return "${name}";
  }
  variable_list apply(variable_list&& grads) override;
  ${release}
  void compiled_args(CompiledNodeArgs& args) ${constness}override;
  variable_list apply_with_saved(const variable_list& grads, SwapSavedVariables& saved) override;
};
