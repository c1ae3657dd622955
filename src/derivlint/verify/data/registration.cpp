// Makes operators of the functions of formulas; compiled once, whatever the formulas are.

#include <torch/library.h>

#include <map>
#include <memory>
#include <utility>

namespace derivlint_verify {
namespace {
using Call = void (*)(std::vector<c10::IValue>& stack);

struct Kernel : c10::OperatorKernel {
  explicit Kernel(Call call) : call(call) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, std::vector<c10::IValue>* stack) { call(*stack); }
  Call call;
};

torch::Library& library() {
  static torch::Library made(torch::Library::FRAGMENT, "derivlint_verify", std::nullopt, __FILE__, __LINE__);
  return made;
}
} // namespace

// Which arms formulas have taken: 1 for the first, 2 for the second.
static std::map<std::pair<int64_t, int64_t>, int>& reached() {
  static std::map<std::pair<int64_t, int64_t>, int> arms;
  return arms;
}

void reach(int64_t function, int64_t site, bool arm) { reached()[{function, site}] |= arm ? 1 : 2; }

void reach_mask(int64_t function, int64_t site, const at::Tensor& mask) {
  if (!mask.defined() || mask.numel() == 0 || mask.scalar_type() != at::kBool) { return; }
  if (mask.any().item<bool>()) { reach(function, site, true); }
  if (!mask.all().item<bool>()) { reach(function, site, false); }
}

void add_operator(const char* schema, const char* name, Call call) {
  library().def(schema);
  auto kernel = c10::BoxedKernel::makeFromFunctor(std::make_unique<Kernel>(call));
  library().impl(
      name,
      torch::dispatch(
          c10::DispatchKey::CompositeImplicitAutograd, torch::CppFunction::makeFromBoxedKernel(std::move(kernel))));
}
} // namespace derivlint_verify

extern "C" __attribute__((visibility("default"))) int derivlint_reached(int64_t function, int64_t site) {
  const auto& arms = derivlint_verify::reached();
  const auto found = arms.find({function, site});
  return found == arms.end() ? 0 : found->second;
}
