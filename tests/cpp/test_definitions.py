"""The functions that a C++ source defines."""

from __future__ import annotations

from derivlint.cpp.declarations.definitions import function_definitions

SOURCE = """\
#include <a.h>
#define TWICE(x) \\
  { x }
// { a comment with a brace
namespace torch::autograd {
namespace {
const char* text = "} # no directive {";
}
struct Point {
  int x() const { return 1; }
};
extern "C" {
static Tensor first(const Tensor& grad, IntArrayRef dims = {0, 1}, bool = false) {
  return grad;
}
}
template <typename T>
std::tuple<Tensor, Tensor> second(const T& grad, std::array<bool, 2> mask) noexcept {
#if ONE
  return one(grad);
#endif
}
template Tensor second(const Tensor&, int);
int table[] = {1, 2};
Tensor declared(const Tensor& x);
}
"""


def test_functions_are_found_with_their_parameters_and_places() -> None:
    found = list(function_definitions(SOURCE))
    assert [(each.name, [param.name for param in each.params], each.defaults) for each in found] == [
        ("first", ["grad", "dims", ""], 2),
        ("second", ["grad", "mask"], 0),
    ]
    for each in found:
        assert SOURCE[each.name_start : each.name_end] == each.name
        assert SOURCE[each.body.start] == "{"
        assert SOURCE[each.end - 1] == "}"
    assert SOURCE[found[0].start :].startswith("static Tensor first(")
    assert SOURCE[found[1].start :].startswith("template <typename T>")
    assert [type(statement).__name__ for statement in found[1].body.statements] == ["ReturnStatement"]
    params = [SOURCE[param.type_start : param.type_end] for each in found for param in each.params]
    assert params == ["const Tensor&", "IntArrayRef", "bool", "const T&", "std::array<bool, 2>"]


def test_a_brace_that_is_never_closed_ends_with_the_file() -> None:
    (only,) = function_definitions("int f(int a) { return a; ")
    assert (only.name, only.end) == ("f", 24)
