"""Modes, other kinds of tensors, errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from tests.emit.behaviour.telling import attempt, graph, number, real, reported, snippet

# ---- modes


@snippet
def grad_modes(torch: Any) -> Any:
    x = real(torch, 3)
    found = []
    modes = (torch.no_grad(), torch.enable_grad(), torch.set_grad_enabled(False), torch.inference_mode(), nullcontext())
    for mode in modes:
        with mode:
            y = x * x
            z = torch.ones(3, dtype=torch.double).mul_(x)
            found.append([reported(y), reported(z), reported(x.view(3)), y.is_inference(), attempt(z.exp_)])
        found.append([attempt(y.sum().backward), reported(x.grad)])
    return found


@snippet
def inference_tensors(torch: Any) -> Any:
    x = real(torch, 3)
    with torch.inference_mode():
        y = torch.ones(3, dtype=torch.double)
        z = x.view(3)
    return [
        attempt(lambda: x * y),
        attempt(lambda: y.mul_(2)),
        attempt(lambda: y.mul(2)),
        attempt(lambda: y.view(3)),
        attempt(lambda: z.mul_(2)),
        attempt(lambda: torch.add(x, y)),
        attempt(lambda: y.mul_(x)),
    ]


@snippet
def autocast(torch: Any) -> Any:
    x, w = real(torch, 2, 2).detach().float().requires_grad_(), torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.mm(x, w)
        z = torch.addmm(x, y, w).exp().sum()
    z.backward()
    return [reported(y.dtype), reported(z), reported(x.grad), reported(w.grad)]


@snippet
def meta_tensors(torch: Any) -> Any:
    x = torch.empty(2, 3, device="meta", requires_grad=True)
    y = torch.cat([x.sin() * x, x.exp()]).sum(0)
    y.backward(torch.empty(3, device="meta"))
    return [reported(y), reported(x.grad)]


@snippet
def fake_tensors(torch: Any) -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(2, 3, requires_grad=True)
        y = (x.t() @ x).tanh().sort().values.sum()
        y.backward()
        return [graph(y.grad_fn), list(x.grad.shape)]


@snippet
def traced_graphs(torch: Any) -> Any:
    from torch.fx.experimental.proxy_tensor import make_fx

    def function(x: Any) -> Any:
        y = (x.view(-1).mul(x.view(-1)).exp()).sum()
        return torch.autograd.grad(y, x)[0]

    x = real(torch, 2, 3)
    return [make_fx(function, tracing_mode=mode)(x).code for mode in ("real", "symbolic")]


@snippet
def subclasses(torch: Any) -> Any:
    called: list[str] = []

    class Logged(torch.Tensor):  # type: ignore[misc]  # torch is given as Any
        @staticmethod
        def __new__(cls: Any, inner: Any) -> Any:
            made = torch.Tensor._make_wrapper_subclass(
                cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad
            )
            made.inner = inner.detach()
            return made

        @classmethod
        def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.append(str(function))

            def open_(value: Any) -> Any:
                return value.inner if isinstance(value, Logged) else value

            result = function(*(open_(arg) for arg in args), **(kwargs or {}))
            return Logged(result) if isinstance(result, torch.Tensor) else result

    x = Logged(real(torch, 3))
    y = (x.exp() * x).sum()
    y.backward()
    return [called, graph(y.grad_fn), type(x.grad).__name__, number(x.grad.inner.tolist())]


@snippet
def sparse_inputs(torch: Any) -> Any:
    x = real(torch, 2, 2)
    sparse = torch.tensor([[0.0, 2.0], [0.0, 3.0]], dtype=torch.double).to_sparse().requires_grad_()
    made = [torch.sparse.mm(sparse, x), sparse.mul(2).to_dense(), (sparse * x).to_dense(), torch.mm(sparse, x)]

    def dense(each: Any) -> Any:
        gradients = torch.autograd.grad(each.sum(), (sparse, x), allow_unused=True)
        return [graph(each.grad_fn), [None if one is None else number(one.to_dense().tolist()) for one in gradients]]

    return [attempt(dense, each) for each in made]


@snippet
def nested_tensors(torch: Any) -> Any:
    parts = [real(torch, 2, 3), real(torch, 1, 3)]
    nested = torch.nested.as_nested_tensor(parts)
    found = []
    for function in (
        lambda t: t * t,
        lambda t: t.clone(),
        lambda t: t + t,
        lambda t: t.sin(),
        lambda t: t.view(2, -1, 3),
        lambda t: t.select(0, 1),
    ):

        def run(function: Callable[[Any], Any] = function) -> Any:
            made = function(nested)
            flat = made.to_padded_tensor(0.0) if made.is_nested else made
            return [
                graph(made.grad_fn),
                reported(torch.autograd.grad(flat.sum(), parts, retain_graph=True, allow_unused=True)),
            ]

        found.append(attempt(run))
    return found


# ---- errors


@snippet
def derivative_not_implemented(torch: Any) -> Any:
    x, y = real(torch, 3), real(torch, 3)
    z = torch.igamma(x, y)
    return [
        reported(z),
        attempt(lambda: torch.autograd.grad(z.sum(), y, retain_graph=True)),
        attempt(lambda: torch.autograd.grad(z.sum(), x)),
        attempt(lambda: torch.igamma(x, y.detach()).sum().backward()),
        attempt(lambda: torch.igamma(x.detach(), y).sum().backward()),
        reported(y.grad),
    ]


@snippet
def wrong_arguments(torch: Any) -> Any:
    x = real(torch, 2, 3)
    return [
        attempt(lambda: torch.mm(x, x)), attempt(lambda: x + torch.ones(4)), attempt(lambda: x.sum(5)),
        attempt(lambda: torch.ops.aten.mul(x, None)), attempt(lambda: torch.ops.aten.bmm(x, x)),
        attempt(lambda: torch.linalg.inv(x)), attempt(lambda: x[5]), attempt(lambda: torch.add(x, x, alpha=1j)),
    ]  # fmt: skip


@snippet
def undefined_arguments(torch: Any) -> Any:
    x = real(torch, 3)
    aten = torch.ops.aten
    return [
        attempt(lambda: aten.convolution(x, None, None, [1], [0], [1], False, [0], 1)),
        attempt(lambda: aten.addmm(None, x, x)),
        attempt(lambda: aten.mul_(x, None)),
        attempt(lambda: aten.native_layer_norm(None, [3], None, None, 1e-5)),
        attempt(lambda: aten.index(None, [x])),
        attempt(lambda: aten.where.self(x, x, None)),
    ]
