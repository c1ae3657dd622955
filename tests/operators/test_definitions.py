"""Every reference definition in every interpreter, on the same arguments."""

from __future__ import annotations

import cmath
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import pytest
import torch
from msgspec import json

from derivlint.analysis.scalar_evaluation.domain import INTERPRETER as NUMBERS
from derivlint.analysis.scalar_evaluation.domain import PRIMITIVES as NUMBER_PRIMITIVES
from derivlint.analysis.scalar_evaluation.values import COMPLEX, REAL, UnknownValueError
from derivlint.formula import Call, Member, Name, walk
from derivlint.formula.analysis import FAILURES
from derivlint.formula.vocabulary import words
from derivlint.functional.definitions import INTERPRETER as TENSORS
from derivlint.functional.definitions import PRIMITIVES as TENSOR_PRIMITIVES
from derivlint.functional.definitions import defined_helper
from derivlint.graph.builder import Builder, Item, TensorOptions
from derivlint.graph.built_in_helpers import BUILT_IN
from derivlint.graph.evaluate import evaluate
from derivlint.graph.ir import Graph
from derivlint.graph.lowering import Lowering
from derivlint.graph.operators import GraphOperators
from derivlint.graph.types import TENSOR, GraphError, GraphType, complex_tensor
from derivlint.operators.reference.definitions import (
    FOLDER,
    Definition,
    DefinitionError,
    DefinitionKind,
    Definitions,
    _shipped_trees,
    definitions,
    helper_named,
    parsed_tree,
    read_definitions,
    tree_of,
)
from derivlint.operators.reference.interpretation import InterpretationError, Interpreter
from derivlint.operators.reference.primitives import GRAPHS, PRIMITIVES
from derivlint.operators.reference.primitives import NUMBERS as ON_NUMBERS
from derivlint.operators.reference.primitives import TENSORS as TENSORS_ALONE
from derivlint.operators.shapes.size_values import UNKNOWN, IllegalSizesError, Sizes
from derivlint.operators.shapes.sizes import FAILURES as SIZE_FAILURES
from derivlint.operators.shapes.sizes import INTERPRETER as SIZES
from derivlint.operators.shapes.sizes import derived_sizes, written_sizes
from derivlint.schema import load_index
from tests.operators.definition_inputs import arguments as made
from tests.operators.definition_inputs import declared
from tests.sampling import sample

pytestmark = pytest.mark.filterwarnings(r"ignore:index_reduce\(\) is in beta")

#: Helpers whose arguments belong together in ways that are not made here: systems with a factorization, convolutions,
#: normalizations with their statistics, sparse matrices. PyTorch's own samples run them in tests/emit_python.
NOT_MADE = words("""
    _cdist_backward_backward _convolution_jvp _cudnn_convolution_backward _grouped_mm_mat1_backward
    _grouped_mm_mat2_backward _trilinear_backward batchnorm_double_backward convolution_jvp index_backward
    infinitely_differentiable_native_group_norm_backward
    infinitely_differentiable_native_rms_norm_backward layer_norm_double_backward linalg_lu_solve_LU
    linalg_lu_solve_jvp linalg_solve_jvp linear_double_backward mm_mat1_sparse_backward
    native_group_norm_backward_dispatcher rms_norm_jvp rms_norm_rstd_jvp
    slogdet_backward slogdet_jvp sparse_sampled_addmm_backward
""")
#: The same for tensors of one element, and what of these has halves.
NOT_MADE_OF_ONE_ELEMENT = NOT_MADE | words("glu_double_backward glu_double_backward_grad_output")
#: The same for tensors of several elements.
NOT_MADE_OF_SEVERAL = NOT_MADE | words(
    "group_norm_invstd_jvp group_norm_jvp group_norm_mean_jvp linalg_lstsq_residuals_jvp"
)
#: Helpers of lists of tensors, and of what numbers do not have: dimensions to choose among, an element that is equal.
WITHOUT_NUMBERS = words("""
    split_backward split_with_sizes_backward unbind_backward
""")
#: Helpers that ask for sizes or their number, which the graphs here do not say, or for a pseudo-inverse.
WITHOUT_GRAPHS = words("""
    batch_norm_jvp convolution_backward_jvp_grad_bias linalg_lstsq_backward linalg_lstsq_solution_jvp
    linalg_solve_backward renorm_backward renorm_jvp svd_backward
""")
#: Helpers that run on vectors without channels, or on halves of an odd size, over tensors.
RUN_ON_MORE = words("""
    batch_norm_jvp convolution_backward_jvp_grad_bias glu_double_backward glu_double_backward_grad_output
""")
#: How an interpreter says that it does not have something.
REFUSALS = (GraphError, InterpretationError, UnknownValueError)
#: How often each definition is run.
RUNS = 24
SHAPES = ((2, 3), (3,), (2, 2, 3), (2, 2))
HELPER_NAMES = sorted(
    name for name, each in definitions().items() if each.kind is DefinitionKind.HELPER and declared(name)
)
#: Helpers that run otherwise than others are always among them.
SAMPLED = sample(HELPER_NAMES, 40, always=WITHOUT_NUMBERS | WITHOUT_GRAPHS | RUN_ON_MORE)


def arguments(name: str, shapes: Sequence[tuple[int, ...]], *, is_complex: bool) -> list[list[Any]]:
    """Arguments for a helper, of each of its declarations in turn."""
    found = []
    for seed in range(RUNS):
        random = Random(f"{name} {seed}")
        functions = declared(name)
        dtype = torch.complex128 if is_complex and seed % 2 else torch.float64
        shape = shapes[seed % len(shapes)]
        try:
            found.append(made(name, functions[seed % len(functions)], shape, random, dtype))
        except LookupError:
            continue
    return found


def outcome(function: Any, values: Sequence[Any]) -> Any:
    """What a function gives, None where it refuses."""
    try:
        return function(*values)
    except (*FAILURES, UnknownValueError, GraphError, NotImplementedError, RuntimeError):
        return None


def as_number(value: Any) -> Any:
    """An argument for numbers: of a tensor its only element."""
    if isinstance(value, torch.Tensor):
        return value.item()
    if isinstance(value, dict):
        value = value["dtype"]
    if isinstance(value, torch.dtype):
        return COMPLEX if value.is_complex else REAL
    return tuple(value) if isinstance(value, list) else value


def is_same_number(tensor: Any, number: Any) -> bool:
    if isinstance(tensor, (tuple, list)):
        return len(tensor) == len(number) and all(map(is_same_number, tensor, number))
    if tensor is None or number is None:
        return tensor is number
    if cmath.isnan(tensor.item()):
        # what tensors divide by zero, numbers do not know
        return True
    return cmath.isclose(complex(tensor.item()), complex(number), rel_tol=1e-7, abs_tol=1e-9)


def is_same_tensor(one: Any, other: Any) -> bool:
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(is_same_tensor, one, other))
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and torch.allclose(one, other.to(one.dtype), equal_nan=True)


@pytest.mark.parametrize("name", SAMPLED)
def test_numbers_agree_with_tensors_of_one_element(name: str) -> None:
    tensors = TENSORS.function(name)
    assert tensors is not None
    try:
        numbers = NUMBERS.function(name)
    except InterpretationError:
        assert name in WITHOUT_NUMBERS | NOT_MADE_OF_ONE_ELEMENT
        return
    assert numbers is not None
    ran = compared = 0
    for values in arguments(name, ((1, 1),), is_complex=True):
        expected = outcome(tensors.primitive.function, values)
        found = outcome(numbers.primitive.function, [as_number(value) for value in values])
        ran += expected is not None
        if expected is not None and found is not None:
            assert is_same_number(expected, found), (values, expected, found)
            compared += 1
    assert (ran > 0) == (name not in NOT_MADE_OF_ONE_ELEMENT), f"{name} runs {ran} times"
    assert not ran or (compared > 0) == (name not in WITHOUT_NUMBERS), f"{name} is compared {compared} times"


@cache
def operators() -> GraphOperators:
    return GraphOperators(load_index())


def in_graph(definition: Definition, values: Sequence[Any]) -> Any:
    """What a definition gives as a graph that is run."""
    graph = Graph()
    builder = Builder(operators(), graph)
    items: list[Item] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            items.append(graph.add_input(complex_tensor() if value.is_complex() else TENSOR, ""))
        elif isinstance(value, torch.dtype):
            items.append(builder.dtype(graph.inputs[0]))
        elif isinstance(value, dict):
            items.append(TensorOptions(graph.inputs[0]))
        elif isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
            items.append([graph.add_input(TENSOR, "") for _ in value])
        else:
            items.append(None if isinstance(value, torch.layout) else value)
    made = Lowering(builder).helper(definition, items)
    parts = made if isinstance(made, list) else [made]
    graph.outputs.extend(builder.value(part) for part in parts)
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    found = evaluate(graph, [each for each in flat if isinstance(each, torch.Tensor)])
    return found if isinstance(made, list) else found[0]


@pytest.mark.parametrize("name", SAMPLED)
def test_graphs_agree_with_tensors(name: str) -> None:
    tensors, definition = TENSORS.function(name), helper_named(name)
    assert tensors is not None
    assert definition is not None
    ran = compared = 0
    for values in arguments(name, SHAPES, is_complex=False):
        expected = outcome(tensors.primitive.function, values)
        found = outcome(lambda *given: in_graph(definition, given), values)
        ran += expected is not None
        if expected is not None and found is not None:
            assert is_same_tensor(expected, found), (values, expected, found)
            compared += 1
    assert (ran > 0) == (name not in NOT_MADE_OF_SEVERAL), f"{name} runs {ran} times"
    assert not ran or (compared > 0) == (name not in WITHOUT_GRAPHS), f"{name} is compared {compared} times"


def as_sizes(value: Any) -> Any:
    """An argument for sizes, or a result: of a tensor how large it is."""
    if isinstance(value, torch.Tensor):
        return Sizes(value.shape)
    if isinstance(value, (list, tuple)):
        return tuple(map(as_sizes, value))
    return value


def is_same_size(found: Any, expected: Any) -> bool:
    """Whether sizes are right as far as they are known; a number stands for a tensor that is not differentiable."""
    if found is UNKNOWN or isinstance(found, int):
        return True
    if type(expected) is tuple:
        return type(found) is tuple and all(map(is_same_size, found, expected))
    return bool(found == expected)


@pytest.mark.parametrize("name", SAMPLED)
def test_sizes_agree_with_tensors(name: str) -> None:
    tensors, sizes = TENSORS.function(name), derived_sizes(name)
    assert tensors is not None
    assert sizes is not None
    ran = compared = 0
    for values in arguments(name, SHAPES, is_complex=False):
        given = dict(zip(sizes.parameters, map(as_sizes, values), strict=False))
        expected = outcome(tensors.primitive.function, values)
        ran += expected is not None
        if expected is None:
            continue
        try:
            found = sizes.run(given)
        except IllegalSizesError:
            assert name in RUN_ON_MORE, given
            continue
        except SIZE_FAILURES:
            continue
        assert is_same_size(found, as_sizes(expected)), (given, as_sizes(expected), found)
        compared += 1
    assert not ran or compared, f"{name} is not compared"


def test_everything_that_is_called_exists() -> None:
    """All that PyTorch has runs over tensors; for operators that is PyTorch's own."""
    for name, definition in definitions().items():
        if definition.kind in (DefinitionKind.HELPER, DefinitionKind.PART):
            assert TENSORS.function(name) is not None, name


def test_every_helper_is_declared_or_is_one_of_another_release() -> None:
    helpers = {name for name, each in definitions().items() if each.kind is DefinitionKind.HELPER}
    undeclared = {name for name in helpers if not declared(name)}
    named = {each.name.base for each in load_index().functions}
    assert undeclared - named <= {"mse_loss_double_backward_grad_output"}


@pytest.mark.parametrize("name", HELPER_NAMES)
def test_a_helper_has_its_parameters_in_the_order_of_the_declaration(name: str) -> None:
    """They may have other names, but not those of each other."""
    parameters = definitions()[name].parameters

    def fits(names: list[str]) -> bool:
        return len(parameters) <= len(names) and all(
            own == theirs or own not in names for own, theirs in zip(parameters, names, strict=False)
        )

    assert any(fits([each.name for each in function.parameters]) for function in declared(name))


def in_interpreter(interpreter: str, definition: Definition, x: torch.Tensor) -> Any:
    """What an expression gives."""
    if interpreter == GRAPHS:
        graph = Graph()
        builder = Builder(operators(), graph)
        known = GraphType("Tensor", shape=tuple(x.shape))
        graph.outputs.append(builder.value(Lowering(builder).expanded(definition, [graph.add_input(known, "x")])))
        return evaluate(graph, [x])[0]
    domain = (NUMBERS if interpreter == ON_NUMBERS else TENSORS).domain
    compiled = Interpreter(domain).compile(definition)
    return compiled.call({"x": x.item() if interpreter == ON_NUMBERS else x})


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_a_primitive_gives_the_same_in_every_interpreter_that_has_it(name: str) -> None:
    """Numbers have it for one element."""
    fact = PRIMITIVES[name]
    definition = Definition(DefinitionKind.PART, name, ("x",), {}, (("", fact.example),))
    matrix = torch.tensor([[0.5, 1.5], [2.5, -0.5], [0.25, 3.0]], dtype=torch.float64)
    assert f"{name}(" in fact.example
    for x, others in ((matrix, (GRAPHS,)), (matrix[:1, :1], (ON_NUMBERS,))):
        for interpreter in others:
            if interpreter not in fact.interpreters:
                with pytest.raises(REFUSALS):
                    in_interpreter(interpreter, definition, x)
                continue
            expected = in_interpreter(TENSORS_ALONE, definition, x)
            found = in_interpreter(interpreter, definition, x)
            assert (is_same_number if interpreter == ON_NUMBERS else is_same_tensor)(expected, found)


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_a_primitive_has_sizes(name: str) -> None:
    x = torch.rand(3, 2, dtype=torch.float64)
    definition = Definition(DefinitionKind.PART, name, ("x",), {}, (("", PRIMITIVES[name].example),))
    expected = in_interpreter(TENSORS_ALONE, definition, x)
    assert is_same_size(SIZES.compile(definition).call({"x": Sizes(x.shape)}), as_sizes(expected))


def test_interpreters_have_no_other_primitives() -> None:
    """In addition, graphs have helpers that take lists, and operators in their own way."""
    helpers = {name for name in BUILT_IN if declared(name) or declared(name.removesuffix("_symint"))}
    others = words("ones scalar_tensor square to_args_scalartypes to_args_sizes to_args_sizes_symint zeros_symint")
    assert NUMBER_PRIMITIVES.keys() | TENSOR_PRIMITIVES.keys() <= PRIMITIVES.keys()
    assert BUILT_IN.keys() - helpers - others <= PRIMITIVES.keys()


def called(definition: Definition) -> set[str]:
    """The functions and methods that a definition calls."""
    found = set()
    for _, tree in definition.trees:
        for node in walk(tree):
            if isinstance(node, Call):
                callee = node.callee
                if isinstance(callee, Member):
                    found.add(callee.name)
                elif isinstance(callee, Name):
                    found.add(callee.parts[-1].identifier)
    return found


def test_every_part_is_used() -> None:
    used = {name for each in definitions().values() for name in called(each)}
    assert {name for name, each in definitions().items() if each.kind is DefinitionKind.PART} <= used


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(x)\n    = x\n", '"f(x)" does not begin with "helper", "operator", "composite" or "part"'),
        ("helper f(x)\n    y = x\n", '"helper f(x)" needs one value, in its last line'),
        ("helper f(x)\n    = x\n    = x\n", '"helper f(x)" needs one value, in its last line'),
        ("helper f(x)\n", '"helper f(x)" needs one value, in its last line'),
        ("helper f(x)\n    x * 2\n", '"x * 2" is not a part of the definition "helper f(x)"'),
        ("helper f(x = 1, y)\n    = x\n", '"helper f(x = 1, y)": "y" has no default and comes after one that has'),
    ],
)
def test_text_that_is_no_definition_is_refused(text: str, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        list(read_definitions(text))
    assert str(caught.value) == message


def test_definitions_by_name_are_those_of_the_files() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))]
    assert dict(definitions()) == {each.name: each for text in texts for each in read_definitions(text)}
    with pytest.raises(DefinitionError, match='"f" is defined twice'):
        Definitions(["part f(x)\n    = x\n", "part g, f(x)\n    = x\n"])


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_the_gradient_of_distances_is_differentiated(p: float) -> None:
    """``_cdist_backward`` is a kernel: autograd follows what it computes, in which distances are an input."""
    generator = torch.Generator().manual_seed(14)
    x1, x2, grad_output, grad = (
        torch.rand(shape, generator=generator, dtype=torch.float64)
        for shape in ((2, 3, 4), (2, 5, 4), (2, 3, 5), (2, 3, 4))
    )
    inputs = [grad_output, x1, x2, torch.cdist(x1, x2, p=p)]
    followed = [tensor.clone().requires_grad_() for tensor in inputs]
    difference, distance = followed[1].unsqueeze(-2) - followed[2].unsqueeze(-3), followed[3].unsqueeze(-1)
    if p in (0, 1):
        slope = difference.sgn() * p
    elif p == float("inf"):
        slope = difference.sgn() * (difference.abs() == distance)
    else:
        slope = difference * difference.abs().pow(p - 2) * distance.pow(1 - p)
    result = (followed[0].unsqueeze(-1) * slope).sum(-2)
    torch.testing.assert_close(result, torch.ops.aten._cdist_backward(grad_output, x1, x2, p, inputs[3]))
    expected = torch.autograd.grad(result, followed, grad, materialize_grads=True, allow_unused=True)
    found = defined_helper("_cdist_backward_backward")(grad, *inputs[:3], p, inputs[3], [True] * 4)
    torch.testing.assert_close(found, expected)


def test_trees_that_are_shipped_are_those_that_are_parsed() -> None:
    every = [*definitions().values(), *written_sizes().values()]
    formulas = {formula for each in every for formula in each.every_formula}
    assert len(formulas) > 800
    assert _shipped_trees()[1].keys() == formulas
    for formula in formulas:
        assert json.encode(tree_of(formula)) == json.encode(parsed_tree(formula))


def test_lines_are_no_longer_than_those_of_code() -> None:
    lines = [line for path in FOLDER.glob("*.txt") for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if len(line) > 120] == []


def test_a_definition_has_names_parts_and_defaults() -> None:
    text = "# what it is\nhelper f, g(x,\n        y = 2)\n    z = x *\n        y\n    # why\n    = z + y\n"
    first, second = read_definitions(text)
    assert (first.name, second.name) == ("f", "g")
    assert first.parameters == ("x", "y")
    assert first.defaults == {"y": "2"}
    assert first.formulas == (("z", "x * y"), ("", "z + y"))
    assert first.required == 1
