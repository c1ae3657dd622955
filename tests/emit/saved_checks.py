"""What nodes show Python of what they save, for a child process: ``python saved_checks.py [FOLDER BUILD_FOLDER]``.

With an extension the nodes are its own, without one PyTorch's. Prints one JSON object that has to be the same for both.
"""

from __future__ import annotations

import copy
import gc
import json
import pickle
import sys
from collections.abc import Callable
from typing import Any

from tests.emit.loading import load_with_classes


def main(folder: str | None = None, build_folder: str | None = None) -> None:
    """Print what nodes save."""
    import torch

    stock = dict(vars(torch._C._functions))
    nodes: dict[str, Any] = {}
    if folder is not None and build_folder is not None:
        extension, classes = load_with_classes(folder, build_folder)
        assert extension.without_bindings == ""
        nodes = {node_class.__name__: node_class for node_class in classes}
        assert set(filter(None, extension.operators.values())) <= nodes.keys()
        assert vars(torch._C._functions) == stock
    torch.manual_seed(1)
    records: dict[str, Any] = {name: recorded(torch, run, nodes) for name, run in cases(torch).items()}
    records = {name: shown for name, shown in records.items() if shown is not None}
    records |= {check.__name__: check(torch) for check in (raw_hooks, raw_outlives_node, symbolic, refusals)}
    print(json.dumps(records))


def cases(torch: Any) -> dict[str, Callable[[], Any]]:
    """Calls that leave nodes with members of every type that Python sees."""
    x, y = (torch.rand(3, 4, dtype=torch.double, requires_grad=True) for _ in range(2))
    image = torch.rand(1, 2, 5, requires_grad=True)
    weight, bias = torch.rand(2, 2, 2, requires_grad=True), torch.rand(2, requires_grad=True)
    aten = torch.ops.aten
    return {
        "tensors": lambda: x * y,
        "an input without gradient": lambda: x * torch.ones(3, 4),
        "an output": x.exp,
        "a tensor made by another node": lambda: x.exp() * y,
        "an integer": lambda: aten.mul.Scalar(x, 2),
        "a negative integer": lambda: x**-2,
        "a number": lambda: aten.mul.Scalar(x, -2.5),
        "a complex number": lambda: aten.mul.Scalar(x, 1 + 2j),
        "a boolean number": lambda: aten.mul.Scalar(x, True),
        "numbers that can be absent": lambda: x.clamp(min=0.5),
        "a number for add": lambda: torch.add(x, y, alpha=3),
        "a negative dimension": lambda: torch.cat([x, y], -1),
        "a dimension, a boolean, an output": lambda: x.prod(-1, keepdim=True),
        "a dimension that can be absent": lambda: torch.aminmax(x, dim=-1),
        "no dimension": lambda: torch.aminmax(x),
        "dimensions": lambda: x.flip([0, -1]),
        "dimensions that can be absent": lambda: x.sum([0, -1]),
        "no dimensions": lambda: x.var(),
        "sizes": lambda: x.as_strided([2, 2], [4, 1], 1),
        "bounds": lambda: x[1:, 1:-1],
        "a size": lambda: x.tril(-1),
        "a real number": lambda: torch.nn.functional.huber_loss(x, y, delta=0.25),
        "a real number that can be absent": lambda: x.logit(0.125),
        "no real number": x.logit,
        "a text": lambda: torch.nn.functional.gelu(x, approximate="tanh"),
        "a text that can be absent": lambda: torch.div(x, y, rounding_mode="floor"),
        "no text": lambda: torch.div(x, y, rounding_mode=None),
        "indices": lambda: x[:, torch.tensor([0, 2])],
        # PyTorch gives Python classes of the foreach functions that have entries
        "lists of tensors": lambda: torch._foreach_pow([x, y], [y, x]),
        "a list of numbers": lambda: torch._foreach_pow([x, y, x, y], [2, -2.5, True, 1j]),
        "tensors that can be absent": lambda: torch.native_layer_norm(x, [4], None, None, 1e-5)[0],
        "sizes that can be absent": lambda: torch.convolution(image, weight, bias, [1], [0], [1], False, [0], 1),
        "no sizes": lambda: torch.convolution(image, weight, None, [1], [0], [1], False, [0], 1),
        "several outputs": lambda: x.sort(-1),
        "an operation in place": lambda: x.clone().mul_(y),
    }


def recorded(torch: Any, run: Callable[[], Any], nodes: dict[str, Any]) -> dict[str, Any] | None:
    """What the node of a call shows, before and after backward; None if the extension has no such nodes."""
    result = run()
    outputs = [item for item in (result if isinstance(result, (tuple, list)) else [result]) if item.requires_grad]
    function = outputs[0].grad_fn
    if nodes:
        if function.name() not in nodes:
            return None
        assert type(function) is nodes[function.name()], type(function)
    base = torch.autograd.graph.Node
    names = [name for name in dir(function) if name.startswith(("_saved", "_raw_saved"))]
    before = {name: shown(torch, function, name) for name in names}
    torch.autograd.backward(outputs, [torch.ones_like(item) for item in outputs])
    return {
        "node": [function.name(), repr(function).partition(" at 0x")[0]],
        "class": [repr(type(function)), type(function).__module__, type(function).__qualname__],
        "is node": [isinstance(function, base), issubclass(type(function), base)],
        "next": [node.name() if node is not None else None for node, _ in function.next_functions],
        "before": before,
        "after": {name: shown(torch, function, name) for name in names},
        "all": [name for name in dir(type(function)) if not name.startswith("__")],
    }


def shown(torch: Any, function: Any, name: str) -> Any:
    """A property as JSON; the text of the error where it cannot be read."""
    try:
        value = getattr(function, name)
    except RuntimeError as error:
        return ["error", str(error)]
    return described(torch, value)


def described(torch: Any, value: Any) -> Any:
    """A value with its type as JSON."""
    if isinstance(value, torch.Tensor):
        node = value.grad_fn.name() if value.grad_fn is not None else None
        return ["tensor", str(value.dtype), str(value.tolist()), value.requires_grad, node]
    if isinstance(value, tuple):
        return ["tuple", *(described(torch, item) for item in value)]
    if type(value).__name__ == "SavedTensor":
        return "SavedTensor"
    return [type(value).__name__, repr(value)]


def raw_hooks(torch: Any) -> list[str]:
    """Hooks on what holds a tensor are called, and refused where PyTorch refuses them."""
    said: list[str] = []

    def pack(tensor: Any) -> Any:
        said.append("pack")
        return tensor * 2

    def unpack(tensor: Any) -> Any:
        said.append("unpack")
        return (tensor / 2).to(tensor.dtype)

    def refused(act: Callable[[], Any]) -> None:
        try:
            act()
        except (RuntimeError, TypeError) as error:
            said.append(str(error).splitlines()[0])

    x, y = (torch.rand(3, dtype=torch.double, requires_grad=True) for _ in range(2))
    z = x * y
    z.grad_fn._raw_saved_other.register_hooks(pack, unpack)
    said.append(str(torch.equal(z.grad_fn._saved_other, y)))
    said.append(str(torch.equal(z.grad_fn._saved_self, x)))
    refused(lambda: z.grad_fn._raw_saved_other.register_hooks(pack, unpack))
    refused(lambda: z.grad_fn._raw_saved_other.register_hooks(1, 2))
    z.sum().backward()
    said.append(str(torch.allclose(x.grad, y.detach())))
    refused(lambda: z.grad_fn._raw_saved_self.register_hooks(pack, unpack))
    chosen = x[torch.tensor([0, 1])]
    chosen.grad_fn._raw_saved_indices[0].register_hooks(pack, unpack)
    chosen.sum().backward()
    lists = torch._foreach_pow([x, x], [y, y])
    lists[0].grad_fn._raw_saved_exponent[1].register_hooks(pack, unpack)
    torch.autograd.backward(lists, [torch.ones_like(x)] * 2)
    z = x * y
    z.grad_fn._raw_saved_other.register_hooks(lambda tensor: tensor, lambda tensor: int("no number"))
    try:
        _ = z.grad_fn._saved_other
    except ValueError as error:
        said.append(str(error))
    return said


def raw_outlives_node(torch: Any) -> str:
    """What holds a tensor can be asked for in one expression with the node, whose last user it then is."""
    x = torch.rand(3, requires_grad=True)
    raw = (x * x).grad_fn._raw_saved_self
    gc.collect()
    return str(type(raw))


def symbolic(torch: Any) -> list[str]:
    """Sizes that are not known are symbols."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    shapes = ShapeEnv()
    with FakeTensorMode(shape_env=shapes):
        size = shapes.create_unbacked_symint()
        torch._check(size >= 2)
        x = torch.empty(size, 4, requires_grad=True)
        saved = x.sum(0).grad_fn._saved_self_sym_sizes
        diagonal = x.tril(size).grad_fn._saved_diagonal
    return [f"{type(each).__name__} {each}" for each in (*saved, diagonal)]


def refusals(torch: Any) -> list[str]:
    """Nodes are made by operators only, and neither they nor their classes can be pickled."""
    x = torch.rand(3, requires_grad=True)
    node = (x * x).grad_fn
    acts: list[Callable[[], Any]] = [
        type(node),
        lambda: pickle.dumps(node),
        lambda: pickle.dumps(type(node)),
        lambda: copy.copy(node),
        lambda: copy.deepcopy([node]),
    ]
    said = []
    for act in acts:
        try:
            said.append(f"made {act()}")
        except (TypeError, pickle.PicklingError) as error:
            said.append(f"{type(error).__name__}: {error}")
    return said


if __name__ == "__main__":
    main(*sys.argv[1:])
