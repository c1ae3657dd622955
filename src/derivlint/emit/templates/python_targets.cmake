# The classes of nodes in Python; an extension for which Python's headers are missing does without.
find_package(Python COMPONENTS Interpreter Development.Module)
find_library(TORCH_PYTHON torch_python HINTS "${torch}/lib")
if(TARGET Python::Module AND TORCH_PYTHON)
  add_library(${project}_python OBJECT
    ${sources}
  )
  target_link_libraries(${project}_python PRIVATE torch Python::Module)
  target_sources(${project} PRIVATE "$<TARGET_OBJECTS:${project}_python>")
  target_link_libraries(${project} PRIVATE "${library}")
else()
  message(WARNING "no headers of Python, or no libtorch_python: Python will not see what nodes save")
endif()
