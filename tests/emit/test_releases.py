"""Emission for other releases of PyTorch: the table of their API, and what of it shows in nodes and kernels."""

from __future__ import annotations

from itertools import pairwise

import pytest

from derivlint.cli.compiled import messages_of
from derivlint.emit.emission import EmissionMode, emission
from derivlint.emit.kernels import Kernel, kernels, kernels_source
from derivlint.emit.nodes import NodeClass, node_classes, nodes_header, nodes_source
from derivlint.emit.places import without_marks
from derivlint.emit.release import (
    DEFAULT,
    NEWEST,
    OLDEST,
    RELEASES,
    Release,
    UnsupportedRelease,
    number_of,
    release_of,
)
from derivlint.model import Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

pytestmark = pytest.mark.long

NAMESPACE = "derivlint_generated"
FORMULAS = """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * other
  other: grad * self
  result: other_t * self_p + self_t * other_p
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
  result: auto_element_wise
- name: div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
  self: div_tensor_self_backward(grad, other, self.scalar_type(), rounding_mode)
  other: div_tensor_other_backward(grad, self, other, rounding_mode)
- name: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
  self: sum_backward(grad, self.sym_sizes(), dim, keepdim)
- name: clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
  self: clamp_backward(grad, self, min, max)
- name: logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
  self: logsumexp_backward(grad, self, result, dim, keepdim)
  result: logsumexp_jvp(self_p, self_t, dim, keepdim)
"""


def model_of(version: str | None, natives: NativeFunctions) -> Model:
    """The formulas for the operators of a release."""
    operators = NativeFunctions(
        natives.written, version=version, autograd_keys=natives.autograd_keys, known_tags=natives.known_tags
    )
    return build_model(SourceFile("d.yaml", FORMULAS), operators)


def node(version: str | None, natives: NativeFunctions, name: str) -> NodeClass:
    return next(each for each in node_classes(model_of(version, natives)) if each.name == name)


def kernel(version: str | None, natives: NativeFunctions, name: str) -> Kernel:
    """The kernel of the function of exactly that name."""
    found = kernels(model_of(version, natives), [name])
    return next(each for each in found if str(each.function.name) == name)


def kernel_text(version: str | None, natives: NativeFunctions, name: str) -> str:
    return kernel(version, natives, name).text


# ---- the table


def test_the_table_goes_from_release_to_release() -> None:
    assert all(earlier.since < later.since for earlier, later in pairwise(RELEASES))
    assert (RELEASES[0], RELEASES[-1]) == (OLDEST, NEWEST)
    assert DEFAULT in RELEASES


def test_every_release_in_the_table_brings_something() -> None:
    for earlier, later in pairwise(RELEASES):
        fields = [name for name in Release.__struct_fields__ if getattr(earlier, name) != getattr(later, name)]
        assert len(fields) > 1, str(later)
        assert fields[0] == "since"


@pytest.mark.parametrize(
    ("version", "since"),
    [
        ("2.1", (2, 1)), ("2.1.2", (2, 1)), ("2.4.1+cu121", (2, 3)), ("2.5.0a0+gitdeadbeef", (2, 5)),
        ("2.11.0", (2, 10)), ("v2.12.0", (2, 12)), ("2.13.0", (2, 13)), ("2.14.1", (2, 14)), ("2.99.0", (2, 14)),
        ("3.0.0", (2, 14)), ("main", (2, 14)), ("", (2, 14)), (None, (2, 13)),
    ],
)  # fmt: skip
def test_a_version_has_the_api_of_the_last_release_that_changed_it(version: str | None, since: tuple[int, int]) -> None:
    assert release_of(version).since == since


@pytest.mark.parametrize("version", ["2.0.1", "1.13.1", "0.4.0", "2.0"])
def test_an_older_release_is_refused(version: str, bundled_natives: NativeFunctions) -> None:
    message = f'code cannot be emitted for PyTorch "{version}": the oldest release it can be emitted for is 2.1'
    model = model_of(version, bundled_natives)
    for emit in (lambda: release_of(version), lambda: node_classes(model), lambda: kernels(model, ["exp"])):
        with pytest.raises(UnsupportedRelease) as raised:
            emit()
        assert str(raised.value) == message


def test_numbers_are_compared_as_numbers() -> None:
    assert number_of("2.10.0") > number_of("2.9.1")
    assert number_of("2.13.0+cpu") == (2, 13)


def test_the_bundled_operators_are_those_of_the_default(bundled_natives: NativeFunctions) -> None:
    assert release_of(bundled_natives.version) is DEFAULT


# ---- spelling


def test_the_newest_release_is_spelled_as_it_is_written() -> None:
    text = "::std::optional<c10::intrusive_ptr<Node>> std::nullopt std::string_view"
    assert NEWEST.spelled(text) == text


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.1.0", "c10::optional<at::Tensor> c10::optional<c10::string_view> c10::nullopt std::shared_ptr<Node>"),
        ("2.2.0", "::std::optional<at::Tensor> std::optional<c10::string_view> ::std::nullopt std::shared_ptr<Node>"),
        ("2.6.0", "::std::optional<at::Tensor> std::optional<std::string_view> ::std::nullopt std::shared_ptr<Node>"),
        (
            "2.13.0",
            "::std::optional<at::Tensor> std::optional<std::string_view> ::std::nullopt c10::intrusive_ptr<Node>",
        ),
    ],
)
def test_words_of_older_releases(version: str, expected: str) -> None:
    text = "::std::optional<at::Tensor> std::optional<std::string_view> ::std::nullopt c10::intrusive_ptr<Node>"
    assert release_of(version).spelled(text) == expected


def test_spelling_twice_changes_nothing_more() -> None:
    text = "::std::optional<c10::intrusive_ptr<Node>> std::nullopt std::optional<std::string_view>"
    for release in RELEASES:
        assert release.spelled(release.spelled(text)) == release.spelled(text)


# ---- nodes


def test_compiled_autograd_before_2_5(bundled_natives: NativeFunctions) -> None:
    """It swaps what was saved, and runs the node itself; it is not passed which tensors are outputs."""
    exp = node("2.4.1", bundled_natives, "ExpBackward0")
    assert "  void compiled_args(CompiledNodeArgs& args) override;\n" in exp.header
    assert exp.source.endswith(
        "void ExpBackward0::compiled_args(CompiledNodeArgs& args) {\n"
        "  args.collect(result_);\n"
        "}\n"
        "\n"
        "variable_list ExpBackward0::apply_with_saved(const variable_list& grads, SwapSavedVariables& saved) {\n"
        "  saved.before(result_);\n"
        "  variable_list results = apply(variable_list(grads));\n"
        "  saved.after(result_);\n"
        "  return results;\n"
        "}"
    )


def test_compiled_autograd_from_2_5_to_2_6(bundled_natives: NativeFunctions) -> None:
    for version in ("2.5.0", "2.6.0"):
        source = node(version, bundled_natives, "ExpBackward0").source
        assert "compiled_args(CompiledNodeArgs& args) {\n  args.collect(result_, true);\n}" in source
        assert "variable_list results = apply(variable_list(grads));" in source


def test_compiled_autograd_since_2_7(bundled_natives: NativeFunctions) -> None:
    for version in ("2.7.0", "2.14.0"):
        exp = node(version, bundled_natives, "ExpBackward0")
        assert "  void compiled_args(CompiledNodeArgs& args) const override;\n" in exp.header
        assert "compiled_args(CompiledNodeArgs& args) const {\n  args.collect(result_, true);\n}" in exp.source
        assert "variable_list results = traced_gradients<ExpBackward0_gradients>(" in exp.source


def test_what_traces_gradients_is_only_there_where_it_is_used(bundled_natives: NativeFunctions) -> None:
    before, since = (
        nodes_source(node_classes(model_of(version, bundled_natives)), NAMESPACE) for version in ("2.6.0", "2.7.0")
    )
    for word in ("traced_gradients", "PackedArgs", "C10_MOBILE"):
        assert word not in before
        assert word in since


def test_apply_is_the_same_in_all_releases(bundled_natives: NativeFunctions) -> None:
    sources = {node(str(release), bundled_natives, "MulBackward0").source for release in RELEASES}
    assert len({source[: source.index("::compiled_args")] for source in sources}) == 1


def test_pointers_to_nodes_in_the_header(bundled_natives: NativeFunctions) -> None:
    old, new = (
        nodes_header(node_classes(model_of(version, bundled_natives)), NAMESPACE) for version in ("2.12.0", "2.13.0")
    )
    assert "unpack_list(ArrayRef<SavedVariable> list, const std::shared_ptr<Node>& node = {})" in old
    assert "intrusive" not in old
    assert old.replace("std::shared_ptr<Node>", "c10::intrusive_ptr<Node>") == new


def test_absent_values_of_2_1_are_of_pytorchs_own_class(bundled_natives: NativeFunctions) -> None:
    """Members, their variables, and the helpers of the header."""
    clamp = node("2.1.2", bundled_natives, "ClampBackward0")
    assert [each.declaration for each in clamp.members] == [
        "c10::optional<at::Scalar> max;",
        "c10::optional<at::Scalar> min;",
        "SavedVariable self_;",
    ]
    assert "    c10::optional<at::Scalar>& max," in clamp.source
    header = nodes_header([clamp], NAMESPACE)
    assert "using c10::optional;" in header
    assert "std::optional" not in header + clamp.source
    assert "std::nullopt" not in header + clamp.source


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.1.2", "c10::optional<c10::string_view>(rounding_mode.value()) : c10::nullopt"),
        ("2.5.1", "std::optional<c10::string_view>(rounding_mode.value()) : std::nullopt"),
        ("2.6.0", "std::optional<std::string_view>(rounding_mode.value()) : std::nullopt"),
        (None, "std::optional<std::string_view>(rounding_mode.value()) : std::nullopt"),
    ],
)
def test_text_that_a_node_keeps_is_given_to_formulas(
    version: str | None, expected: str, bundled_natives: NativeFunctions
) -> None:
    source = without_marks(node(version, bundled_natives, "DivBackward0").source)
    assert (
        "div_tensor_self_backward(grad, other, self_scalar_type, rounding_mode.has_value() ? " + expected + ")"
    ) in source


def test_what_the_user_wrote_is_left_alone(bundled_natives: NativeFunctions) -> None:
    """Also where it holds words that the release does not have."""
    written = "std::optional<std::string_view>(rounding_mode)"
    text = (
        "- name: div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor\n"
        f"  self: f(grad, rounding_mode, {written})\n".replace("(rounding_mode)", "()")
    )
    operators = NativeFunctions(bundled_natives.written, version="2.1.2")
    (div,) = node_classes(build_model(SourceFile("d.yaml", text), operators))
    assert "c10::optional<c10::string_view>(rounding_mode.value())" in div.source
    assert "std::optional<std::string_view>()" in div.source


# ---- kernels

MAKING_A_NODE = {
    "2.12.0": """\
  std::shared_ptr<nodes::MulBackward0> grad_fn;
  if (_any_requires_grad) {
    grad_fn = std::shared_ptr<nodes::MulBackward0>(new nodes::MulBackward0(), deleteNode);
""",
    "2.13.0": """\
  c10::intrusive_ptr<nodes::MulBackward0> grad_fn;
  if (_any_requires_grad) {
    grad_fn = c10::make_intrusive<nodes::MulBackward0>();
""",
}


@pytest.mark.parametrize("version", MAKING_A_NODE)
def test_a_node_is_made_as_the_release_owns_it(version: str, bundled_natives: NativeFunctions) -> None:
    assert MAKING_A_NODE[version] in kernel_text(version, bundled_natives, "mul.Tensor")


def test_nodes_of_lists_are_made_in_the_same_way(bundled_natives: NativeFunctions) -> None:
    text = kernel_text("2.12.0", bundled_natives, "_foreach_mul_.List")
    assert "std::vector<std::shared_ptr<nodes::MulBackward0>> grad_fns;" in text
    assert "grad_fn = std::shared_ptr<nodes::MulBackward0>(new nodes::MulBackward0(), deleteNode);" in text


def test_history_of_elements_before_2_3(bundled_natives: NativeFunctions) -> None:
    """The elements of a list are constant, and only that of a vector of copies could be set."""
    before, since = (kernel_text(version, bundled_natives, "_foreach_mul_.List") for version in ("2.2.2", "2.3.1"))
    assert "    rebase_history(flatten_tensor_args(self[i]), grad_fns[i]);\n" in before
    assert "    rebase_history(self[i], grad_fns[i]);\n" in since


def test_hooks_are_called_with_new_nodes_since_2_14(bundled_natives: NativeFunctions) -> None:
    """At the end, when what the node saves of its outputs is there."""
    assert kernel_text("2.14.0", bundled_natives, "exp").endswith(
        """\
  if (grad_fn) {
    grad_fn->result_ = SavedVariable(result, true);
  }
  if (grad_fn) {
    fire_node_creation_hooks(grad_fn);
  }
  return result;
}"""
    )
    assert "fire_node" not in kernel_text("2.13.0", bundled_natives, "exp")


def test_hooks_are_called_with_the_node_that_an_in_place_change_attached(bundled_natives: NativeFunctions) -> None:
    text = kernel_text("2.14.0", bundled_natives, "mul_.Tensor")
    assert (
        """\
  c10::intrusive_ptr<Node> _rebased_fn;
  if (grad_fn) {
    _rebased_fn = rebase_history(flatten_tensor_args(self), grad_fn);
  }
"""
        in text
    )
    assert text.endswith("  if (_rebased_fn) {\n    fire_node_creation_hooks(_rebased_fn);\n  }\n  return self;\n}")
    assert "_rebased_fn" not in kernel_text("2.13.0", bundled_natives, "mul_.Tensor")


def test_hooks_are_called_with_the_nodes_of_elements(bundled_natives: NativeFunctions) -> None:
    text = kernel_text("2.14.0", bundled_natives, "_foreach_mul_.List")
    assert (
        """\
  std::vector<c10::intrusive_ptr<Node>> _rebased_fns(grad_fns.size());
  for (const auto i : c10::irange(grad_fns.size())) {
    if (grad_fns[i]) {
      _rebased_fns[i] = rebase_history(self[i], grad_fns[i]);
    }
  }
"""
        in text
    )
    assert (
        """\
  for (const auto& node : _rebased_fns) {
    if (node) {
      fire_node_creation_hooks(node);
    }
  }
"""
        in text
    )


def test_out_functions_have_no_node_to_tell_of(bundled_natives: NativeFunctions) -> None:
    assert "fire_node" not in kernel_text("2.14.0", bundled_natives, "mul.out")


def test_a_kernel_of_2_1_has_no_word_of_later_releases(bundled_natives: NativeFunctions) -> None:
    """Parameters, tangents, what is saved, and the helpers of the file."""
    chosen = [
        kernel("2.1.2", bundled_natives, name)
        for name in ("mul.Tensor", "div.Tensor_mode", "sum.dim_IntList", "clamp", "_foreach_mul_.List")
    ]
    text = kernels_source(chosen, NAMESPACE)
    assert "const c10::optional<at::Scalar> & min" in text
    assert "c10::optional<at::Tensor> result_new_fw_grad_opt = c10::nullopt;" in text
    assert "rounding_mode.has_value() ? c10::optional<std::string>(std::string(rounding_mode.value())) : " in text
    assert "bool has_tangent(const c10::optional<at::Tensor>& tensor)" in text
    for word in ("std::optional", "std::nullopt", "::c10", "intrusive"):
        assert word not in text


def test_a_release_that_changes_nothing_changes_no_text(bundled_natives: NativeFunctions) -> None:
    """2.3 to 2.4, 2.7 to 2.11: but for operators that accept complex numbers since."""
    for first, last in (("2.3.0", "2.4.1"), ("2.7.0", "2.11.0")):
        models = [model_of(version, bundled_natives) for version in (first, last)]
        one, other = (nodes_source(node_classes(model), NAMESPACE) for model in models)
        assert one == other
        one, other = (kernels_source(kernels(model, ["mul", "exp", "div", "clamp"]), NAMESPACE) for model in models)
        assert one == other


# ---- complex numbers


def test_a_kernel_refuses_complex_outputs_as_the_release_does(bundled_natives: NativeFunctions) -> None:
    before, since = (kernel_text(version, bundled_natives, "logsumexp") for version in ("2.4.1", "2.5.1"))
    assert 'throw_error_for_complex_autograd(result, "logsumexp");' in before
    assert "throw_error_for_complex_autograd" not in since


# ---- another compiler

CLANG = """\
nodes_0.cpp:3:10: warning: unused variable 'x' [-Wunused-variable]
d.yaml:2:23: error: no member named 'conjj' in 'at::Tensor'; did you mean 'conj'?
include/ATen/core/TensorBody.h:128:10: note: 'conj' declared here
d.yaml:4:9: error: use of undeclared identifier 'mul_tensor_backwardd'; did you mean 'mul_tensor_backward'?
include/torch/csrc/autograd/FunctionsManual.h:142:12: note: 'mul_tensor_backward' declared here
d.yaml:5:39: error: use of undeclared identifier 'slef_p'; did you mean 'self_p'?
kernels_0.cpp:291:10: note: 'self_p' declared here
d.yaml:5:39: error: use of undeclared identifier 'slef_p'; did you mean 'self_p'?
kernels_0.cpp:9:10: fatal error: 'nodes.h' file not found
5 errors generated.
"""


def test_what_clang_writes_is_brought_back_to_the_formulas(bundled_natives: NativeFunctions) -> None:
    """Each once, and the notes go with it; what is wrong outside of formulas stays as it is."""
    text = (
        "- name: exp(Tensor self) -> Tensor\n"
        "  self: grad * result.conjj()\n"
        "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
        "  self: mul_tensor_backwardd(grad, other, self.scalar_type())\n"
        "  result: other_t * self_p + self_t * slef_p\n"
    )
    found = messages_of(build_model(SourceFile("d.yaml", text), bundled_natives), [CLANG])
    assert [(each.entry, each.key, text[each.span.start : each.span.end]) for each in found.diagnostics] == [
        ("exp", "self", "conjj"),
        ("mul.Tensor", "self", "mul_tensor_backwardd"),
        ("mul.Tensor", "result", "slef_p"),
    ]
    assert found.unplaced == ["kernels_0.cpp:9:10: fatal error: 'nodes.h' file not found"]


# ---- in a build of PyTorch


@pytest.mark.parametrize("version", ["2.1.2", "2.6.0", "2.13.0"])
def test_a_build_of_pytorch_has_the_names_and_assertions_that_are_known_there(
    version: str, bundled_natives: NativeFunctions
) -> None:
    """In the C++ standard of the release; hand-written files use names without their namespace."""
    operators = NativeFunctions(bundled_natives.written, version=version)
    text = (
        "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: grad * other\n"
        "- name: select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)\n  self: grad\n"
    )
    model = build_model(SourceFile("d.yaml", text), operators)
    files = emission(model, ["mul", "select"], "torch::autograd::generated", mode=EmissionMode.IN_TREE, shards=1).files
    assert "using c10::fmap;" in files["Functions.h"]
    assert not any("requires {" in content for content in files.values())
    kernels_text = files["VariableType_0.cpp"]
    assert "namespace VariableType {" in kernels_text
    assert "at::Tensor mul_Tensor(c10::DispatchKeySet ks, " in kernels_text
    assert kernels_text.count("#ifndef NDEBUG") == kernels_text.count("#endif") > 4
    for statement in (
        "const Arguments _other_before(other);",
        "_other_before.expect(other);",
        'expect_own_storage(result, "mul_Tensor");',
        "expect_same_storage(self, result);",
    ):
        assert statement in kernels_text
    declares = "enum class InverseReturnMode" in files["ADInplaceOrViewType_0.cpp"]
    assert declares == (version != "2.13.0")
