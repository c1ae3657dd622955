"""What happens in place, to views, and with out arguments."""

from __future__ import annotations

from typing import Any

from tests.emit.behaviour.telling import attempt, cplx, real, reported, snippet

# ---- in place


@snippet
def in_place_on_leaf(torch: Any) -> Any:
    x = real(torch, 3)
    return [
        attempt(lambda: x.mul_(2)),
        attempt(lambda: x.sin_()),
        attempt(lambda: torch._foreach_mul_([x], 2)),
        reported(x),
    ]


@snippet
def in_place_on_view_of_leaf(torch: Any) -> Any:
    x = real(torch, 2, 3)
    return [
        attempt(lambda: x[0].mul_(2)),
        attempt(lambda: x.view(-1).fill_(1)),
        attempt(lambda: x.t().zero_()),
        reported(x),
    ]


@snippet
def in_place_on_leaf_without_grad(torch: Any) -> Any:
    x = real(torch, 3)
    with torch.no_grad():
        result = x.mul_(2)
    return [result is x, reported(x), attempt(lambda: x.exp().sum().backward()), reported(x.grad)]


@snippet
def in_place_makes_history(torch: Any) -> Any:
    x, target = real(torch, 3), torch.ones(3, dtype=torch.double)
    before = reported(target)
    result = target.mul_(x).add_(1).exp_()
    result.sum().backward()
    return [before, result is target, reported(target), reported(x.grad)]


@snippet
def in_place_with_second_argument_only(torch: Any) -> Any:
    x = torch.ones(2, 2, dtype=torch.double)
    y = real(torch, 2, 2)
    x.addmm_(y, y).lerp_(y, 0.3).div_(y).pow_(y)
    x.sum().backward()
    return [reported(x), reported(y.grad)]


@snippet
def in_place_on_view(torch: Any) -> Any:
    x = real(torch, 2, 3)
    base = x.clone()
    part = base.select(0, 1)
    part.mul_(2)
    first = [reported(part), reported(base), base._version, part._version]
    base.sum().backward()
    return [first, reported(x.grad)]


@snippet
def in_place_on_view_of_view(torch: Any) -> Any:
    x = real(torch, 4, 3)
    base = x * 1
    part = base[1:].t()[0].unsqueeze(0)
    part.add_(x[0])
    other = base.view(12)
    other.mul_(x.view(12))
    (base * base).sum().backward()
    changed = x.clone()
    changed.view(12)[3:].sigmoid_()
    changed.t()[0].add_(1)
    return [
        reported(base),
        reported(part),
        reported(other),
        reported(x.grad),
        attempt(lambda: changed.sum().backward()),
    ]


@snippet
def in_place_on_base_behind_view(torch: Any) -> Any:
    x = real(torch, 2, 3)
    base = x * 2
    part = base[0]
    base.mul_(3)
    return [reported(part), reported(torch.autograd.grad(part.sum(), x)[0])]


@snippet
def in_place_on_multi_output_view(torch: Any) -> Any:
    x = real(torch, 2, 3) * 1
    parts = {"unbind": x.unbind(0), "split": x.split(1), "chunk": x.chunk(2)}
    return {name: [reported(found), attempt(found[0].mul_, 2)] for name, found in parts.items()}


@snippet
def in_place_on_multi_output_view_without_grad(torch: Any) -> Any:
    x = real(torch, 2, 3) * 1
    first, _ = x.unbind(0)
    with torch.no_grad():
        first.mul_(2)
    return [attempt(lambda: reported(first)), reported(x), attempt(lambda: first.add_(1))]


@snippet
def in_place_on_view_made_without_grad(torch: Any) -> Any:
    x = real(torch, 2, 3) * 1
    with torch.no_grad():
        part = x.view(6)
        parts = x.unbind(0)
    return [reported(part), attempt(lambda: part.mul_(2)), attempt(lambda: parts[0].mul_(2))]


@snippet
def in_place_of_integers_and_booleans(torch: Any) -> Any:
    x = torch.tensor([1, 2, 3])
    y = torch.tensor([True, False, True])
    return [
        reported(x.mul_(2)),
        reported(y.mul_(y)),
        attempt(lambda: x.mul_(1.5)),
        attempt(lambda: x.div_(2)),
        attempt(lambda: x.mul_(real(torch, 3))),
    ]


@snippet
def in_place_that_would_broadcast(torch: Any) -> Any:
    x = real(torch, 3) * 1
    return [attempt(lambda: x.mul_(torch.ones(2, 3))), attempt(lambda: x.expand(2, 3).mul_(2)), reported(x)]


@snippet
def in_place_keeps_original_self(torch: Any) -> Any:
    x = real(torch, 3)
    y = x * 1
    y.abs_().log_().pow_(2).clamp_(0.01, 0.3)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return [reported(y), reported(first), reported(torch.autograd.grad(first.sum(), x)[0])]


@snippet
def copy_fill_zero(torch: Any) -> Any:
    x = real(torch, 3)
    y = x * 1
    found = [
        reported(y.fill_(2)),
        reported(y.zero_()),
        reported(y.copy_(x)),
        reported(y.fill_(x[0])),
        reported(y.masked_fill_(x > 1, 0.5)),
    ]
    y.sum().backward()
    return [found, reported(x.grad)]


@snippet
def index_put_and_masked_fill(torch: Any) -> Any:
    x, y = real(torch, 3), real(torch, 2)
    z = x * 1
    z[torch.tensor([0, 2])] = y
    z.index_put_((torch.tensor([1, 1]),), y, accumulate=True)
    z.sum().backward()
    return [reported(z), reported(x.grad), reported(y.grad)]


@snippet
def detached_shares_version(torch: Any) -> Any:
    x = real(torch, 3) * 1
    y = x.detach()
    y.mul_(2)
    return [reported(x), reported(y), attempt(lambda: x.detach_()), attempt(lambda: x.unbind(0)[0].detach_())]


@snippet
def set_and_resize(torch: Any) -> Any:
    x = real(torch, 3)
    y = torch.zeros(2)
    found = [attempt(lambda: x.resize_(5)), attempt(lambda: y.resize_(3).shape), attempt(lambda: y.set_(torch.ones(4)))]
    with torch.no_grad():
        x.set_(torch.ones(2, dtype=torch.double))
    (x * x).sum().backward()
    return [found, reported(y), reported(x), reported(x.grad)]


# ---- views


@snippet
def views(torch: Any) -> Any:
    x = real(torch, 2, 3)
    y = x * 1
    made = [y.view(3, 2), y.t(), y.transpose(0, 1), y.expand(4, 2, 3), y.select(0, 1), y[:, 1:], y.unsqueeze(0)]
    made += [y.as_strided((2, 2), (1, 2)), *y.unbind(1), *y.split([1, 2], 1), y.reshape(6)]
    return [[reported(each), each._base is y] for each in made]


@snippet
def views_of_leaf_and_of_nothing(torch: Any) -> Any:
    x, y = real(torch, 2, 3), torch.ones(2, 3)
    return [
        [reported(each), each._base is base] for base in (x, y) for each in (base[0], base.view(6), *base.unbind(0))
    ]


@snippet
def view_replayed(torch: Any) -> Any:
    x = real(torch, 2, 3) * 1
    part = x.t()[1]
    other = torch.ones(2, 3, dtype=torch.double)
    return [attempt(lambda: part._view_func(other)), attempt(lambda: x.view(5)), attempt(lambda: x.view_as(other))]


@snippet
def view_as_another_type(torch: Any) -> Any:
    x = cplx(torch, 3) * 1
    y = torch.view_as_real(x)
    y.mul_(2)
    return [reported(y), reported(x), reported(torch.autograd.grad(x.abs().sum(), x)[0])]


# ---- out=


@snippet
def out_with_gradients(torch: Any) -> Any:
    x, plain = real(torch, 3), torch.rand(3, dtype=torch.double)
    target = torch.zeros(3, dtype=torch.double)
    wanted = real(torch, 3)
    return [
        attempt(lambda: torch.sin(x, out=target)),
        attempt(lambda: torch.mul(plain, x, out=target)),
        attempt(lambda: torch.mul(plain, plain, out=wanted)),
        attempt(lambda: torch.cat([plain, x], out=target)),
        attempt(lambda: torch.sort(x, out=(target, torch.empty(3, dtype=torch.long)))),
        reported(target),
    ]


@snippet
def out_without_gradients(torch: Any) -> Any:
    x = real(torch, 3)
    target, index = torch.empty(0, dtype=torch.double), torch.empty(0, dtype=torch.long)
    with torch.no_grad():
        found = [torch.mul(x, x, out=target) is target, reported(target)]
        pair = torch.topk(x, 2, out=(target, index))
    return [found, type(pair).__name__, reported(pair), attempt(lambda: torch.sin(x.detach(), out=target))]


@snippet
def out_with_tangents(torch: Any) -> Any:
    forward = torch.autograd.forward_ad
    plain = torch.rand(3)
    with forward.dual_level():
        dual = forward.make_dual(torch.rand(3), torch.rand(3))
        return [
            attempt(lambda: torch.sin(dual, out=torch.empty(3))),
            attempt(lambda: torch.mul(plain, dual, out=torch.empty(3))),
            attempt(lambda: torch.sin(plain, out=forward.make_dual(torch.rand(3), torch.rand(3)))),
            attempt(lambda: torch.cat([plain, dual], out=torch.empty(6))),
        ]
