#ifndef NDEBUG
bool is_checked(const at::Tensor& tensor) {
  return tensor.defined() && !at::impl::dispatch_mode_enabled() && !at::impl::tensor_has_dispatch(tensor);
}

[[maybe_unused]] void expect_same_storage(const at::Tensor& before, const at::Tensor& after) {
  if (is_checked(after) && before.has_storage() && after.has_storage()) {
    TORCH_INTERNAL_ASSERT(before.storage().is_alias_of(after.storage()));
  }
}

[[maybe_unused]] void expect_own_storage(const at::Tensor& result, const char* function) {
  if (is_checked(result) && result.has_storage()) {
    TORCH_INTERNAL_ASSERT(result.storage().use_count() == 1, "function: ", function);
  }
}

[[maybe_unused]] void expect_own_impl(const at::Tensor& result, const char* function) {
  if (is_checked(result)) {
    TORCH_INTERNAL_ASSERT(result.use_count() <= ${uses}, "function: ", function);
  }
}

// A kernel changes neither which tensors its arguments are nor where their elements are stored.
class Arguments {
 public:
  explicit Arguments(const at::Tensor& tensor) {
    save(tensor);
  }
  explicit Arguments(at::ITensorListRef tensors) {
    for (const at::Tensor& tensor : tensors) {
      save(tensor);
    }
  }
  explicit Arguments(const c10::List<::std::optional<at::Tensor>>& tensors) {
    for (const ::std::optional<at::Tensor> tensor : tensors) {
      save(tensor.has_value() ? *tensor : at::Tensor());
    }
  }

  // The same arguments after the call.
  template <typename Argument>
  void expect(const Argument& argument) const {
    const Arguments after(argument);
    TORCH_INTERNAL_ASSERT(after.saved_.size() == saved_.size());
    for (const auto i : c10::irange(saved_.size())) {
      if (is_checked(after.saved_[i].tensor)) {
        TORCH_INTERNAL_ASSERT(saved_[i].tensor.is_same(after.saved_[i].tensor));
      }
      if (is_checked(after.saved_[i].tensor) && saved_[i].storage.has_value()) {
        TORCH_INTERNAL_ASSERT(saved_[i].storage->is_alias_of(after.saved_[i].tensor.storage()));
      }
    }
  }

 private:
  struct Saved {
    at::Tensor tensor;
    ::std::optional<at::Storage> storage;
  };

  void save(const at::Tensor& tensor) {
    const bool has_storage = tensor.defined() && tensor.has_storage();
    saved_.push_back({tensor, has_storage ? ::std::optional<at::Storage>(tensor.storage()) : ::std::nullopt});
  }

  std::vector<Saved> saved_;
};
#endif
