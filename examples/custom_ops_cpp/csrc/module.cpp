// What makes "import my_ops" load the library; the operators are torch.ops.my_ops then.
#include <Python.h>

PyMODINIT_FUNC PyInit_my_ops(void) {
  static PyModuleDef module = {PyModuleDef_HEAD_INIT, "my_ops", nullptr, -1, nullptr};
  return PyModule_Create(&module);
}
