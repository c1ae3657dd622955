#if __has_include(<ATen/FunctionalInverses.h>)
#include <ATen/FunctionalInverses.h>
#else
// Packages of PyTorch come without this header.
namespace at::functionalization {
${mode}
struct FunctionalInverses {
  ${declarations}
};
} // namespace at::functionalization
#endif
