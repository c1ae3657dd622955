"""Each transformation, by the graph before and the graph after."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.differentiation.gradient import Gradient
from derivlint.graph.differentiation.reverse import differentiate
from derivlint.graph.ir import Graph
from derivlint.graph.passes import (
    drop_sum_to_size,
    eliminate_common_subexpressions,
    eliminate_dead_code,
    inline_linear_blocks,
    move_constants,
    simplify,
)
from derivlint.graph.syntax.expression import read_expression
from derivlint.graph.syntax.printer import print_graph
from derivlint.graph.syntax.reader import read_graph
from derivlint.graph.types import UndifferentiableError

HEAD = "graph(%x : Tensor, %y : Tensor):\n"


def after(change: Callable[[Graph], None], text: str) -> str:
    graph = read_graph(HEAD + text)
    change(graph)
    return print_graph(graph).partition(":\n")[2]


def test_dead_code_goes() -> None:
    """What no output needs is removed, outputs of linear blocks among it."""
    text = """
  %a : Tensor = aten::neg(%x)
  %b : Tensor = aten::neg(%a)
  %c : Tensor, %d : Tensor = prim::GradOf[name="f"](%y)
    block0():
      %e : Tensor = aten::sin(%y)
      %f : Tensor = aten::cos(%a)
      -> (%e, %f)
  return (%c)
"""
    assert after(eliminate_dead_code, text) == (
        """\
  %c : Tensor = prim::GradOf[name="f"](%y)
    block0():
      %e : Tensor = aten::sin(%y)
      -> (%e)
  return (%c)
"""
    )


def test_common_subexpressions_are_computed_once() -> None:
    """Equal nodes become one, inside of blocks too; what is random stays, and blocks do not share what is theirs."""
    text = """
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::mul(%x, %y)
  %c : Tensor = aten::mul(%y, %x)
  %r : Tensor = aten::rand_like(%x)
  %s : Tensor = aten::rand_like(%x)
  %g : Tensor = prim::GradOf[name="f"](%b)
    block0():
      %h : Tensor = aten::mul(%x, %y)
      %i : Tensor = aten::sin(%h)
      -> (%i)
  %j : Tensor = aten::sin(%a)
  return (%b, %c, %r, %s, %g, %j)
"""
    assert after(eliminate_common_subexpressions, text) == (
        """\
  %a : Tensor = aten::mul(%x, %y)
  %c : Tensor = aten::mul(%y, %x)
  %r : Tensor = aten::rand_like(%x)
  %s : Tensor = aten::rand_like(%x)
  %g : Tensor = prim::GradOf[name="f"](%a)
    block0():
      %i : Tensor = aten::sin(%a)
      -> (%i)
  %j : Tensor = aten::sin(%a)
  return (%a, %c, %r, %s, %g, %j)
"""
    )


def test_constants_move_to_the_front_and_are_there_once() -> None:
    """Constants of blocks are pooled; 1, 1.0 and True are three constants."""
    text = """
  %a : int = prim::Constant[value=1]()
  %g : Tensor, %h : Tensor = prim::GradOf[name="f"](%y)
    block0():
      %b : int = prim::Constant[value=1]()
      %c : float = prim::Constant[value=1.]()
      %t : bool = prim::Constant[value=1]()
      %d : Tensor = aten::add(%x, %y, %b)
      %e : Tensor = aten::mul(%x, %c)
      -> (%d, %e)
  %f : Tensor = aten::add(%g, %h, %a)
  return (%f)
"""
    assert after(move_constants, text) == (
        """\
  %a : int = prim::Constant[value=1]()
  %c : float = prim::Constant[value=1.]()
  %t : bool = prim::Constant[value=1]()
  %g : Tensor, %h : Tensor = prim::GradOf[name="f"](%y)
    block0():
      %d : Tensor = aten::add(%x, %y, %a)
      %e : Tensor = aten::mul(%x, %c)
      -> (%d, %e)
  %f : Tensor = aten::add(%g, %h, %a)
  return (%f)
"""
    )


def test_linear_blocks_are_inlined() -> None:
    """The nodes take the place of the block, nested blocks too."""
    text = """
  %g : Tensor = prim::GradOf[name="f"](%y)
    block0():
      %h : Tensor = prim::GradOf[name="g"](%y)
        block0():
          %a : Tensor = aten::sin(%y)
          -> (%a)
      %b : Tensor = aten::cos(%h)
      -> (%b)
  return (%g)
"""
    assert after(inline_linear_blocks, text) == (
        "  %a : Tensor = aten::sin(%y)\n  %b : Tensor = aten::cos(%a)\n  return (%b)\n"
    )


def test_known_zeros_go() -> None:
    """Sums with a zero are the other side; a linear block of zeros is zero."""
    text = """
  %z : Tensor = prim::AutogradZero()
  %a : Tensor = prim::AutogradAdd(%z, %x)
  %b : Tensor = prim::AutogradAdd(%a, %z)
  %g : Tensor = prim::GradOf[name="f"](%z)
    block0():
      %s : Tensor = aten::sin(%z)
      -> (%s)
  return (%b, %g)
"""
    assert after(simplify, text) == "  %z : Tensor = prim::AutogradZero()\n  return (%x, %z)\n"


def simplify_and_sweep(graph: Graph) -> None:
    simplify(graph)
    eliminate_dead_code(graph)


def test_what_was_just_put_together_is_not_taken_apart() -> None:
    """Unpacking a tuple or a list that the graph makes gives its items."""
    text = """
  %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)
  %a : Tensor, %b : Tensor = prim::TupleUnpack(%t)
  %l : Tensor[] = prim::ListConstruct(%b, %a)
  %c : Tensor, %d : Tensor = prim::ListUnpack(%l)
  return (%c, %d)
"""
    assert after(simplify_and_sweep, text) == "  return (%y, %x)\n"


def test_sums_after_broadcasts_can_be_left_out() -> None:
    """Where all operands have one shape, ``_grad_sum_to_size`` changes nothing."""
    text = "  %s : int[] = aten::size(%x)\n  %g : Tensor = aten::_grad_sum_to_size(%y, %s)\n  return (%g)\n"
    assert after(drop_sum_to_size, text) == "  %s : int[] = aten::size(%x)\n  return (%y)\n"


def derived(text: str, entries: Entries, wrt: list[str] | None = None) -> Gradient:
    return differentiate(read_expression(text, entries.operators), entries, wrt)


def fields(gradient: Gradient) -> tuple[int, list[int], list[int], list[int], list[int]]:
    return (
        gradient.f_real_outputs,
        gradient.df_input_vjps,
        gradient.df_input_captured_inputs,
        gradient.df_input_captured_outputs,
        gradient.df_output_vjps,
    )


def test_captures_of_inputs_outputs_and_temporaries(entries: Entries) -> None:
    """Each is captured once, the least costly way; a temporary gets a gradient of its own."""
    gradient = derived("sigmoid(mul(tanh(a), b))", entries, ["a", "b"])
    # the output of tanh is the only temporary; b is an input, the result of sigmoid an output
    assert fields(gradient) == (1, [0, 1], [1], [1, 0], [0, 1])
    assert [node.kind for node in gradient.f.nodes] == ["aten::tanh", "aten::mul", "aten::sigmoid"]
    assert gradient.f.outputs == [gradient.f.nodes[2].output, gradient.f.nodes[0].output]


def test_only_sizes_are_captured_where_only_sizes_are_needed(entries: Entries) -> None:
    """The gradient of a sum needs the shape: the graph gives the sizes, and the tensor is not kept."""
    lone = derived("sum(a)", entries)
    assert [str(value.type) for value in lone.f.outputs] == ["Tensor", "int[]"]
    assert fields(lone) == (1, [0], [], [1], [0])
    gradient = derived("sum(exp2(a))", entries)
    # the result of exp2 is kept for its own derivative; it tells its sizes there
    assert [str(value.type) for value in gradient.f.outputs] == ["Tensor", "Tensor"]


def test_the_derivative_is_a_graph_of_its_own(entries: Entries) -> None:
    """Nothing in it refers to the graph that it was made from; constants are its own."""
    gradient = derived("mul(pow(a, 3), add(b, 1.5))", entries)
    outside = {value for node in gradient.f.walk() for value in node.outputs} | set(gradient.f.inputs)
    used = {value for node in gradient.df.walk() for value in node.inputs} | set(gradient.df.outputs)
    assert not outside & used
    assert not any(str(value.type) in ("int", "float") for value in gradient.df.inputs)


def test_gradients_of_outputs_that_have_none_are_left_out(entries: Entries) -> None:
    """Comparisons, and whatever does not depend on the variables, take no gradient."""
    gradient = derived("gt(a, b), mul(a, 2), sin(b)", entries, ["a"])
    assert gradient.f_real_outputs == 3
    assert gradient.df_input_vjps == [1]
    assert gradient.df_output_vjps == [0]


def test_variables_without_a_gradient_are_no_outputs(entries: Entries) -> None:
    """A variable that reaches the result through a comparison only has no gradient."""
    gradient = derived("where(gt(a, 0), b, c)", entries, ["a", "b", "c"])
    assert gradient.df_output_vjps == [1, 2]


def test_every_node_knows_its_formula(entries: Entries) -> None:
    """The nodes of a derivative carry entry, key, formula and line."""
    gradient = derived("tanh(a)", entries)
    (block,) = gradient.df.nodes[0].blocks
    origin = block.nodes[0].origin
    assert origin is not None
    assert (origin.operator, origin.key, origin.formula) == ("tanh", "self", "tanh_backward(grad, result)")
    assert entries.model.source.line(origin.line) == "  self: tanh_backward(grad, result)"


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("floor_divide(a, b)", ('"floor_divide" cannot be differentiated: it has no derivative',)),
        (
            "mul(linalg_matrix_exp(a), igamma(a, b))",
            (
                '"igamma" cannot be differentiated: the derivative is not implemented',
                '"linalg_matrix_exp" cannot be differentiated: the helper "linalg_matrix_exp_differential" is opaque',
            ),
        ),
        ("sin_(a)", ('"sin_" cannot be differentiated: it changes its operand in place',)),
    ],
)
def test_operators_that_cannot_be_differentiated_are_named(
    text: str, reasons: tuple[str, ...], entries: Entries
) -> None:
    """All of them, each with the reason."""
    with pytest.raises(UndifferentiableError) as caught:
        derived(text, entries)
    assert caught.value.reasons == reasons


def test_control_flow_is_refused(entries: Entries) -> None:
    """A conditional on the way to the result is named."""
    text = """graph(%x : Tensor, %c : bool):
  %y : Tensor = prim::If(%c, %x)
    block0():
      -> (%x)
    block1():
      -> (%x)
  return (%y)
"""
    with pytest.raises(UndifferentiableError, match="control flow has no derivative here"):
        differentiate(read_graph(text), entries)


def test_the_given_graph_stays_as_it_is(entries: Entries) -> None:
    """Differentiation works on a copy."""
    graph = read_expression("softmax(mul(a, b), -1)", entries.operators)
    before = print_graph(graph)
    differentiate(graph, entries)
    assert print_graph(graph) == before
