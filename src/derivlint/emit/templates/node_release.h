void release_variables() override {
  std::lock_guard<std::mutex> lock(mutex_);
  ${statements}
}
