"""Graphs of TorchScript have the gradients of PyTorch, or are refused by name: never another gradient."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
import torch

from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.differentiation.forward import jvp
from derivlint.graph.differentiation.reverse import differentiate
from derivlint.graph.evaluate import evaluate
from derivlint.graph.syntax.reader import read_graph
from derivlint.graph.types import GraphError, UndifferentiableError
from tests.cli.conftest import Run

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Converting a tensor:UserWarning"),
]

#: Bodies of functions of two tensors that are to be refused, and the node that has to be named.
REFUSED = {
    "if": ("if bool(y.sum() > 0):\n    z = x * y\nelse:\n    z = x.sin()\nreturn z", "prim::If"),
    "if that returns outer values": ("z = x.sin()\nif bool(y.sum() > 0):\n    z = x\nreturn z", "prim::If"),
    "nested if": (
        "z = x\nif bool(y.sum() > 0):\n    if bool(y.sum() > 1):\n        z = x * y\nreturn z * y",
        "prim::If",
    ),
    "for": ("z = x\nfor i in range(3):\n    z = z * y\nreturn z", "prim::Loop"),
    "while": ("z = x\nwhile bool(z.sum() < 9):\n    z = z + y\nreturn z", "prim::Loop"),
    "assert": ("assert bool(x.sum() > 0)\nreturn x * y", "prim::"),
    "append": ("l = [x]\nl.append(x * y)\nreturn torch.cat(l)", "append"),
    "append unused": ("l = [x]\nl.append(x * y)\nreturn l[0] * y", "append"),
    "extend": ("l = [x]\nl.extend([y, x])\nreturn torch.stack(l)", "extend"),
    "insert": ("l = [x]\nl.insert(0, y * x)\nreturn torch.stack(l)", "insert"),
    "set item": ("l = [x, y]\nl[0] = x.sin()\nreturn torch.stack(l)", "_set_item"),
    "pop": ("l = [x, x * y]\nz = l.pop()\nreturn z + l[0]", "pop"),
    "reverse": ("l = [x, x * y]\nl.reverse()\nreturn torch.cat(l)", "reverse"),
    "clear": ("l = [x, x * y]\nl.clear()\nl.append(y * x)\nreturn torch.cat(l)", "clear"),
    "del": ("l = [x, x * y]\ndel l[0]\nreturn torch.cat(l)", "Delete"),
    "list of numbers": ("s = [2]\ns.append(3)\nreturn x.expand(s) * y", "append"),
    "item of a list": ("l = [x, x * y]\nreturn l[1] * y", "__getitem__"),
    "list of lists": ("l = [[x], [x * y]]\nreturn l[1][0] * y", "prim::ListConstruct"),
    "dict": ("d = {'a': x * y}\nreturn d['a'] * y", "prim::DictConstruct"),
    "dict set": ("d = {'a': x}\nd['a'] = x * y\nreturn d['a']", "prim::DictConstruct"),
    "tuple of lists of tuples": ("l = [(x, y)]\nreturn l[0][0] * y", "prim::"),
    "add_": ("z = x * y\nz.add_(x)\nreturn z", "add_"),
    "augmented": ("z = x * y\nz += x\nreturn z", "add_"),
    "mul_ of a view": ("z = x * y\nv = z.view([6])\nv.mul_(3.0)\nreturn z", "mul_"),
    "item assignment": ("z = x * y\nz[0] = y[1]\nreturn z", "copy_"),
    "slice assignment": ("z = x * y\nz[:, 1:] = 2.0\nreturn z", "_"),
    "index assignment": ("z = x * y\nz[y > 0.5] = 0.0\nreturn z", "index_put_"),
    "zero_": ("z = x * y\nz.zero_()\nreturn z + x", "zero_"),
    "in-place of no operand": ("z = torch.zeros([2, 3], dtype=torch.double)\nz.add_(x)\nreturn z * y", "add_"),
    "copy_": ("z = torch.empty([2, 3], dtype=torch.double)\nz.copy_(x * y)\nreturn z", "copy_"),
    "fill_ unused": ("y.fill_(2.0)\nreturn x * y", "fill_"),
    "relu_": ("z = x * y\ntorch.relu_(z)\nreturn z", "relu_"),
    "detach_": ("z = x * y\nz.detach_()\nreturn z * x", "detach_"),
    "requires_grad_": ("z = y.clone()\nz.requires_grad_(False)\nreturn z * x", "requires_grad_"),
    "out": ("z = torch.empty([2, 3], dtype=torch.double)\ntorch.mul(x, y, out=z)\nreturn z * x", "mul"),
    "out of no operand": ("torch.sin(y, out=y)\nreturn x * y", "sin"),
    "fork": ("f = torch.jit.fork(helper, x)\nreturn torch.jit.wait(f) * y", "prim::fork"),
    "call of Python": ("return ignored(x) * y", "^ignored"),
    "no_grad": ("with torch.no_grad():\n    z = x * y\nreturn z * x", "prim::"),
    "optional": (
        "z: Optional[torch.Tensor] = None\nif bool(y.sum() > 9):\n    z = x\nif z is None:\n    z = y\nreturn z * x",
        "prim::",
    ),
    "print": ("print(x)\nreturn x * y", "prim::Print"),
    "sum to a wanted type": ("return x.to(y.dtype if y.dim() > 3 else torch.long).to(torch.double) * y", "prim::If"),
    "uniform_": ("z = x * y\nz.uniform_()\nreturn z * x", "uniform_"),
    "set_": ("z = x * y\nz.set_(y)\nreturn z * x", "set_"),
    "chunk": ("a, b, c = torch.chunk(x, 3, 1)\nreturn a * b * c", ""),
}
#: Those that have the right gradient; some may be refused one day, none may be wrong.
RIGHT = {
    "plain": "return (x * y).sin()", "shared": "z = x * y\nreturn z * z + z", "detach": "return x.detach() * x * y",
    "data of numbers": "return x * float(y.sum()) + x.size(0)", "item": "return x * x.sum().item()",
    "integers": "return x.to(torch.long).to(torch.double) * y + x",
    "booleans": "return (x > 0.5).to(torch.double) * x * y",
    "bool of a tensor": "return x.to(torch.bool).to(torch.double) * x",
    "where": "return torch.where(x > y, x, y * x)", "argmax": "return x * x.argmax()",
    "stack": "return torch.stack([x, y * x]).sum(0)", "cat": "return torch.cat([x, y * x], 1)",
    "unbind": "a, b = torch.unbind(x * y)\nreturn a * b",
    "split": "a, b, c = torch.split(x, [1, 1, 1], 1)\nreturn a * c + y", "view": "return (x * y).view([6])[1:4]",
    "broadcast": "return x * y.sum(0) + y.mean()", "tuple": "z = (x * y, x.sin())\nreturn z[0] * z[1]",
    "max": "return x.max(dim=1)[0] * y.sum()", "sort": "return x.sort(dim=1)[0] * y",
    "topk": "return x.topk(2, 1)[0].sum() * y", "cumsum": "return x.cumsum(0) * y",
    "clamp": "return x.clamp(0.3, 0.6) * y", "relu": "return torch.relu(x - 0.5) * y",
    "softmax": "return torch.softmax(x, 1) * y", "log_softmax": "return torch.log_softmax(x * y, 0)",
    "matmul": "return torch.mm(x, y.t())", "sigmoid": "return torch.sigmoid(x) * y.tanh()",
    "pow": "return x ** 2 + y ** 0.5 + 2.0 ** x", "div": "return x / y - 1.0 / x",
    "mean": "return (x - x.mean()) * y", "std": "return x / x.std() * y",
    "gather": "return x.gather(1, x.argmax(1, True)) * y",
    "index_select": "return x.index_select(0, y.argmax(1).clamp(0, 1)) * y",
    "index": "return x[y.argmax(1).clamp(0, 1)] * y", "mask": "return x[y > 0.5].sum() * y",
    "masked_fill": "return x.masked_fill(y > 0.5, 0.0) * y", "clone": "return x.clone() * y.contiguous()",
    "zeros": "return torch.zeros_like(x) + x * y + torch.ones([3], dtype=torch.double)",
    "floor": "return x.floor() * y + x.round()", "sign": "return x.sign() * y", "norm": "return x.norm() * y",
    "expand": "return x.sum().expand([2, 3]) * y", "repeat": "return x.repeat([2, 1]) * y.repeat([2, 1])",
    "flip": "return x.flip([0]) * y", "permute": "return x.permute([1, 0]) * y.t()",
    "select": "return x.select(1, 0) * y[:, 1]", "squeeze": "return x.unsqueeze(0).squeeze(0) * y",
    "type_as": "return x.type_as(y) * y", "abs": "return (x - 0.5).abs() * y", "lerp": "return torch.lerp(x, y, 0.3)",
    "addcmul": "return torch.addcmul(x, x, y, value=0.5)", "einsum": "return torch.einsum('ij,ij->i', [x, y])",
    "prod": "return x.prod() * y", "logsumexp": "return x.logsumexp([1], True) * y",
    "var": "return x.var(dim=1, keepdim=True) * y", "layer_norm": "return torch.layer_norm(x, [3]) * y",
    "dropout": "return torch.dropout(x, 0.0, False) * y", "numbers": "n = x.size(1) * 2 + 1\nreturn x * n / y.dim()",
}  # fmt: skip
PROLOGUE = """\
import torch
from typing import Optional

def helper(a: torch.Tensor) -> torch.Tensor:
    return a.sin()

@torch.jit.ignore
def ignored(a: torch.Tensor) -> torch.Tensor:
    return a.sin()

def function(x: torch.Tensor, y: torch.Tensor):
"""


def graph_text(body: str, tmp_path: Any, name: str = "module") -> tuple[str, Any]:
    """The graph of a function of TorchScript, and the function."""
    import importlib.util

    path = tmp_path / f"{name}.py"
    path.write_text(PROLOGUE + "".join(f"    {line}\n" for line in body.splitlines()))
    spec = importlib.util.spec_from_file_location(f"scripted_{name}_{abs(hash(body))}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scripted: Any = torch.jit.script(module.function)
    # where a function of this file is called, its graph is called
    return re.sub(
        r" -> .*| # .*", lambda found: "" if found[0].startswith(" #") else found[0], str(scripted.graph)
    ), module.function


def inputs() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [(torch.rand(2, 3, dtype=torch.double, generator=generator) * 0.6 + 0.2) for _ in range(2)]


def wanted(function: Any) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Random vector, and PyTorch's gradients of its product with the result; zero where there are none."""
    given = [item.clone().requires_grad_() for item in inputs()]
    result = function(*[item.clone() for item in given])
    vector = torch.rand(result.shape, dtype=torch.double, generator=torch.Generator().manual_seed(7))
    if not result.requires_grad:
        return vector, [torch.zeros_like(item) for item in given]
    found = torch.autograd.grad(result, given, vector, allow_unused=True)
    return vector, [torch.zeros_like(item) if grad is None else grad for item, grad in zip(given, found, strict=True)]


def judge(text: str, function: Any, entries: Entries) -> str | None:
    """None where the derivative is PyTorch's, else why it is refused; a wrong one fails."""
    graph = read_graph(text)
    names = [value.name for value in graph.inputs]
    try:
        gradient = differentiate(graph, entries, names)
    except UndifferentiableError as error:
        return str(error)
    vector, right = wanted(function)
    joined = gradient.joined()
    arguments = [*inputs(), *([vector] if gradient.df_input_vjps else [])]
    found = evaluate(joined, arguments[: len(joined.inputs)])
    ours = dict(zip(gradient.df_output_vjps, found, strict=True))
    for place, expected in enumerate(right):
        grad = ours.get(place)
        grad = torch.zeros_like(expected) if grad is None else torch.as_tensor(grad)
        assert torch.allclose(grad, expected, rtol=1e-8, atol=1e-8), (text, names[place])
    return None


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_followed_is_refused_by_name(name: str, entries: Entries, tmp_path: Any) -> None:
    body, node = REFUSED[name]
    text, function = graph_text(body, tmp_path)
    try:
        reason = judge(text, function, entries)
    except GraphError as error:
        reason = str(error)
    assert reason is not None, text
    assert node in reason
    if "cannot be differentiated" in reason:
        assert re.search(r"in line \d+ of the graph", reason)
    with pytest.raises(GraphError):
        jvp(read_graph(text), entries, ["x.1"])


def test_what_is_followed_has_pytorchs_gradient_and_most_is(entries: Entries, tmp_path: Any) -> None:
    """Refusing everything would be right, too; so it is counted."""
    passed = 0
    for name, body in RIGHT.items():
        try:
            passed += judge(*graph_text(body, tmp_path, re.sub(r"\W", "_", name)), entries) is None
        except GraphError:
            continue
    assert passed >= 45, passed


STEPS = (
    *("{z} = torch.sin({a})", "{z} = {a} * {b}", "{z} = {a} + {b}", "{z} = torch.sigmoid({a}) * {b}"),
    *("{z} = {a}.detach() * {b}", "{z} = {a} / ({b} * {b} + 1.0)", "{z} = torch.stack([{a}, {b}]).sum(0)"),
    *("{z} = {a}.to(torch.long).to(torch.double) + {b}", "{z} = torch.where({a} > {b}, {a}, {b})"),
    *("{z} = {a} * {b}.sum().item()", "{z} = ({a}, {b})[0] * {b}", "{z} = torch.relu({a} - 0.4)"),
)
BAD_STEPS = (
    *("{a}.mul_(0.5)\n{z} = {a} * {b}", "if bool({a}.sum() > 1.0):\n    {z} = {a}\nelse:\n    {z} = {a} * {b}"),
    *("l = [{a}]\nl.append({b})\n{z} = torch.stack(l).sum(0)", "{z} = {a}\nfor i in range(2):\n    {z} = {z} * {b}"),
    *(
        "{z} = {a} * 1.0\nv = {z}.view([6])\nv.add_(1.0)",
        "{z} = {a} * {b}\n{z}[0] = {b}[1]",
        "d = {{'k': {a}}}\n{z} = d['k'] * {b}",
    ),
)


MARKS = ("mul_(", "prim::If", "append", "prim::Loop", "add_(", "copy_(", "prim::DictConstruct")


@pytest.mark.parametrize("seed", range(40))
def test_random_functions_are_right_or_refused(seed: int, entries: Entries, tmp_path: Any) -> None:
    rng = random.Random(seed)
    known = ["x0", "y0"]
    lines = ["x0 = x * 1.0", "y0 = y * 1.0"]
    for number in range(rng.randint(1, 6)):
        step = rng.choice(BAD_STEPS if rng.random() < 0.3 else STEPS)
        lines.append(step.format(z=f"z{number}", a=rng.choice(known), b=rng.choice(known)))
        known.append(f"z{number}")
    body = "\n".join([*lines, f"return {known[-1]} * {rng.choice(known)}"])
    text, function = graph_text(body, tmp_path)
    reason = judge(text, function, entries)
    # TorchScript leaves out what no one uses
    bad = any(mark in text for mark in MARKS)
    assert (reason is not None) == bad, (body, reason)


@pytest.mark.parametrize(
    "node", ['prim::PythonOp[name="f"]', "my::operator", "prim::Unknown", "aten::no_such_operator"]
)
@pytest.mark.parametrize("operand", ["x", "n"])
def test_unknown_nodes_are_refused_wherever_they_stand(node: str, operand: str, entries: Entries) -> None:
    text = (
        "graph(%x : Tensor, %n : int):\n"
        f"  %a : Tensor = {node}(%{operand})\n  %y : Tensor = aten::mul(%x, %a)\n  return (%y)\n"
    )
    with pytest.raises(UndifferentiableError) as raised:
        differentiate(read_graph(text), entries, ["x"])
    assert "in line 2 of the graph" in str(raised.value)


def test_a_gradient_for_what_has_none_is_refused(entries: Entries) -> None:
    text = "graph(%x : Tensor, %n : Long(2, 3)):\n  %y : Tensor = aten::mul(%x, %n)\n  return (%y)\n"
    with pytest.raises(GraphError, match='"n" is a Long'):
        differentiate(read_graph(text), entries, ["x", "n"])


def test_the_command_refuses_with_status_2(run: Run, here: Any) -> None:
    text = (
        "graph(%x : Tensor, %c : bool):\n  %y : Tensor = prim::If(%c)\n    block0():\n"
        "      %a : Tensor = aten::sin(%x)\n      -> (%a)\n    block1():\n      -> (%x)\n  return (%y)\n"
    )
    (here / "derivatives.yaml").write_text("- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos()\n")
    outcome = run("derive", text, "derivatives.yaml", "--wrt", "x")
    assert outcome.status == 2
    assert (
        '"prim::If" in line 2 of the graph cannot be differentiated: control flow has no derivative here' in outcome.err
    )
    assert outcome.out == ""
