${results} = [&]() -> ${return_type} {
  ${decomposition}
  ${guard}
  return ${call};
}();
