"""Where formulas are evaluated: the same expressions and declarations as in the code that torchgen generates.

torchgen writes all nodes and kernels of the installed release in this process; what it wrote is read back, statement by
statement. That a compiler finds all of it right is a test of its own (tests/conformance).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torchgen.api import cpp
from torchgen.api.autograd import match_differentiability_info
from torchgen.context import native_function_manager
from torchgen.gen import parse_native_yaml
from torchgen.packaged.autograd import gen_autograd_functions as functions_generator
from torchgen.packaged.autograd import gen_inplace_or_view_type as view_generator
from torchgen.packaged.autograd import gen_variable_type as kernel_generator
from torchgen.packaged.autograd.load_derivatives import load_derivatives

from derivlint.cpp.canonical import canonical_type
from derivlint.cpp.cpp_type import cpp_type
from derivlint.cpp.expressions.consumer import Consumer, Use
from derivlint.formula import Edit, apply_edits
from derivlint.model import Model, build_model
from derivlint.model.generated.evaluation import Evaluation, Mode, Origin, evaluations
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

#: A node or a kernel: the schema of its function, and the dispatch key.
Place = tuple[str, str]
ByPlace = dict[Place, list[Evaluation]]
#: Enough differences to see what they have in common.
SHOWN = 5

#: Beginning and body of the function of a node that computes its gradients.
_NODE = re.compile(r"_apply_functional\((.*?)\)\n\{(.*?)\n\}\n", re.DOTALL)
_GRADIENT = re.compile(r"^ *const auto& (\w+) = grads\[\d+\];$", re.MULTILINE)
_RESULT = re.compile(r"^ *(auto grad_result = .*;|grad_result\.emplace_back\(.*\);)$", re.MULTILINE)
_MASK = re.compile(r"auto grad_input_mask = (std::array<bool, \d+>)\{")
_PICKED = re.compile(r"std::get<\d+>\(grad_result\)")
#: A forward formula: the variable for its value, what is declared for it, and the expression.
_TANGENT = re.compile(
    r"^ *(?:std::vector<(?P<element>::std::optional<.*>)>|(?P<type>::std::optional<.*>)) "
    r"\w+_new_fw_grad_opts?(?: = ::std::nullopt|\(self\.size\(\), ::std::nullopt\));\n"
    r"(?P<declared>(?:.*\n)*?)"
    r" *\w+_new_fw_grad_opts?(?:\[i\])? = (?P<formula>.*);$",
    re.MULTILINE,
)
_LOCAL = re.compile(r"^ *auto (\w+) = ", re.MULTILINE)
_SAVED = re.compile(r"^ *grad_fn->(\w+) = (.*);$", re.MULTILINE)
#: Values that are saved as they are, whatever their type.
_SAVED_AS_IT_IS = re.compile(
    r"SavedVariable\(.*|make_saved_variable_list\(.*|std::string\(\w+\)|(\w+)(\.vec\(\))?|"
    r"(\w+)\.has_value\(\) \? ::std::optional<std::string>\(.*"
)


@dataclass
class Code:
    """What torchgen wrote.

    Attributes:
        parameters: the parameters of the function of a node that computes its gradients.
        nodes: its body.
        kernels: the kernels.
        formals: the parameters of the kernels.
        outputs: the types of their outputs, by name.
    """

    parameters: dict[Place, str] = field(default_factory=dict)
    nodes: dict[Place, str] = field(default_factory=dict)
    kernels: dict[Place, str] = field(default_factory=dict)
    formals: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def code(derivatives_path: Path, native_functions_path: Path, tags_path: Path) -> Code:
    infos, _ = load_derivatives(str(derivatives_path), str(native_functions_path), str(tags_path))
    functions = parse_native_yaml(str(native_functions_path), str(tags_path)).native_functions
    written = Code()
    # matching adds the infos of foreach functions, and torchgen keeps what it loaded
    for match in match_differentiability_info(functions, dict(infos)):
        if match.info is None:
            continue
        for key, info in match.info.items():
            place = (str(info.func.func), key)
            if info.has_derivatives and place not in written.nodes:
                text = functions_generator.process_function(info, functions_generator.FUNCTION_DEFINITION)
                found = _NODE.search(text)
                assert found is not None
                written.parameters[place] = " ".join(found[1].split())
                written.nodes[place] = found[2]
        if view_generator.use_derived(match):
            schema = str(match.func.func)
            kernels = kernel_generator.gen_variable_type_func(match)
            for key in match.info:
                (written.kernels[schema, key],) = kernels[f"type_derived_method_definitions_{key}"]
            with native_function_manager(match.func):
                written.formals[schema] = view_generator.gen_formals(match.func)
                returns = zip(cpp.return_names(match.func), match.func.func.returns, strict=True)
                written.outputs[schema] = {
                    name: cpp.return_type(item, symint=True).cpp_type().rstrip(" &") for name, item in returns
                }
    return written


@pytest.fixture(scope="module")
def model(derivatives_path: Path, installed_natives: NativeFunctions) -> Model:
    return build_model(SourceFile.read(derivatives_path), installed_natives)


def all_of(model: Model) -> Iterator[Evaluation]:
    for entry in model.entries:
        yield from evaluations(entry, model.differentiabilities(entry))


@pytest.fixture(scope="module")
def ours(model: Model) -> dict[Mode, ByPlace]:
    found: dict[Mode, ByPlace] = {mode: defaultdict(list) for mode in Mode}
    for evaluation in all_of(model):
        found[evaluation.mode][str(evaluation.function.schema), evaluation.dispatch].append(evaluation)
    return found


def differences(mine: dict[Any, Any], theirs: dict[Any, Any]) -> list[str]:
    """The first places where two tables differ."""
    found = [
        f"{place}: {mine.get(place)} != {theirs.get(place)}"
        for place in sorted(mine.keys() | theirs.keys())
        if mine.get(place) != theirs.get(place)
    ]
    return found[:SHOWN]


def split_parameters(text: str) -> list[str]:
    """Parameters, split at the commas that are outside of angle brackets."""
    found, depth = [""], 0
    for char in text:
        depth += (char == "<") - (char == ">")
        if char == "," and not depth:
            found.append("")
        else:
            found[-1] += char
    return [each.strip() for each in found if each.strip()]


def spelled(evaluation: Evaluation) -> dict[str, str]:
    """The variables of an expression with their types as C++ has them."""
    return {name: str(type) for name, type in evaluation.variables.items()}


# ---- nodes


def is_parameter(name: str, kind: str) -> bool:
    """Whether a node has the variable as a parameter; the others are declared in the body."""
    return kind != "const Tensor&" and name not in ("any_grad_defined", "grad_input_mask", "i")


def test_nodes_unpack_what_they_saved(code: Code, ours: dict[Mode, ByPlace]) -> None:
    """Every node of the release, with the names and types of all parameters."""
    mine = {
        place: {f"{kind} {name}" for each in found for name, kind in spelled(each).items() if is_parameter(name, kind)}
        for place, found in ours[Mode.BACKWARD].items()
    }
    assert differences(mine, {place: set(split_parameters(text)) for place, text in code.parameters.items()}) == []
    assert len(mine) > 500


def test_gradients_are_declared_as_in_the_node(code: Code, ours: dict[Mode, ByPlace]) -> None:
    mine = {
        place: [{name for name, kind in spelled(each).items() if kind == "const Tensor&"} for each in found]
        for place, found in ours[Mode.BACKWARD].items()
    }
    theirs = {place: [set(_GRADIENT.findall(body))] * len(mine.get(place, ())) for place, body in code.nodes.items()}
    assert differences(mine, theirs) == []


def node_statement(evaluation: Evaluation) -> str:
    text = evaluation.text
    if evaluation.consumer.use is Use.GRADIENT:
        return f"auto grad_result = any_grad_defined ? ({text}) : Tensor();"
    if evaluation.consumer.use is Use.ELEMENT_GRADIENT:
        return f"grad_result.emplace_back({text});"
    return f"auto grad_result = {text};"


def statements_of_node(body: str) -> Counter[str]:
    """The statements with formulas; that a tensor among many may be absent is of no matter to types."""
    found = Counter(_RESULT.findall(body))
    del found["grad_result.emplace_back(Tensor());"]
    return Counter(
        {
            re.sub(r"^(grad_result\.emplace_back\()any_grad_defined \? \((.*)\) : Tensor\(\)\);$", r"\1\2);", text): n
            for text, n in found.items()
        }
    )


def test_every_backward_formula_stands_in_its_node_with_what_takes_its_value(
    code: Code, ours: dict[Mode, ByPlace]
) -> None:
    """No formula more, no formula less, each in the statement that torchgen writes around it."""
    mine = {place: Counter(map(node_statement, found)) for place, found in ours[Mode.BACKWARD].items()}
    assert differences(mine, {place: statements_of_node(body) for place, body in code.nodes.items()}) == []


def test_formulas_for_several_arguments_are_taken_apart_as_in_the_node(code: Code, ours: dict[Mode, ByPlace]) -> None:
    mine, masks = {}, {}
    for place, found in ours[Mode.BACKWARD].items():
        mine[place] = sum(each.consumer.count for each in found if each.consumer.use is Use.GRADIENTS)
        masks[place] = sorted(
            str(each.variables["grad_input_mask"]) for each in found if "grad_input_mask" in each.variables
        )
    assert differences(mine, {place: len(_PICKED.findall(body)) for place, body in code.nodes.items()}) == []
    assert differences(masks, {place: sorted(_MASK.findall(body)) for place, body in code.nodes.items()}) == []


# ---- kernels


def tangents_of_kernel(text: str) -> Counter[tuple[str, str, frozenset[str]]]:
    return Counter(
        (
            str(canonical_type(match["type"] or match["element"])),
            match["formula"].strip(),
            frozenset(_LOCAL.findall(match["declared"])),
        )
        for match in _TANGENT.finditer(text)
    )


def is_unpacked(name: str) -> bool:
    return name.endswith(("_t_raw", "_tensor", "_t", "_p"))


def test_every_forward_formula_stands_in_its_kernel_with_the_type_that_takes_its_value(
    code: Code, ours: dict[Mode, ByPlace]
) -> None:
    """Also with exactly the primals and tangents that the kernel unpacks for it."""
    mine = {}
    for place, found in ours[Mode.FORWARD].items():
        known = {parameter.rpartition(" ")[2] for parameter in split_parameters(code.formals[place[0]])}
        mine[place] = Counter(
            (
                each.consumer.type.text,
                each.text.strip(),
                frozenset(name for name in each.variables if is_unpacked(name) and name not in known),
            )
            for each in found
        )
    theirs = {place: tangents_of_kernel(text) for place, text in code.kernels.items()}
    theirs = {place: tangents for place, tangents in theirs.items() if tangents}
    assert differences(mine, theirs) == []
    assert sum(map(Counter.total, theirs.values())) > 700


def test_kernels_have_the_parameters_and_outputs_that_torchgen_gives_them(
    code: Code, ours: dict[Mode, ByPlace]
) -> None:
    mine: dict[Any, set[str]] = {}
    theirs: dict[Any, set[str]] = {}
    for mode in (Mode.FORWARD, Mode.SAVE):
        for place, found in ours[mode].items():
            schema = place[0]
            formals = [item for item in split_parameters(code.formals[schema]) if not item.endswith(" ks")]
            names = {item.rpartition(" ")[2] for item in formals}
            outputs = {name: kind for name, kind in code.outputs[schema].items() if name not in names}
            theirs[place, mode.value] = {*formals, *(f"{kind} {name}" for name, kind in outputs.items())}
            for each in found:
                mine[place, mode.value] = {
                    f"{kind} {name}"
                    for name, kind in each.variables.items()
                    if name in names or name in outputs or mode is Mode.SAVE
                }
    assert differences(mine, theirs) == []


def test_variables_of_a_kernel_beside_parameters_outputs_and_what_is_unpacked(
    code: Code, ours: dict[Mode, ByPlace]
) -> None:
    """The index of a loop over a list, and the value of self before it is overwritten."""
    for place, found in ours[Mode.FORWARD].items():
        known = {item.rpartition(" ")[2] for item in split_parameters(code.formals[place[0]])}
        known.update(code.outputs[place[0]])
        kernel = code.kernels[place]
        for each in found:
            rest = {name: kind for name, kind in spelled(each).items() if name not in known and not is_unpacked(name)}
            expected = {}
            if each.function.name.is_foreach:
                expected["i"] = "size_t"
            if "original_self_p" in each.variables:
                declared = re.search(r"^ *(\S+) (original_selfs?)(?:\(self\.size\(\)\))?;$", kernel, re.MULTILINE)
                assert declared is not None, kernel
                expected[declared[2]] = declared[1]
            assert rest == expected, each


def test_saved_properties_are_computed_as_in_the_kernel(code: Code, ours: dict[Mode, ByPlace]) -> None:
    """Only in the kernel of the entry's own function; a kernel copies what is saved of a list."""
    exact = {place for place, found in ours[Mode.BACKWARD].items() if found[0].origin is Origin.YAML}
    theirs = {}
    for place in exact & code.kernels.keys():
        properties = {
            (name, expression.removesuffix(".vec()"))
            for name, expression in _SAVED.findall(code.kernels[place])
            if is_property(name, expression)
        }
        if properties:
            theirs[place] = sorted(expression for _, expression in properties)
    mine = {place: sorted({each.text for each in found}) for place, found in ours[Mode.SAVE].items()}
    assert differences(mine, {place: sorted(set(found)) for place, found in theirs.items()}) == []
    assert len(theirs) > 100


def is_property(name: str, expression: str) -> bool:
    """Whether a member of a node is computed, and neither a value as it is nor the length of a list."""
    if name.endswith("_size_"):
        return False
    return name.endswith("_info") or _SAVED_AS_IT_IS.fullmatch(expression) is None


# ---- whose formula it is, and where it is written


def test_formulas_serve_other_functions(model: Model) -> None:
    (entry,) = (entry for entry in model.entries if entry.operator == "mul.Tensor")
    found = Counter(
        (str(each.function.name), each.mode, each.origin)
        for each in evaluations(entry, model.differentiabilities(entry))
        if each.mode is not Mode.SAVE
    )
    yaml, inplace, foreach = Origin.YAML, Origin.INPLACE, Origin.FOREACH
    assert found == {
        ("mul.Tensor", Mode.BACKWARD, yaml): 2,
        ("mul.Tensor", Mode.FORWARD, yaml): 1,
        ("mul_.Tensor", Mode.FORWARD, inplace): 1,
        ("_foreach_mul.List", Mode.BACKWARD, foreach): 2,
        ("_foreach_mul.List", Mode.FORWARD, foreach): 1,
        ("_foreach_mul_.List", Mode.FORWARD, foreach): 1,
        ("_foreach_mul.Tensor", Mode.BACKWARD, foreach): 2,
        ("_foreach_mul.Tensor", Mode.FORWARD, foreach): 1,
        ("_foreach_mul_.Tensor", Mode.FORWARD, foreach): 1,
    }


def entry_of(text: str, natives: NativeFunctions) -> list[Evaluation]:
    return list(all_of(build_model(SourceFile("d.yaml", text), natives)))


def test_unresolved_entry_evaluates_nothing(bundled_natives: NativeFunctions) -> None:
    unknown = "- name: no_such_operator(Tensor self) -> Tensor\n  self: grad\n"
    assert entry_of(f"{unknown}- 3\n- name: [abs]\n- name: abs(\n  self: grad\n", bundled_natives) == []


def test_what_a_key_names_wrongly_is_left_out(bundled_natives: NativeFunctions) -> None:
    text = "- name: abs(Tensor self) -> Tensor\n  slef: grad\n  self: grad.neg()\n  result: [1]\n"
    assert [each.text for each in entry_of(text, bundled_natives) if each.origin is Origin.YAML] == ["grad.neg()"]


def test_one_whole_evaluation(bundled_natives: NativeFunctions) -> None:
    text = (
        "- name: addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor\n"
        "  mat1: mm_mat1_backward(grad, mat2, mat1.sym_sizes(), alpha)\n"
    )
    backward, saved = (each for each in entry_of(text, bundled_natives) if each.origin is Origin.YAML)
    assert backward.mode is Mode.BACKWARD
    assert backward.text == "mm_mat1_backward(grad, mat2, mat1_sym_sizes, alpha)"
    assert spelled(backward) == {
        "grads": "variable_list&&",
        "needs_input_grad": "std::array<bool,1>",
        "mat1_sym_sizes": "std::vector<c10::SymInt>&",
        "mat2": "Tensor&",
        "alpha": "at::Scalar&",
        "grad": "const Tensor&",
        "any_grad_defined": "bool",
    }
    assert backward.consumer == Consumer(Use.GRADIENT)
    assert (saved.mode, saved.text) == (Mode.SAVE, "mat1.sym_sizes()")
    assert spelled(saved) == {
        "self": "const at::Tensor &",
        "mat1": "const at::Tensor &",
        "mat2": "const at::Tensor &",
        "beta": "const at::Scalar &",
        "alpha": "const at::Scalar &",
        "result": "at::Tensor",
    }
    assert saved.consumer == Consumer(Use.ASSIGNED, type=cpp_type("ArrayRef<SymInt>"))
    written = "mm_mat1_backward(grad, mat2, mat1.sym_sizes(), alpha)"
    assert written[slice(*saved.written_range(3, 5) or ())] == "mat1.sym_sizes()"
    start = backward.text.index("mat1_sym_sizes")
    assert written[slice(*backward.written_range(start, start + 4) or ())] == "mat1.sym_sizes()"
    assert written[slice(*backward.written_range(start + 16, start + 21) or ())] == "alpha"


def test_mask_and_retained_variables_are_declared_where_the_formula_asks_for_them(
    bundled_natives: NativeFunctions,
) -> None:
    text = (
        "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
        '  self, other: "f(grad, grad_input_mask, retain_variables)"\n'
        "- name: div.Tensor(Tensor self, Tensor other) -> Tensor\n"
        "  self, other: f(grad)\n"
    )
    asked, plain = (each for each in entry_of(text, bundled_natives) if each.origin is Origin.YAML)
    assert spelled(asked)["grad_input_mask"] == "std::array<bool, 2>"
    assert spelled(asked)["retain_variables"] == "bool"
    assert {"grad_input_mask", "retain_variables"}.isdisjoint(plain.variables)


PIECE = st.text("ab(", max_size=6)


@given(st.lists(st.tuples(PIECE, PIECE.filter(bool), PIECE), min_size=1, max_size=4), PIECE, st.data())
def test_ranges_of_the_text_are_brought_back_through_its_edits(
    pieces: list[tuple[str, str, str]], tail: str, data: st.DataObject
) -> None:
    """What was not changed is found where it is written, what was changed stands for what it replaces."""
    written, edits = "", []
    for kept, replaced, by in pieces:
        written += kept
        edits.append(Edit(len(written), len(written) + len(replaced), by))
        written += replaced
    written += tail
    text = apply_edits(written, edits)
    nothing: dict[str, Any] = dict.fromkeys(Evaluation.__struct_fields__)
    evaluation = Evaluation(**{**nothing, "edits": tuple(edits)})
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = evaluation.written_range(start, end)
    assert found is not None
    assert 0 <= found[0] <= found[1] <= len(written)
    if not any(edit.start < found[1] and found[0] < edit.end for edit in edits) and start < end:
        assert written[slice(*found)] == text[start:end]
