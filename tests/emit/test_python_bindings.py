"""What Python is given of nodes: the properties that torchgen gives them, in files that PyTorch's build expects."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from torchgen.packaged.autograd import gen_autograd_functions

from derivlint.compiler.gxx import compile_command, find_toolchain, run
from derivlint.cpp.types import declared_type
from derivlint.emit.emission import EmissionMode, emission
from derivlint.emit.manifest import MANIFEST
from derivlint.emit.nodes import MemberKind, NodeClass, NodeMember, node_classes, nodes_header
from derivlint.emit.python_bindings import (
    IN_TREE_SHARDS,
    SHOWN,
    functions_header,
    functions_source,
    getters,
    is_binding,
    nodes_source,
)
from derivlint.model import Model, build_model
from derivlint.runtime import python
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

IN_TREE = "torch::autograd::generated"
FILE = "derivatives.yaml"


@pytest.fixture(scope="module")
def torchgen_getters(torchgen_infos: tuple[dict[Any, Any], list[Any]]) -> dict[str, list[str]]:
    """The properties of every class, of those of foreach functions too, in the order that torchgen gives them."""
    found = {}
    for info in gen_autograd_functions.get_infos_with_derivatives_list(torchgen_infos[0]):
        text = gen_autograd_functions.process_function(info, gen_autograd_functions.PY_FUNCTION_PROPS_AND_GETTERS)
        found[info.op] = re.findall(r'\{\(char\*\)"(\w+)"', text)
    return found


def one(natives: NativeFunctions, text: str) -> NodeClass:
    """The only node of the entries of a file."""
    classes = node_classes(build_model(SourceFile(FILE, text), natives))
    (node,) = (each for each in classes if each.info.source.kind == "entry")
    return node


def test_every_class_has_the_properties_that_torchgen_gives_it(
    classes: tuple[NodeClass, ...], torchgen_getters: dict[str, list[str]]
) -> None:
    ours = {each.name: sorted(getter.name for getter in getters(each.members)) for each in classes}
    assert ours == {name: sorted(names) for name, names in torchgen_getters.items()}
    assert len(ours) > 700
    assert sum(map(len, ours.values())) > 2500


def test_properties_name_members_and_flags_of_their_class(classes: tuple[NodeClass, ...]) -> None:
    for each in classes:
        names = {member.name for member in each.members}
        for getter in getters(each.members):
            assert getter.member.name in names
            assert not getter.released or getter.released in names
            assert bool(getter.released) == (
                str(getter.member.type).startswith("std::vector<") and not is_plain(getter.member)
            )
            assert getter.is_raw == getter.name.startswith("_raw_saved_")


def is_plain(member: NodeMember) -> bool:
    return member.kind is MemberKind.VALUE


def test_types_of_every_kind_occur_and_others_are_hidden(classes: tuple[NodeClass, ...]) -> None:
    """Hidden are the types that PyTorch does not show; a type of numbers that is new has to be decided about."""
    values = [member for each in classes for member in each.members if member.kind is MemberKind.VALUE]
    shown = {str(getter.member.type) for each in classes for getter in getters(each.members)}
    assert {str(member.type) for member in values} - shown == {
        "::std::optional<bool>", "::std::vector<::std::vector<c10::SymInt>>", "::std::vector<::std::vector<int64_t>>",
        "::std::vector<at::ScalarType>", "at::Layout", "at::ScalarType", "at::TensorGeometry", "at::TensorOptions",
        "torch::autograd::generated::TypeAndSize",
    }  # fmt: skip
    assert len(SHOWN) == len({str(member.type) for member in values} & shown) + 1


@pytest.mark.parametrize(
    ("type_", "is_shown"),
    [
        ("::std::optional<double>", True), ("std::optional<std::string>", True), ("c10::OptionalArray<double>", True),
        ("at::Scalar", True), ("::std::vector<int64_t>", True), ("std::vector<bool>", False), ("at::Generator", False),
        ("::std::optional<at::ScalarType>", False), ("std::array<bool,2>", False),
    ],
)  # fmt: skip
def test_a_value_is_shown_by_its_type(type_: str, is_shown: bool) -> None:
    type = declared_type(type_)
    found = getters([NodeMember("p", type, MemberKind.VALUE, "", "p", type)])
    assert [getter.name for getter in found] == (["_saved_p"] if is_shown else [])


def test_the_table_of_a_node(bundled_natives: NativeFunctions) -> None:
    """Tensors can be had as they are held; a list of them says that it was given back."""
    node = one(
        bundled_natives,
        "- name: _foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]\n"
        "  self: pow_backward(grads[i], self[i], exponent[i])\n",
    )
    text = functions_source([node], IN_TREE, shard=3, file=FILE, header="Functions.h")
    assert (
        "PyGetSetDef ForeachPowBackward0_properties[] = {\n"
        "    THP_FUNCTION_DEFAULT_PROPERTIES,\n"
        '    saved<&ForeachPowBackward0::exponent, &ForeachPowBackward0::exponent_released_>("_saved_exponent"),\n'
        '    saved<&ForeachPowBackward0::self_, &ForeachPowBackward0::self_released_>("_saved_self"),\n'
        '    raw_saved<&ForeachPowBackward0::self_, &ForeachPowBackward0::self_released_>("_raw_saved_self"),\n'
        "    {nullptr},\n"
        "};\n"
    ) in text
    assert '    {"ForeachPowBackward0", &typeid(ForeachPowBackward0), ForeachPowBackward0_properties},\n' in text
    assert "void initialize_autogenerated_functions_3(PyObject* module) {" in text


def test_classes_of_an_extension_have_the_names_of_pytorchs_own(bundled_natives: NativeFunctions) -> None:
    node = one(bundled_natives, "- name: exp(Tensor self) -> Tensor\n  self: grad * result.conj()\n")
    text = nodes_source([node], "my::nodes", file=FILE, header="nodes.h")
    assert '{"ExpBackward0", &typeid(ExpBackward0), ExpBackward0_properties},' in text
    assert "initialize_autogenerated_functions" not in text


def test_the_header_of_pytorchs_build_declares_every_shard() -> None:
    text = functions_header(FILE, IN_TREE)
    assert re.findall(r"^void (\w+)\(PyObject\* module\);$", text, re.M) == [
        f"initialize_autogenerated_functions_{shard}" for shard in range(5)
    ]
    assert text.count("(module);") == 5
    assert IN_TREE_SHARDS == 5


@pytest.mark.parametrize("operators", [None, ("mul", "exp"), ("zeros_like",)])
def test_a_build_of_pytorch_gets_all_its_files_and_every_class_once(
    model: Model, operators: tuple[str, ...] | None
) -> None:
    """Its list of files is fixed, whatever is chosen."""
    emitted = emission(model, operators, IN_TREE, mode=EmissionMode.IN_TREE)
    names = sorted(name for name in emitted.files if name.startswith("python_"))
    assert names == ["python_functions.h", *(f"python_functions_{shard}.cpp" for shard in range(5))]
    registered = [
        name for file in names for name in re.findall(r'^    \{"(\w+)", &typeid\(\1\), ', emitted.files[file], re.M)
    ]
    assert len(registered) == len(set(registered)) == emitted.nodes


def test_bindings_of_an_extension_can_be_left_out(model: Model) -> None:
    with_them = emission(model, ("mul",), "ours").files
    without = emission(model, ("mul",), "ours", python_bindings=False).files
    assert with_them.keys() - without.keys() == {"python_nodes_0.cpp"}
    assert {name for name in without if without[name] != with_them[name]} == {"CMakeLists.txt", MANIFEST}
    assert "Python::Module" in with_them["CMakeLists.txt"]
    assert "python_nodes_0.cpp" in with_them["CMakeLists.txt"]
    assert "Python::Module" not in without["CMakeLists.txt"]


def test_an_extension_without_nodes_has_no_bindings(bundled_natives: NativeFunctions) -> None:
    text = "- name: sin(Tensor self) -> Tensor\n  self: non_differentiable\n  output_differentiability: [False]\n"
    emitted = emission(build_model(SourceFile(FILE, text), bundled_natives), None, "ours")
    assert not any(is_binding(name) for name in emitted.files)
    assert "Python::Module" not in emitted.files["CMakeLists.txt"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("python_nodes_0.cpp", True),
        ("python_functions_12.cpp", True),
        ("sub/python_nodes_1.cpp", True),
        ("python_functions.h", False),
        ("nodes_0.cpp", False),
        ("python_nodes.cpp", False),
        ("python_nodes_0.h", False),
    ],
)
def test_what_needs_the_headers_of_python_is_known_by_its_name(name: str, expected: bool) -> None:
    assert is_binding(name) is expected


@pytest.mark.parametrize(
    ("line", "is_missing"),
    [
        ("/usr/bin/ld: python_nodes_0.cpp:(.text+0x1): warning: undefined reference to `PyErr_SetString'", False),
        ("/usr/bin/ld: python_nodes_0-1.o:(.data.rel+0x8): undefined reference to `_Py_Dealloc'", False),
        ("ld.lld: warning: undefined symbol: PyTuple_New", False),
        ("/usr/bin/ld: nodes_0.cpp:(.text+0x1): warning: undefined reference to `my_helper(at::Tensor)'", True),
        ("ld.lld: error: undefined symbol: Pythagoras::sum()", True),
        ("/usr/bin/ld: nodes_0.o: in function `f':", False),
    ],
)
def test_only_names_of_python_may_be_undefined(line: str, is_missing: bool) -> None:
    assert python.undefined_in(f"other\n{line}\n") == ([line] if is_missing else [])


@pytest.mark.full
def test_all_bindings_compile_as_pytorchs_own(classes: tuple[NodeClass, ...], tmp_path: Path) -> None:
    """All of them as one shard, without a warning; an empty shard, too. Those of a sample are in test_extension."""
    headers = python.python_headers()
    assert not headers.missing
    texts = {
        "Functions.h": nodes_header(classes, IN_TREE),
        "python_functions.h": functions_header(FILE, IN_TREE, 1),
        "python_functions_0.cpp": functions_source(classes, IN_TREE, shard=0, file=FILE, header="Functions.h"),
        "python_functions_1.cpp": functions_source((), IN_TREE, shard=1, file=FILE, header="Functions.h"),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    includes = [f"-I{directory}" for directory in headers.includes]
    toolchain = find_toolchain()
    for name in ("python_functions_0.cpp", "python_functions_1.cpp"):
        command = compile_command(toolchain, "-O0", "-Wall", "-fsyntax-only", *includes, name)
        done = run([part.replace("-I/", "-isystem/") for part in command], tmp_path)
        assert (done.status, done.stderr) == (0, "")
