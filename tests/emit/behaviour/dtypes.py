"""Numbers of all kinds."""

from __future__ import annotations

from typing import Any

from tests.emit.behaviour.telling import attempt, cplx, graph, real, reported, snippet


@snippet
def complex_inputs(torch: Any) -> Any:
    x, y, r = cplx(torch, 2, 2), cplx(torch, 2, 2), real(torch, 2, 2)
    made = [x * y, x * r, r * x, x + r, x / y, x**2, x.abs(), x.exp(), x @ y, x.sum(0), x.prod(), torch.cat([x, y])]
    made += [x.conj() * y, x.real * r, x.imag, torch.view_as_real(x), x.conj().t() @ y, r.sigmoid() * x.tanh()]
    found = []
    for each in made:
        gradient = torch.autograd.grad(each, (x, y, r), torch.ones_like(each), allow_unused=True)
        found.append([reported(each), [None if one is None else reported(one.resolve_conj()) for one in gradient]])
    return found


@snippet
def complex_not_supported(torch: Any) -> Any:
    weight = cplx(torch, 3, 2)
    index = torch.tensor([0, 2])
    with torch.no_grad():
        fine = torch.embedding(weight, index)
    return [
        reported(fine),
        attempt(lambda: torch.embedding(weight, index)),
        attempt(lambda: torch.embedding(weight.detach(), index)),
        attempt(lambda: weight.clamp(0, 1)),
        attempt(lambda: weight.sort()),
        attempt(lambda: torch._foreach_mul([weight], [weight])),
        attempt(lambda: torch.cummax(weight, 0)),
    ]


@snippet
def complex_out_of_real(torch: Any) -> Any:
    x = real(torch, 2, 2)
    values, vectors = torch.linalg.eig(x)
    loss = values.abs().sum() + vectors.abs().sum()
    return [
        reported(values.requires_grad),
        [graph(values.grad_fn), graph(vectors.grad_fn)],
        reported(torch.autograd.grad(loss, x)),
    ]


@snippet
def conjugate_and_negative_views(torch: Any) -> Any:
    x = cplx(torch, 3)
    y = (x * 1).conj()
    y.mul_(2)
    z = (x * 1).conj().imag
    z.exp_()
    return [
        reported(y),
        y.is_conj(),
        reported(z),
        z.is_neg(),
        reported(torch.autograd.grad(y.abs().sum() + z.sum(), x)),
    ]


@snippet
def integers(torch: Any) -> Any:
    x, k = real(torch, 3), torch.tensor([1, 2, 3])
    made = [
        k * k, k + 1, k.sum(), x * k, k**x, x**k, torch.cat([x, k]), torch.where(k > 1, x, k), k.div(2), k.neg(),
        k.view(3),
    ]  # fmt: skip
    return [reported(made), attempt(lambda: k.requires_grad_()), attempt(lambda: k.mean())]


@snippet
def outputs_without_derivatives(torch: Any) -> Any:
    x = real(torch, 2, 3)
    made = [
        *x.sort(), *x.topk(2), *x.max(1), x.eq(x), x.isnan(), x.floor(), *torch.cummax(x, 1), x > 1, x.nonzero(),
        x.argmax(),
    ]  # fmt: skip
    return reported(made)


@snippet
def non_differentiable_arguments(torch: Any) -> Any:
    x, index = real(torch, 2, 3), torch.tensor([[0, 1], [2, 0]])
    found = [reported(x.gather(1, index)), reported(x[index[0]]), reported(torch.embedding(x, index[0]))]
    return [
        *found,
        attempt(lambda: torch.where(x, x, x)),
        attempt(lambda: torch.embedding(x, x)),
        attempt(lambda: x.gather(1, x)),
    ]


@snippet
def mixed_precision(torch: Any) -> Any:
    x, y = real(torch, 2), torch.ones(2, requires_grad=True)
    half = torch.ones(2, dtype=torch.half, requires_grad=True)
    made = [
        x * y, y * half, y * 2, y * torch.tensor(2.0, dtype=torch.double), x + half, torch.cat([x, y, half]), 1 / half,
        half.pow(x[0].detach()),
    ]  # fmt: skip
    return [
        [reported(each), reported(torch.autograd.grad(each.sum(), (x, y, half), allow_unused=True))] for each in made
    ]


@snippet
def empty_and_scalar_tensors(torch: Any) -> Any:
    empty, scalar = torch.empty(0, 3, dtype=torch.double, requires_grad=True), real(torch)
    made = [
        empty.sum(), empty.exp(), empty * scalar, empty.prod(), scalar.mul(scalar), empty.view(3, 0), empty.mean(),
        torch.cat([empty, empty]),
    ]  # fmt: skip
    return [
        [reported(each), reported(torch.autograd.grad(each.sum(), (empty, scalar), allow_unused=True))] for each in made
    ]


@snippet
def broadcasting(torch: Any) -> Any:
    x, y = real(torch, 3, 1), real(torch, 2)
    made = [
        x * y, x + y, x - y, x / y, x**y, torch.atan2(x, y), torch.where(x > y, x, y), torch.addcmul(x, y, y),
        torch.lerp(x, y, x),
    ]  # fmt: skip
    return [[reported(each), reported(torch.autograd.grad(each.sum(), (x, y)))] for each in made]
