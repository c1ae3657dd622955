// What PyTorch's headers make with macros and templates.
namespace c10 {

constexpr nullopt_t nullopt;

class Scalar {
 public:
  Scalar();
  template <typename T> Scalar(T value);
  double toDouble() const;
  float toFloat() const;
  Half toHalf() const;
  BFloat16 toBFloat16() const;
  int64_t toLong() const;
  int toInt() const;
  short toShort() const;
  int8_t toChar() const;
  uint8_t toByte() const;
  bool toBool() const;
  uint16_t toUInt16() const;
  uint32_t toUInt32() const;
  uint64_t toUInt64() const;
  c10::complex<double> toComplexDouble() const;
  c10::complex<float> toComplexFloat() const;
  auto toComplexHalf(...);
  auto toComplexBFloat16(...);
  auto toFloat8_e4m3fn(...);
  auto toFloat8_e4m3fnuz(...);
  auto toFloat8_e5m2(...);
  auto toFloat8_e5m2fnuz(...);
  auto toFloat8_e8m0fnu(...);
  auto toFloat4_e2m1fn_x2(...);
  SymInt toSymInt() const;
  SymFloat toSymFloat() const;
  SymBool toSymBool() const;
  template <typename T> T to() const;
  bool isFloatingPoint() const;
  bool isIntegral(bool includeBool) const;
  bool isIntegral() const;
  bool isComplex() const;
  bool isBoolean() const;
  bool isSymInt() const;
  bool isSymFloat() const;
  bool isSymBool() const;
  bool isSymbolic() const;
  bool unsafeIsBoolean(...);
  auto unsafe_set(...);
  bool has_undefined_dtype(...);
  auto equal(...);
  Scalar conj() const;
  Scalar log() const;
  ScalarType type() const;
  auto swap(...);
};

template <typename T>
class complex {
 public:
  T real() const;
  T imag() const;
};

template <typename T>
class OptionalArray {
 public:
  std::optional<std::vector<T>> list;
};

template <typename T>
class ArrayRef {
 public:
  auto slice(...);
  auto drop_front(...);
  auto equals(...);
  auto at(...);
};

template <typename T>
class OptionalArrayRef {
 public:
  bool has_value() const;
  ArrayRef<T>& value();
  ArrayRef<T> value_or(ArrayRef<T> otherwise) const;
  void reset();
  auto emplace(...);
  auto swap(...);
};

template <typename T>
class IListRef {
 public:
  size_t size() const;
  bool empty() const;
  T front() const;
  auto begin(...);
  auto end(...);
  auto materialize(...);
  auto toUnboxed(...);
  auto toBoxed(...);
  auto isUnboxed(...);
  auto isBoxed(...);
  auto isMaterialized(...);
  auto isNone(...);
};

auto fmap(...);
auto filter(...);
auto multiply_integers(...);
auto sum_integers(...);
auto irange(...);

class intrusive_ptr_target {
 public:
};

constexpr Layout kStrided;
constexpr Layout kSparse;
constexpr Layout kSparseCsr;
constexpr Layout kSparseCsc;
constexpr Layout kSparseBsr;
constexpr Layout kSparseBsc;
constexpr Layout kMkldnn;
constexpr Layout kJagged;
constexpr DeviceType kCPU;
constexpr DeviceType kCUDA;
constexpr DeviceType kMeta;
constexpr DeviceType kMPS;
constexpr DeviceType kXPU;
constexpr DeviceType kPrivateUse1;
constexpr ScalarType kByte;
constexpr ScalarType kChar;
constexpr ScalarType kShort;
constexpr ScalarType kInt;
constexpr ScalarType kLong;
constexpr ScalarType kHalf;
constexpr ScalarType kFloat;
constexpr ScalarType kDouble;
constexpr ScalarType kBool;
constexpr ScalarType kBFloat16;
constexpr ScalarType kComplexHalf;
constexpr ScalarType kComplexFloat;
constexpr ScalarType kComplexDouble;

}  // namespace c10

namespace at {

class Tensor {
 public:
  template <typename T> T item() const;
};

namespace native {
NestedTensorImpl* get_nested_tensor_impl(const at::Tensor& tensor);
auto unbind_symint(...);
}  // namespace native

}  // namespace at

namespace torch::autograd::generated {
auto fmap(...);
auto unpack_list(...);
auto unpack_opt_list(...);
}  // namespace torch::autograd::generated

namespace torch::autograd {

class TypeAndSize {
 public:
  std::vector<c10::SymInt> sym_sizes;
  at::TensorOptions options;
  at::Tensor zeros();
};

}  // namespace torch::autograd
