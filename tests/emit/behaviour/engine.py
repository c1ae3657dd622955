"""Backward, hooks, saved tensors."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from tests.emit.behaviour.telling import attempt, number, real, reported, snippet


@snippet
def backward_twice(torch: Any) -> Any:
    x = real(torch, 3)
    index = torch.tensor([0, 1])
    operations: list[Callable[[], Any]] = [x.exp, lambda: x * x, lambda: x[index], lambda: torch.cat([x, x]), x.sum]
    operations += [lambda: torch._foreach_mul([x], [x])[0], lambda: x.sort().values, lambda: x.pow(2), x.clone]
    operations += [lambda: torch._foreach_exp([x])[0], lambda: x.mul(1).exp_(), lambda: x.cumprod(0), lambda: x.add(1)]
    found = []
    for each in operations:
        y = each().sum()
        y.backward()
        found.append([attempt(y.backward), reported(x.grad)])
    return found


@snippet
def graph_retained(torch: Any) -> Any:
    x = real(torch, 3)
    y = (x.exp() * x).sum()
    y.backward(retain_graph=True)
    first = reported(x.grad)
    y.backward()
    return [first, reported(x.grad), attempt(y.backward)]


@snippet
def double_backward(torch: Any) -> Any:
    x, w = real(torch, 2, 2), real(torch, 2, 2)
    y = torch.addcmul(torch.mm(x, w).tanh(), x, w.sigmoid()).pow(2).sum()
    first = torch.autograd.grad(y, (x, w), create_graph=True)
    second = torch.autograd.grad(first[0].sum() + first[1].prod(), (x, w), create_graph=True)
    third = torch.autograd.grad(second[0].sum(), (x, w))
    return [
        reported(first[0].requires_grad),
        reported(second[0].requires_grad),
        [number(each.tolist()) for each in (*first, *second, *third)],
    ]


@snippet
def gradients_of_wrong_shape(torch: Any) -> Any:
    x = real(torch, 2, 3)
    return [
        attempt(lambda: x.sin().backward(torch.ones(5))),
        attempt(lambda: x.sin().backward()),
        attempt(lambda: x.sum().backward(torch.ones(2))),
        attempt(lambda: torch.autograd.grad(x.mul(2), x, torch.ones(2, 3))),
        attempt(lambda: x.detach().sum().backward()),
    ]


@snippet
def hooks_of_tensors(torch: Any) -> Any:
    x = real(torch, 3)
    seen: list[Any] = []
    y = x.sin()
    y.retain_grad()
    handle = y.register_hook(lambda grad: grad * 2)
    y.register_hook(lambda grad: seen.append(reported(grad)))
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append(reported(tensor.grad)))
    (y * y).sum().backward(retain_graph=True)
    handle.remove()
    (y * y).sum().backward()
    return [seen, reported(y.grad), reported(x.grad)]


@snippet
def hooks_of_nodes(torch: Any) -> Any:
    x = real(torch, 3)
    seen: list[Any] = []
    y = torch.addcmul(x, x, x)

    def tripled(grads: Any) -> Any:
        seen.append(["before", reported(grads)])
        return tuple(grad * 3 for grad in grads)

    y.grad_fn.register_prehook(tripled)
    y.grad_fn.register_hook(lambda ins, outs: seen.append(["behind", reported(ins), reported(outs)]))
    y.sum().backward()
    return [seen, reported(x.grad), y.grad_fn.metadata]


@snippet
def hooks_and_in_place(torch: Any) -> Any:
    x = real(torch, 3)
    y = x.clone()
    y.register_hook(lambda grad: grad * 2)
    y.mul_(3)
    y.register_hook(lambda grad: grad * 5)
    y.retain_grad()
    y.exp().sum().backward()
    return [reported(y.grad), reported(x.grad)]


@snippet
def hooks_of_saved_tensors(torch: Any) -> Any:
    x = real(torch, 3)
    packed: list[Any] = []

    def pack(tensor: Any) -> Any:
        packed.append(reported(tensor))
        return tensor.detach().clone(), len(packed)

    def unpack(pair: Any) -> Any:
        packed.append(pair[1])
        return pair[0]

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.exp() * x.mul(2).tanh_()
        z = torch.cat([y, x[torch.tensor([0, 2])]]).sort().values.pow(2)
    z.sum().backward()
    return [packed, reported(x.grad)]


@snippet
def hooks_of_saved_tensors_refused(torch: Any) -> Any:
    x = real(torch, 3)
    with torch.autograd.graph.disable_saved_tensors_hooks("not now"):
        refused = attempt(lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__())
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        in_place = attempt(lambda: x.exp())
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 1):
        wrong = x.exp()
    with torch.autograd.graph.save_on_cpu():
        kept = x.exp()
    return [
        refused,
        in_place,
        attempt(lambda: wrong.sum().backward()),
        attempt(lambda: kept.sum().backward()),
        reported(x.grad),
    ]


@snippet
def saved_and_changed(torch: Any) -> Any:
    x = real(torch, 2, 2)
    found = []
    for operation in (
        torch.exp,
        lambda t: t * t,
        lambda t: t @ t,
        torch.log,
        lambda t: t.pow(2),
        lambda t: t / t,
        torch.abs,
    ):
        y = x * 1
        z = operation(y)
        (z if operation is torch.exp else y).add_(1)
        found.append(attempt(z.sum().backward))
    return found


@snippet
def changed_but_not_saved(torch: Any) -> Any:
    x = real(torch, 3)
    plain = torch.ones(3, dtype=torch.double)
    y = x * 1
    z = y * plain
    y.add_(1)
    z.sum().backward()
    again = x * plain
    plain.add_(1)
    return [reported(x.grad), attempt(lambda: again.sum().backward())]


@snippet
def saved_output_does_not_keep_itself(torch: Any) -> Any:
    x = real(torch, 3)
    gone = []

    class Mark:
        def __del__(self) -> None:
            gone.append(1)

    for operation in (
        torch.exp,
        torch.tanh,
        lambda t: t.mul(1).exp_(),
        lambda t: t.max(0).values,
        lambda t: torch._foreach_exp([t])[0],
    ):
        y = operation(x)
        y.grad_fn.metadata["mark"] = Mark()
        del y
    gc.collect()
    return len(gone)


@snippet
def anomaly(torch: Any) -> Any:
    found = []
    operations: list[Callable[[Any], Any]] = [lambda t: t / t, lambda t: t.log() * 0, lambda t: t.pow(0.5) * 0]
    operations.append(lambda t: (t * 0).div(t).exp())
    for operation in operations:
        x = torch.zeros(2, dtype=torch.double, requires_grad=True)
        with torch.autograd.detect_anomaly():
            found.append(attempt(operation(x).sum().backward))
    return found


@snippet
def gradient_edges(torch: Any) -> Any:
    x = real(torch, 3)
    y = x.sin()
    z = y.exp()
    edge = torch.autograd.graph.get_gradient_edge(y)
    found = torch.autograd.grad(z.sum(), edge, retain_graph=True)
    return [reported(found), edge.node.name(), edge.output_nr, reported(z.grad_fn(torch.ones(3)))]


@snippet
def node_called_directly(torch: Any) -> Any:
    x = real(torch, 3)
    return [
        reported(x.sin().grad_fn(torch.ones(3))),
        reported((x * x).grad_fn(torch.ones(3))),
        attempt(lambda: x.exp().grad_fn(None)),
    ]


@snippet
def checkpoints(torch: Any) -> Any:
    from torch.utils.checkpoint import checkpoint

    found = []
    for reentrant in (False, True):
        x = real(torch, 2, 2)
        y = checkpoint(lambda t: (t @ t).sin().mul_(2).exp(), x, use_reentrant=reentrant)
        y.sum().backward()
        found.append([number(y.tolist()), reported(x.grad)])
    return found


@snippet
def custom_function(torch: Any) -> Any:
    class Double(torch.autograd.Function):  # type: ignore[misc]  # torch is given as Any
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * x * 2

    x = real(torch, 3)
    (first,) = torch.autograd.grad(Double.apply(x.sin()).sum(), x, create_graph=True)
    return [number(first.tolist()), reported(torch.autograd.grad(first.sum(), x))]


@snippet
def compiled(torch: Any) -> Any:
    """The graph of a function, ahead of time, and that of its gradient from the nodes of a run."""
    from torch._dynamo import compiled_autograd

    def function(x: Any) -> Any:
        return (x @ x).sin().mul_(2).exp()

    x = real(torch, 2, 2)
    y = torch.compile(function, backend="aot_eager")(x)
    ahead = torch.autograd.grad(y.sum(), x)
    y = function(x)
    with compiled_autograd._enable(torch.compile(backend="eager", fullgraph=True)):
        y.sum().backward()
    return [reported(y), reported(ahead), reported(x.grad)]
