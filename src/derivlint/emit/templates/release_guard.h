
#include <torch/version.h>
static_assert(
    TORCH_VERSION_MAJOR == ${major} && TORCH_VERSION_MINOR == ${minor},
    "this was emitted for PyTorch ${major}.${minor} and is compiled with the headers of PyTorch " TORCH_VERSION);
