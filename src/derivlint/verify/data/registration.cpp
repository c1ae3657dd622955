// Makes operators of the functions of formulas; compiled once, whatever the formulas are.

#include <torch/library.h>

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

void add_operator(const char* schema, const char* name, Call call) {
  library().def(schema);
  auto kernel = c10::BoxedKernel::makeFromFunctor(std::make_unique<Kernel>(call));
  library().impl(
      name,
      torch::dispatch(
          c10::DispatchKey::CompositeImplicitAutograd, torch::CppFunction::makeFromBoxedKernel(std::move(kernel))));
}
} // namespace derivlint_verify
