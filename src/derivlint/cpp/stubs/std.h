// The standard library, as far as formulas meet it. "auto name(...);" says that a member exists, and nothing more.
namespace std {

constexpr nullopt_t nullopt;

template <typename T>
class vector {
 public:
  vector(size_t count);
  vector(size_t count, const T& value);
  vector(T* first, T* last);
  size_t size() const;
  size_t capacity() const;
  size_t max_size() const;
  bool empty() const;
  T& front();
  T& back();
  T& at(size_t index);
  T* data();
  T* begin();
  T* end();
  T* cbegin() const;
  T* cend() const;
  auto rbegin(...);
  auto rend(...);
  auto crbegin(...);
  auto crend(...);
  void clear();
  void push_back(T value);
  void pop_back();
  void resize(size_t count);
  void resize(size_t count, const T& value);
  void reserve(size_t count);
  void shrink_to_fit();
  void swap(vector<T>& other);
  auto assign(...);
  auto insert(...);
  auto erase(...);
  auto emplace(...);
  auto emplace_back(...);
  auto get_allocator(...);
};

template <typename T, size_t N>
class array {
 public:
  size_t size() const;
  size_t max_size() const;
  bool empty() const;
  T& front();
  T& back();
  T& at(size_t index);
  T* data();
  T* begin();
  T* end();
  T* cbegin() const;
  T* cend() const;
  auto rbegin(...);
  auto rend(...);
  auto crbegin(...);
  auto crend(...);
  void fill(const T& value);
  void swap(array<T, N>& other);
};

template <typename T>
class initializer_list {
 public:
  size_t size() const;
  T* begin() const;
  T* end() const;
};

template <typename T>
class optional {
 public:
  bool has_value() const;
  T& value();
  T value_or(T otherwise) const;
  void reset();
  void swap(optional<T>& other);
  auto emplace(...);
};

template <typename T, typename U>
class tuple {
 public:
  auto swap(...);
};

template <typename T, typename U>
class pair {
 public:
  T first;
  U second;
  auto swap(...);
};

class string {
 public:
  size_t size() const;
  size_t length() const;
  size_t max_size() const;
  size_t capacity() const;
  bool empty() const;
  const char* c_str() const;
  char* data();
  char& front();
  char& back();
  char& at(size_t index);
  char* begin();
  char* end();
  void clear();
  string substr(size_t position = 0, size_t count = 0) const;
  auto find(...);
  auto rfind(...);
  auto find_first_of(...);
  auto find_last_of(...);
  auto find_first_not_of(...);
  auto find_last_not_of(...);
  auto compare(...);
  auto starts_with(...);
  auto ends_with(...);
  auto append(...);
  auto assign(...);
  auto insert(...);
  auto erase(...);
  auto replace(...);
  auto copy(...);
  auto push_back(...);
  auto pop_back(...);
  auto resize(...);
  auto resize_and_overwrite(...);
  auto reserve(...);
  auto shrink_to_fit(...);
  auto swap(...);
  auto cbegin(...);
  auto cend(...);
  auto rbegin(...);
  auto rend(...);
  auto crbegin(...);
  auto crend(...);
  auto get_allocator(...);
};

class string_view {
 public:
  size_t size() const;
  size_t length() const;
  size_t max_size() const;
  bool empty() const;
  const char* data() const;
  char front() const;
  char back() const;
  char at(size_t index) const;
  const char* begin() const;
  const char* end() const;
  const char* cbegin() const;
  const char* cend() const;
  auto rbegin(...);
  auto rend(...);
  auto crbegin(...);
  auto crend(...);
  string_view substr(size_t position = 0, size_t count = 0) const;
  void remove_prefix(size_t count);
  void remove_suffix(size_t count);
  auto find(...);
  auto rfind(...);
  auto find_first_of(...);
  auto find_last_of(...);
  auto find_first_not_of(...);
  auto find_last_not_of(...);
  auto compare(...);
  auto starts_with(...);
  auto ends_with(...);
  auto copy(...);
  auto swap(...);
};

auto get(...);
double sqrt(double x);
double cbrt(double x);
double exp(double x);
double exp2(double x);
double expm1(double x);
double log(double x);
double log2(double x);
double log10(double x);
double log1p(double x);
double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double sinh(double x);
double cosh(double x);
double tanh(double x);
double erf(double x);
double erfc(double x);
double lgamma(double x);
double tgamma(double x);
double floor(double x);
double ceil(double x);
double trunc(double x);
double round(double x);
double fabs(double x);
double atan2(double y, double x);
double copysign(double x, double y);
double fmax(double x, double y);
double fmin(double x, double y);
double fmod(double x, double y);
double hypot(double x, double y);
double pow(double x, double y);
double real(double x);
double imag(double x);
double arg(double x);
double norm(double x);
double abs(double x);
bool isfinite(double x);
bool isinf(double x);
bool isnan(double x);
bool signbit(double x);
c10::complex<double> conj(double x);
c10::complex<double> complex(double real, double imag = 0);
c10::complex<double> conj(c10::complex<double> x);
double real(c10::complex<double> x);
double imag(c10::complex<double> x);
double arg(c10::complex<double> x);
double norm(c10::complex<double> x);
double abs(c10::complex<double> x);
c10::complex<double> pow(c10::complex<double> x, c10::complex<double> y);
c10::complex<double> pow(c10::complex<double> x, double y);
c10::complex<double> pow(double x, c10::complex<double> y);
c10::complex<double> exp(c10::complex<double> x);
c10::complex<double> log(c10::complex<double> x);
c10::complex<double> log10(c10::complex<double> x);
c10::complex<double> log2(c10::complex<double> x);
c10::complex<double> log1p(c10::complex<double> x);
c10::complex<double> expm1(c10::complex<double> x);
c10::complex<double> sqrt(c10::complex<double> x);
c10::complex<double> sin(c10::complex<double> x);
c10::complex<double> cos(c10::complex<double> x);
c10::complex<double> tan(c10::complex<double> x);
c10::complex<double> asin(c10::complex<double> x);
c10::complex<double> acos(c10::complex<double> x);
c10::complex<double> atan(c10::complex<double> x);
c10::complex<double> sinh(c10::complex<double> x);
c10::complex<double> cosh(c10::complex<double> x);
c10::complex<double> tanh(c10::complex<double> x);
bool isnan(c10::complex<double> x);

}  // namespace std
