// View functions that derivlint generated. Do not edit.
#include "${header}"

#include <type_traits>
#include <utility>

#include <c10/util/Exception.h>

namespace ${namespace} {

namespace {

template <typename Member, typename = void>
inline constexpr bool is_optional = false;
template <typename Member>
inline constexpr bool is_optional<Member, std::void_t<decltype(std::declval<Member&>().has_value())>> = true;

template <typename Member, typename = void>
inline constexpr bool is_list = false;
template <typename Member>
inline constexpr bool is_list<Member, std::void_t<decltype(std::declval<Member&>().begin())>> = true;

// The state of a view function is read and replaced as one list: of each member, the values that are there.
template <typename Value, typename Visit>
void visit_values(Value& member, Visit&& visit) {
  if constexpr (is_optional<Value>) {
    if (member.has_value()) {
      visit_values(*member, visit);
    }
  } else if constexpr (is_list<Value>) {
    for (auto& value : member) {
      visit_values(value, visit);
    }
  } else {
    visit(member);
  }
}

template <typename Value, typename... Members>
size_t count_values(const Members&... members) {
  size_t found = 0;
  [[maybe_unused]] const auto visit = [&found](const Value&) { ++found; };
  (visit_values(members, visit), ...);
  return found;
}

template <typename Value, typename... Members>
std::vector<Value> read_values(const Members&... members) {
  std::vector<Value> found;
  found.reserve(count_values<Value>(members...));
  [[maybe_unused]] const auto visit = [&found](const Value& value) { found.push_back(value); };
  (visit_values(members, visit), ...);
  return found;
}

template <typename Value, typename... Members>
void replace_values(std::vector<Value>& values, Members&... members) {
  TORCH_INTERNAL_ASSERT(values.size() == count_values<Value>(members...));
  auto next = values.begin();
  [[maybe_unused]] const auto visit = [&next](Value& value) { value = std::move(*next++); };
  (visit_values(members, visit), ...);
}

} // namespace

${definitions}

} // namespace ${namespace}
