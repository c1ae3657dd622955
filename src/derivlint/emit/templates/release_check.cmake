
if(NOT "${found}" MATCHES "^${major}[.]${minor}([.]|$)")
  message(FATAL_ERROR "this was emitted for PyTorch ${major}.${minor}, and CMake found PyTorch ${found}; emit it again for that one")
endif()
