"""Node classes against the header that PyTorch ships, and against the compiler, in both namespaces."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from derivlint.compiler.gxx import torch_includes
from derivlint.emit import nodes as node_module
from derivlint.emit.nodes import MemberKind, NodeClass, NodeMember, node_class, node_classes, nodes_header, nodes_source
from derivlint.emit.places import without_marks
from derivlint.emit.template import yaml_name
from derivlint.model import DifferentiabilityInfo, Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.emit.compiling import errors

NAMESPACE = "derivlint_generated"
IN_TREE = "torch::autograd::generated"
#: Nodes of every kind.
SAMPLE = {
    "AddBackward0", "AddcmulBackward0", "AddmmBackward0", "AliasBackward0", "AliasBackward0_copy", "AsStridedBackward0",
    "CatBackward0", "ConvolutionBackward0", "CudnnRnnBackward0", "DivBackward1", "EmbeddingBagBackward0",
    "ExpandBackward0", "FftR2CBackward0", "ForeachAddcmulBackward0ScalarList", "ForeachMulBackward0Tensor",
    "ForeachNormBackward0", "ForeachPowBackward0", "IndexBackward0", "IndexPutBackward0", "LinalgSvdBackward0",
    "MkldnnRnnLayerBackward0", "NativeBatchNormBackward0", "NativeLayerNormBackward0", "PowBackward0", "RollBackward0",
    "SortBackward1", "StackBackward0", "SumBackward1", "UnbindBackward0", "UpsampleBicubic2DBackward0", "VarBackward0",
    "WhereBackward0",
}  # fmt: skip


@pytest.fixture(scope="module")
def shipped() -> dict[str, tuple[str, list[tuple[str, str, str]]]]:
    """The base class of every class in PyTorch's own header, and its members: type, name, initial value."""
    includes = torch_includes()
    assert includes is not None
    text = (includes[0] / "torch/csrc/autograd/generated/Functions.h").read_text(encoding="utf-8")
    found = {}
    for name, base, body in re.findall(r"struct TORCH_API (\w+) : public (\w+) \{\n#endif\n(.*?)\n\};", text, re.S):
        members = re.findall(r"^  (?!using )([^\s(][^(\n]*?) (\w+)(?: = (\w+))?;$", body, re.M)
        found[name] = (base, members)
    return found


def source_of(text: str, natives: NativeFunctions) -> tuple[NodeClass, ...]:
    """The nodes of the entries of a file."""
    classes = node_classes(build_model(SourceFile("folder/derivatives.yaml", text), natives))
    return tuple(each for each in classes if each.info.source.kind == "entry")


def test_every_class_is_there_in_the_order_of_the_shipped_header(
    classes: tuple[NodeClass, ...], shipped: dict[str, tuple[str, list[tuple[str, str, str]]]]
) -> None:
    assert len(shipped) > 700
    assert [each.name for each in classes] == list(shipped)


def test_every_class_has_the_base_class_of_the_shipped_header(
    classes: tuple[NodeClass, ...], shipped: dict[str, tuple[str, list[tuple[str, str, str]]]]
) -> None:
    assert {each.name: each.base for each in classes} == {name: base for name, (base, _) in shipped.items()}
    assert {"Node", "TraceableFunction"} == {each.base for each in classes}


def test_every_member_is_that_of_the_shipped_header(
    classes: tuple[NodeClass, ...], shipped: dict[str, tuple[str, list[tuple[str, str, str]]]]
) -> None:
    """Names, types, order and initial values; only sizes of lists, which PyTorch leaves undefined, begin with 0."""

    def initial(member: NodeMember) -> str:
        return "" if member.kind is MemberKind.SIZE else member.initial

    ours = {each.name: [(str(m.type), m.name, initial(m)) for m in each.members] for each in classes}
    theirs = {name: members for name, (_, members) in shipped.items()}
    assert ours == theirs
    assert sum(map(len, ours.values())) > 2000


def test_members_of_every_kind_occur(classes: tuple[NodeClass, ...]) -> None:
    assert {member.kind for each in classes for member in each.members} == set(MemberKind)


def test_every_class_names_its_entry(classes: tuple[NodeClass, ...], model: Model) -> None:
    lines = model.source.text.splitlines()
    for each in classes:
        place = "derivatives.yaml"
        if each.line is not None:
            assert lines[each.line - 1].startswith("- name: ")
            place += f":{each.line}"
        assert each.listing.startswith(f"// {place}: {each.info.func.name}")
        assert each.source.splitlines()[0] == each.header.splitlines()[0]
    assert sum(each.line is None for each in classes) < len(classes) // 4


def test_emission_is_deterministic(
    classes: tuple[NodeClass, ...], derivatives_path: Path, installed_natives: NativeFunctions
) -> None:
    """Also where foreach functions were asked for before, in another order."""
    other = build_model(SourceFile.read(derivatives_path), installed_natives)
    for function in reversed(list(installed_natives.functions)):
        other.match(function)
    again = node_classes(other)
    assert nodes_header(again, NAMESPACE) == nodes_header(classes, NAMESPACE)
    assert nodes_source(again, NAMESPACE) == nodes_source(classes, NAMESPACE)


def test_only_the_classes_that_are_asked_for_are_made(
    classes: tuple[NodeClass, ...], model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str | None] = []

    def counted(model: Model, info: DifferentiabilityInfo) -> NodeClass | None:
        made.append(model.node_name(info))
        return node_class(model, info)

    monkeypatch.setattr(node_module, "node_class", counted)
    for names in ({"MulBackward0", "SinBackward0"}, {"ForeachSinBackward0", "SelectBackward0_copy"}, {"Nothing"}):
        made.clear()
        assert node_classes(model, names) == tuple(each for each in classes if each.name in names)
        assert set(made) <= names
        assert len(made) <= 2


def test_a_formula_stands_in_the_node(bundled_natives: NativeFunctions) -> None:
    (node,) = source_of(
        "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: grad * other\n", bundled_natives
    )
    text = without_marks(nodes_source([node], NAMESPACE))
    assert (
        "  const Tensor& grad = grads[0];\n"
        "  const bool any_grad_defined = any_variable_defined(grads);\n"
        "  if (needs_input_grad[0]) { // self\n"
        "    auto grad_result = any_grad_defined ? (grad * other) : Tensor();\n"
    ) in text
    assert [member.declaration for member in node.members] == ["SavedVariable other_;"]
    assert "other_.reset_data();" in node.header


def test_undefined_gradients_of_lists_and_errors_are_left_to_the_formula(bundled_natives: NativeFunctions) -> None:
    text = (
        "- name: cat(Tensor[] tensors, int dim=0) -> Tensor\n  tensors: cat_tensors_backward(grad, dim)\n"
        '- name: sin(Tensor self) -> Tensor\n  self: not_implemented("sin")\n'
    )
    cat, sin = source_of(text, bundled_natives)
    assert "any_grad_defined" not in cat.source + sin.source
    assert [member.declaration for member in cat.members] == ["int64_t dim = 0;", "size_t tensors_size_ = 0;"]
    assert "gen.range(tensors_size_)" in cat.source


def test_a_formula_for_several_arguments_has_a_mask(bundled_natives: NativeFunctions) -> None:
    (node,) = source_of(
        "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
        "  self, other: both(grad, self, other, grad_input_mask)\n",
        bundled_natives,
    )
    assert "const std::array<bool, 2> grad_input_mask{needs_input_grad[0], needs_input_grad[1]};" in node.source
    assert "copy_range(grad_inputs, other_ix, std::get<1>(grad_result));" in node.source
    assert "any_grad_defined" not in node.source


def test_named_gradients_are_declared_by_their_position(bundled_natives: NativeFunctions) -> None:
    (node,) = source_of(
        "- name: aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)\n"
        "  self: f(grad_max, self)\n",
        bundled_natives,
    )
    assert "const Tensor& grad_max = grads[1];" in node.source
    assert "grads[0]" not in node.source


def test_an_output_is_unpacked_with_its_node(bundled_natives: NativeFunctions) -> None:
    (node,) = source_of("- name: exp(Tensor self) -> Tensor\n  self: grad * result\n", bundled_natives)
    assert "auto result = result_.unpack(getptr());" in node.source
    assert "args.collect(result_, true);" in node.source


def test_what_runs_backward_twice_is_passed_to_the_formula(bundled_natives: NativeFunctions) -> None:
    (node,) = source_of(
        "- name: sin(Tensor self) -> Tensor\n  self: f(grad, self, retain_variables)\n", bundled_natives
    )
    assert "bool retain_variables = true;" in node.header
    assert "void will_release_variables() override {\n    retain_variables = false;\n  }" in node.header
    assert "bool retain_variables)" in node.source


def test_nothing_is_locked_or_released_where_nothing_is_owned(bundled_natives: NativeFunctions) -> None:
    (node,) = source_of(
        "- name: transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)\n  self: grad.transpose(dim0, dim1)\n",
        bundled_natives,
    )
    assert node.base == "Node"
    assert "mutex" not in node.header + node.source
    assert "release_variables" not in node.header


def test_what_is_not_differentiable_has_no_node(bundled_natives: NativeFunctions) -> None:
    text = "- name: sin(Tensor self) -> Tensor\n  self: non_differentiable\n  output_differentiability: [False]\n"
    assert source_of(text, bundled_natives) == ()


def test_a_key_that_names_no_argument_gives_no_gradient(bundled_natives: NativeFunctions) -> None:
    """Such a file is refused; what is made of it nevertheless is not a traceback."""
    text = "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self, othr: f(grad)\n"
    (node,) = source_of(text, bundled_natives)
    assert "f(grad)" not in node.source


@pytest.mark.usefixtures("precompiled_headers")
def test_nodes_compile_and_a_wrong_formula_does_not(
    classes: tuple[NodeClass, ...], bundled_natives: NativeFunctions, tmp_path: Path
) -> None:
    """Of nodes of every kind, one with a misspelt variable, only that variable is refused."""
    chosen = [each for each in classes if each.name in SAMPLE]
    assert {each.name for each in chosen} == SAMPLE
    wrong = source_of("- name: sin(Tensor self) -> Tensor\n\n  self: grad * slef\n", bundled_natives)
    chosen += wrong
    sources = {"nodes.h": nodes_header(chosen, NAMESPACE), "nodes.cpp": nodes_source(chosen, NAMESPACE)}
    (error,) = errors(sources, "nodes.cpp", tmp_path)
    assert "slef" in error


@pytest.mark.full
def test_all_nodes_compile(classes: tuple[NodeClass, ...], tmp_path: Path) -> None:
    sources = {"nodes.h": nodes_header(classes, NAMESPACE), "nodes.cpp": nodes_source(classes, NAMESPACE)}
    assert errors(sources, "nodes.cpp", tmp_path) == []


@pytest.mark.full
def test_all_nodes_compile_as_pytorchs_own(classes: tuple[NodeClass, ...], tmp_path: Path) -> None:
    """In PyTorch's build the header takes the place of its ``Functions.h``, which its other headers include."""
    header = "torch/csrc/autograd/generated/Functions.h"
    text = nodes_source(classes, IN_TREE, header=header)
    assert errors({header: nodes_header(classes, IN_TREE), "Functions.cpp": text}, "Functions.cpp", tmp_path) == []


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/someone/tools/autograd/derivatives.yaml", "derivatives.yaml"),
        ("a\\", "a_"),
        ("x\n#error y", "x_#error y"),
        ("-", "-"),
        ("", "derivatives.yaml"),
    ],
)
def test_the_name_of_the_yaml_file_fits_in_a_comment_and_is_the_same_everywhere(path: str, name: str) -> None:
    assert yaml_name(path) == name
