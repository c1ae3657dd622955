"""Lists, transformations, copies."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

from tests.emit.behaviour.telling import attempt, graph, number, real, reported, snippet

# ---- foreach


@snippet
def foreach_functions(torch: Any) -> Any:
    x, y, plain = real(torch, 2), real(torch, 3), torch.ones(2, dtype=torch.double)
    made = [
        torch._foreach_mul([x, y, plain], 2.0),
        torch._foreach_mul([x, plain], [plain, x]),
        torch._foreach_exp([plain, y]),
    ]
    made += [
        torch._foreach_mul([x, y], [2.0, 3.0]),
        torch._foreach_mul([x, y], torch.tensor(2.0)),
        torch._foreach_exp([plain]),
    ]
    loss = sum(each.sum() for group in made for each in group)
    return [reported(made), reported(torch.autograd.grad(loss, (x, y)))]


@snippet
def foreach_in_place(torch: Any) -> Any:
    x, y, plain = real(torch, 2), real(torch, 2), torch.ones(2, dtype=torch.double)

    def targets() -> list[Any]:
        return [x * 1, plain.clone(), (y * 1).view(2), torch.ones(2, dtype=torch.double)]

    found = []
    changes: tuple[Callable[[Any], Any], ...] = (
        lambda t: torch._foreach_mul_(t, [y, plain, x, x]),
        lambda t: torch._foreach_exp_(t),
        lambda t: torch._foreach_mul_(t, 2),
        lambda t: torch._foreach_mul_(t, [1.0, 2.0, 3.0, 4.0]),
        lambda t: torch._foreach_mul_(t, torch.tensor(2.0, dtype=torch.double)),
    )
    for change in changes:
        made = targets()
        change(made)
        loss = sum(each.sum() for each in made)
        found.append([reported(made), reported(torch.autograd.grad(loss, (x, y), allow_unused=True))])
    twice = targets()
    torch._foreach_exp_(twice)
    torch._foreach_mul_(twice, 2)
    return [found, attempt(lambda: twice[0].sum().backward())]


@snippet
def foreach_refused(torch: Any) -> Any:
    x = real(torch, 2)
    return [
        attempt(lambda: torch._foreach_mul([x, x], [x])),
        attempt(lambda: torch._foreach_mul_([x * 1], [x, x])),
        attempt(lambda: torch._foreach_exp([])),
        attempt(lambda: torch._foreach_exp_([x])),
        attempt(lambda: torch._foreach_exp_(list((x * 1).unbind(0)))),
        attempt(lambda: torch._foreach_mul([x], [torch.ones(3)])),
    ]


# ---- over transformations


@snippet
def transformations(torch: Any) -> Any:
    func = torch.func
    x, v = real(torch, 3).detach(), torch.ones(3, dtype=torch.double)
    matrix = torch.rand(3, 3, dtype=torch.double)

    def loss(t: Any) -> Any:
        return (torch.addcmul(t.sin(), t, t.exp()).view(3, 1) @ t.unsqueeze(0)).tanh().sum()

    def changed(t: Any) -> Any:
        copied = t.clone()
        copied[0].mul_(2)
        return copied.mul_(t).sort().values.pow(2).sum()

    return [
        attempt(each, f)
        for f in (loss, changed)
        for each in (
            lambda f: func.grad(f)(x), lambda f: func.jvp(f, (x,), (v,)),
            lambda f: func.vjp(f, x)[1](torch.ones((), dtype=torch.double)), lambda f: func.vmap(f)(matrix),
            lambda f: func.vmap(func.grad(f))(matrix), lambda f: func.hessian(f)(x),
            lambda f: func.jacrev(func.jacfwd(f))(x), lambda f: func.grad(lambda t: func.grad(f)(t).sum())(x),
            lambda f: func.functionalize(f)(x), lambda f: func.linearize(f, x)[1](v),
        )
    ]  # fmt: skip


@snippet
def functional_interface(torch: Any) -> Any:
    functional = torch.autograd.functional
    x = real(torch, 2).detach()
    cases = (functional.jacobian, functional.hessian)
    found = [reported(case(lambda t: (t * t).exp().sum(), x)) for case in cases]
    found.append(reported(functional.jacobian(lambda t: t.sin() * t, x, vectorize=True, strategy="forward-mode")))
    return [*found, reported(functional.hvp(lambda t: t.prod() * t.sum(), x, torch.ones(2, dtype=torch.double)))]


@snippet
def batched_gradients(torch: Any) -> Any:
    x = real(torch, 3)
    y = torch.cat([x.sin() * x, x.cumprod(0)])
    return reported(torch.autograd.grad(y, x, torch.eye(6, dtype=torch.double), is_grads_batched=True))


# ---- copies and texts


@snippet
def copies(torch: Any) -> Any:
    x = real(torch, 3)
    y = x * 2
    x.grad = torch.ones_like(x)
    buffer = io.BytesIO()
    torch.save(x, buffer)
    buffer.seek(0)
    made = [copy.deepcopy(x), pickle.loads(pickle.dumps(x)), torch.load(buffer, weights_only=True), copy.copy(x)]
    return [
        reported(made),
        reported(made[0].grad),
        attempt(lambda: copy.deepcopy(y)),
        attempt(lambda: pickle.loads(pickle.dumps(y))),
    ]


@snippet
def texts(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    return [
        repr(each) for each in (x * 2, x.sin(), x.view(2, 1), torch.cat([x, x]), x.max(0).values, x.clone().mul_(2))
    ]


@snippet
def modules(torch: Any) -> Any:
    torch.manual_seed(3)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2)
    )
    for optimizer in (
        torch.optim.SGD(model.parameters(), 0.1),
        torch.optim.Adam(model.parameters(), 0.1, foreach=True),
    ):
        for _ in range(3):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(torch.ones(2, 3)), torch.tensor([0, 1]))
            loss.backward()
            optimizer.step()
    return [
        graph(loss.grad_fn),
        [f"{value:.4f}" for value in torch.cat([each.view(-1) for each in model.parameters()]).tolist()],
    ]


@snippet
def threads(torch: Any) -> Any:
    from concurrent.futures import ThreadPoolExecutor

    x = real(torch, 3)
    y = (x.exp() * x).sum()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: torch.autograd.grad(y, x, retain_graph=True)[0].tolist(), range(4)))
    return number(found)
