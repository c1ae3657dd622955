"""Gradients that are not there, and inputs that are absent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.emit.behaviour.telling import attempt, gradient, real, reported, snippet


@snippet
def unused_inputs(torch: Any) -> Any:
    x, y, z = real(torch, 3), real(torch, 3), real(torch, 3)
    out = (x * y).sum()
    return [
        attempt(lambda: torch.autograd.grad(out, [x, z], retain_graph=True)),
        reported(torch.autograd.grad(out, [x, z], allow_unused=True, retain_graph=True)),
        attempt(lambda: torch.autograd.grad(out, [x, z], materialize_grads=True, retain_graph=True)),
        reported(torch.autograd.grad(out, y)),
    ]


@snippet
def undefined_gradients_come_in(torch: Any) -> Any:
    class Nothing(torch.autograd.Function):  # type: ignore[misc]  # torch is given as Any
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None

    def run(function: Callable[[Any], Any]) -> Any:
        x = real(torch, 2, 3)
        found = function(x)
        Nothing.apply(found).sum().backward()
        return [reported(found), reported(x.grad)]

    operations: list[Callable[[Any], Any]] = [
        torch.sin,
        lambda x: x * x,
        lambda x: x.view(6),
        lambda x: torch.cat([x, x]),
    ]
    operations += [lambda x: x.sum(), lambda x: x @ x.t(), lambda x: torch.addmm(x, x, torch.eye(3).double())]
    operations += [lambda x: torch.native_layer_norm(x, [3], x[0], x[1], 1e-5)[0], lambda x: x.clone().mul_(x)[0]]
    operations += [lambda x: torch._foreach_mul([x], [x])[0], lambda x: x[x > 1], lambda x: x.sort().values]
    return [attempt(run, each) for each in operations]


@snippet
def some_outputs_used(torch: Any) -> Any:
    x, w = real(torch, 2, 3), real(torch, 3)
    groups = [torch.var_mean(x, 1), x.unbind(0), x.split(1), torch.native_layer_norm(x, [3], w, None, 1e-5), x.max(1)]
    made = [each for group in groups for each in group]
    return [[reported(each), attempt(gradient, torch, each, x)] for each in made]


@snippet
def inputs_without_gradients(torch: Any) -> Any:
    x, plain = real(torch, 2, 2), torch.rand(2, 2, dtype=torch.double)
    made = [x * plain, plain * x, torch.mm(plain, x), torch.addmm(plain, plain, x), torch.where(plain > 0.5, plain, x)]
    made += [torch.addcmul(x, plain, plain), torch.lerp(plain, x, plain), plain**x, x**plain, plain * plain]
    return [[reported(each), attempt(gradient, torch, each, x)] for each in made]


@snippet
def lists_with_and_without_gradients(torch: Any) -> Any:
    x, plain = real(torch, 2, 2), torch.rand(2, 2, dtype=torch.double)
    made = [torch.cat([plain, x, plain]), torch.stack([x, plain]), torch.cat([plain, plain]), torch.cat([x, x, x[:1]])]
    made += [torch.cat([x.float(), plain]), torch.cat([x, torch.empty(0)]), torch.stack([x, x], 2)]
    return [[reported(each), attempt(gradient, torch, each, x)] for each in made]


@snippet
def lists_that_are_refused(torch: Any) -> Any:
    x = real(torch, 2)
    return [
        attempt(lambda: torch.cat([])),
        attempt(lambda: torch.stack([x, x[:1]])),
        attempt(lambda: torch.cat([x, None])),
    ]


@snippet
def optional_tensors(torch: Any) -> Any:
    x, weight, bias = real(torch, 1, 2, 4), real(torch, 2, 2, 2), real(torch, 2)
    found = []
    for given in (None, bias):
        made = torch.convolution(x, weight, given, [1], [0], [1], False, [0], 1)
        found.append([reported(made), reported(torch.autograd.grad(made.sum(), (x, weight)))])
    made = torch.native_layer_norm(x, [4], None, None, 1e-5)
    made = (*made, x.clamp(min=torch.tensor(0.7)), torch.clamp(x, max=torch.tensor(1.0), min=None))
    found.append([reported(made), attempt(lambda: torch.clamp(x))])
    index = torch.tensor([1, 0])
    return [*found, reported(x[:, index]), reported(x[0, :, index]), reported(x[None, ..., index])]
