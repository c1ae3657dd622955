#include <ATen/ATen.h>
#include <torch/csrc/autograd/FunctionsManual.h>
#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/native/nested/NestedTensorUtils.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/generated/VariableType.h>
#endif

namespace derivlint_verify {
void add_operator(const char* schema, const char* name, void (*call)(std::vector<c10::IValue>& stack));
void reach(int64_t function, int64_t site, bool arm);
void reach_mask(int64_t function, int64_t site, const at::Tensor& mask);

// Says which arm of a condition a formula takes.
template <class T> bool arm(int64_t function, int64_t site, T&& condition) {
  const bool taken = static_cast<bool>(condition);
  reach(function, site, taken);
  return taken;
}
// Says whether a mask selects elements, and whether it leaves some out.
template <class T> std::decay_t<T> mask(int64_t function, int64_t site, T&& selected) {
  if constexpr (std::is_convertible_v<T, const at::Tensor&>) { reach_mask(function, site, selected); }
  return std::forward<T>(selected);
}

using at::Tensor;
using Tensors = std::vector<Tensor>;

template <class T> struct Holding {
  static T taken(const c10::IValue& value) { return value.to<T>(); }
};
template <class T> struct Holding<c10::OptionalArray<T>> {
  static c10::OptionalArray<T> taken(const c10::IValue& value) {
    c10::OptionalArray<T> found;
    if (!value.isNone()) { found.list = value.to<std::vector<T>>(); }
    return found;
  }
};
template <> struct Holding<std::vector<c10::SymInt>> {
  static std::vector<c10::SymInt> taken(const c10::IValue& value) { return value.toSymIntVector(); }
};
template <> struct Holding<c10::OptionalArray<c10::SymInt>> {
  static c10::OptionalArray<c10::SymInt> taken(const c10::IValue& value) {
    c10::OptionalArray<c10::SymInt> found;
    if (!value.isNone()) { found.list = value.toSymIntVector(); }
    return found;
  }
};
template <> struct Holding<std::vector<at::Scalar>> {
  static std::vector<at::Scalar> taken(const c10::IValue& value) {
    std::vector<at::Scalar> found;
    for (const c10::IValue& item : value.toListRef()) { found.push_back(item.toScalar()); }
    return found;
  }
};
template <> struct Holding<std::string> {
  static std::string taken(const c10::IValue& value) { return value.toStringRef(); }
};

inline Tensors tensors(const c10::IValue& value) {
  Tensors found;
  for (const auto& item : value.toList().vec()) { found.push_back(item.isNone() ? Tensor() : item.toTensor()); }
  return found;
}

template <class To, class From> To saved(From&& from) {
  using Plain = std::decay_t<From>;
  if constexpr (std::is_same_v<To, Plain>) {
    return from;
  } else if constexpr (std::is_same_v<To, Tensor> && std::is_same_v<Plain, std::optional<Tensor>>) {
    return from.has_value() ? *from : Tensor();
  } else if constexpr (std::is_same_v<To, Tensor> && std::is_same_v<Plain, at::Scalar>) {
    return at::scalar_to_tensor(from);
  } else if constexpr (std::is_same_v<To, Tensors> && std::is_same_v<Plain, at::ITensorListRef>) {
    Tensors found;
    for (const Tensor& item : from) { found.push_back(item); }
    return found;
  } else if constexpr (requires(To to) { to.list; to.list->data(); }) {
    To found;
    if (from.has_value()) { found.list.emplace(from->begin(), from->end()); }
    return found;
  } else if constexpr (std::is_same_v<To, std::optional<std::string>>) {
    return from.has_value() ? To(std::string(*from)) : To();
  } else if constexpr (requires(From f) { f.vec(); }) {
    return from.vec();
  } else {
    return To(from);
  }
}

inline void put(c10::List<std::optional<Tensor>>& found, const Tensor& value) {
  found.push_back(value.defined() ? std::optional<Tensor>(value) : std::nullopt);
}
inline void put(c10::List<std::optional<Tensor>>& found, const Tensors& values) {
  for (const Tensor& value : values) { put(found, value); }
}
inline void put(c10::List<std::optional<Tensor>>& found, at::TensorList values) {
  for (const Tensor& value : values) { put(found, value); }
}
template <class... T> void put(c10::List<std::optional<Tensor>>& found, const std::tuple<T...>& values);
template <class T> void put(c10::List<std::optional<Tensor>>& found, const std::optional<T>& value) {
  if (value.has_value()) { put(found, *value); } else { put(found, Tensor()); }
}
template <class... T> void put(c10::List<std::optional<Tensor>>& found, const std::tuple<T...>& values) {
  std::apply([&](const auto&... value) { (put(found, value), ...); }, values);
}
} // namespace derivlint_verify

namespace torch::autograd::generated {
using namespace torch::autograd::generated::details;
using at::Tensor;
using at::Scalar;
using at::IntArrayRef;
using at::TensorList;
}
namespace torch::autograd::VariableType {
using namespace at;
using namespace torch::autograd::generated;
using namespace torch::autograd::generated::details;
}
