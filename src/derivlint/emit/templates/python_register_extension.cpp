namespace {

// When the library is loaded; a program without Python has no use for classes.
const bool is_registered = [] {
  if (!Py_IsInitialized()) {
    return false;
  }
  const pybind11::gil_scoped_acquire gil;
  try {
    register_classes(nullptr);
  } catch (const std::exception&) {
    // a library that is being loaded cannot throw: nodes go on as "CppFunction"
    torch::translate_exception_to_python(std::current_exception());
    PyErr_WriteUnraisable(nullptr);
    return false;
  }
  return true;
}();

} // namespace
