"""What ``derivlint derive`` takes: expressions, and graphs as TorchScript prints them."""

from __future__ import annotations

from random import Random

from fuzz.generators.text import chance, grown, mutated

UNARY = ("sin", "cos", "exp", "sigmoid", "neg", "relu", "tanh", "log", "t", "abs", "conj")
BINARY = ("mul", "add", "sub", "div", "matmul", "pow", "atan2", "maximum", "mm")
NAMES = ("a", "b", "c", "x")
PIECES = (
    *"()[],;=%:.{}->#\"' \n\0", "graph(", "return (", "aten::", "prim::", "Tensor", "float", "int[]", "%x.1 : ",
    "prim::Constant[value=1]()", "prim::If(%a)", "block0():", "-> ()", "aten::append", "None", "True", "inf", "1e400",
    "0x1", "Optional[Tensor]", "Float(2, 3, strides=[3, 1])", "# file.py:1:2", ", scope: __module.0",
    "prim::ListConstruct", "prim::TupleUnpack", "prim::Loop", "h = ", "; ",
)  # fmt: skip


def expression(rng: Random, depth: int = 3) -> str:
    """An expression of operators."""
    if depth <= 0 or chance(rng, 0.2):
        return rng.choice((*NAMES, *NAMES, "2", "0.5", "[0]", "True", "None"))
    kind = rng.randrange(8)
    if kind < 3:
        return f"{rng.choice(UNARY)}({expression(rng, depth - 1)})"
    if kind < 6:
        return f"{rng.choice(BINARY)}({expression(rng, depth - 1)}, {expression(rng, depth - 1)})"
    if kind == 6:
        dims, keepdim = rng.choice(("0", "1", "-1", "0, 1", "")), rng.choice(("True", "False"))
        return f"sum({expression(rng, depth - 1)}, [{dims}], {keepdim})"
    name = rng.choice(("cat", "where", "clamp", "addmm", "f", "index", "split"))
    return f"{name}({expression(rng, depth - 1)}, {expression(rng, depth - 1)}, 1)"


def program(rng: Random) -> str:
    """Definitions and an expression."""
    text = "".join(f"h{number} = {expression(rng)}; " for number in range(rng.choice((0, 0, 1, 2))))
    return text + expression(rng)


def graph(rng: Random) -> str:
    """A graph in TorchScript's textual form."""
    inputs = NAMES[: rng.randint(1, 3)]
    lines = [f"graph({', '.join(f'%{name} : {_type(rng)}' for name in inputs)}):"]
    values = [f"%{name}" for name in inputs]
    for number in range(rng.choice((1, 2, 4))):
        name = f"%{number}" if chance(rng, 0.7) else f"%y.{number}"
        kind = rng.randrange(10)
        if kind < 2:
            value = rng.choice(("1", "2.5", "-1", '"x"', "annotate(List[int], [])", "True", "<Tensor>", "{0}", "inf"))
            type_ = rng.choice(("int", "float", "str", "NoneType", "Tensor"))
            lines.append(f"  {name} : {type_} = prim::Constant[value={value}]()")
        elif kind < 5:
            lines.append(f"  {name} : Tensor = aten::{rng.choice(UNARY)}({rng.choice(values)}) # x.py:1:2")
        elif kind < 8:
            lines.append(f"  {name} : Tensor = aten::{rng.choice(BINARY)}({rng.choice(values)}, {rng.choice(values)})")
        elif kind == 8:
            lines.append(
                f"  {name} : Tensor[] = prim::ListConstruct({', '.join(rng.choices(values, k=rng.randint(0, 3)))})"
            )
        else:
            lines += [f"  {name} : Tensor = prim::If({rng.choice(values)})", "    block0():", f"      -> ({values[0]})"]
            lines += [
                "    block1():",
                f"      %z.{number} : Tensor = aten::sin({values[0]})",
                f"      -> (%z.{number})",
            ]
        values.append(name)
    return "\n".join([*lines, f"  return ({', '.join(values[-1:])})"]) + "\n"


def _type(rng: Random) -> str:
    return rng.choice(
        (
            "Tensor",
            "Tensor",
            "Float(2, 3)",
            "int",
            "float",
            "Tensor[]",
            "Optional[Tensor]",
            "bool",
            "(Tensor, int)",
            "x.Y",
        )
    )


def any_graph(rng: Random) -> str:
    """An expression or a graph, changed or not."""
    text = program(rng) if chance(rng, 0.5) else graph(rng)
    kind = rng.randrange(20)
    if kind < 9:
        text = mutated(rng, text, PIECES)
    elif kind == 9:
        text = grown(rng, rng.choice(("sin(", "sum(", "h = a; ", "[", "  %0 : Tensor = aten::sin(%a)\n", "a, "))) + text
    return text


def graph_bytes(rng: Random) -> bytes:
    """A graph alone."""
    return any_graph(rng).encode("utf-8", "surrogatepass")
