// View functions that derivlint generated. Do not edit.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/SymInt.h>
#include <c10/core/SymIntArrayRef.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/library.h>

${operators}

namespace ${namespace} {

using torch::autograd::ViewFunc;

${classes}

} // namespace ${namespace}
