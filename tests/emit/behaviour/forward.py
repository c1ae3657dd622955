"""Forward-mode AD."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.emit.behaviour.telling import Snippet, attempt, real, reported, snippet


def dual(torch: Any, *shape: int) -> Any:
    primal, tangent = torch.rand(*shape, dtype=torch.double) + 0.5, torch.rand(*shape, dtype=torch.double)
    return torch.autograd.forward_ad.make_dual(primal, tangent)


def opened(torch: Any, value: Any) -> Any:
    """Primal and tangent of all tensors."""
    if isinstance(value, (list, tuple)):
        return [opened(torch, item) for item in value]
    primal, tangent = torch.autograd.forward_ad.unpack_dual(value)
    return [reported(primal), reported(tangent), tangent is not None and tangent._is_zerotensor()]


def in_forward_mode(function: Callable[[Any], Any]) -> Snippet:
    def run(torch: Any) -> Any:
        with torch.autograd.forward_ad.dual_level():
            return function(torch)

    run.__name__ = function.__name__
    return snippet(run)


@in_forward_mode
def forward_of_everything(torch: Any) -> Any:
    x, y, plain = dual(torch, 2, 2), dual(torch, 2, 2), torch.rand(2, 2, dtype=torch.double) + 0.5
    made = [
        x.sin(), x * y, x * plain, plain * x, x / plain, x @ plain, plain @ x, torch.addmm(plain, plain, x), x.sum(),
        x.mean(0),
    ]  # fmt: skip
    made += [
        x.sort(), x.topk(1), x.max(1), torch.cat([plain, x]), torch.stack([x, plain]), torch.var_mean(x, 1), x.prod(),
        x**2, plain**x,
    ]  # fmt: skip
    made += [
        torch.where(plain > 1, x, plain),
        torch.lerp(plain, x, plain),
        torch.addcmul(plain, x, plain),
        x[plain > 1],
        x.amax(1),
    ]
    made += [
        torch.native_layer_norm(x, [2], None, None, 1e-5),
        torch.clamp(x, 0.7, 1.0),
        x.logsumexp(0),
        plain * plain,
        x.eq(y),
    ]
    return opened(torch, made)


@in_forward_mode
def forward_views(torch: Any) -> Any:
    x = dual(torch, 2, 3)
    made = [
        x.view(6), x.t(), x[0], x.expand(2, 2, 3), x[:, 1:], *x.unbind(0), *x.split(1), x.unsqueeze(1),
        x.as_strided((2, 2), (1, 2)),
    ]  # fmt: skip
    views = [torch.autograd.forward_ad.unpack_dual(each).tangent._is_view() for each in made]
    return [opened(torch, made), views]


@in_forward_mode
def forward_in_place(torch: Any) -> Any:
    plain = torch.rand(3, dtype=torch.double) + 0.5
    found = []
    operations: tuple[Callable[[Any], Any], ...] = (
        lambda t: t.mul_(plain), lambda t: t.mul_(dual(torch, 3)), lambda t: t.exp_(), lambda t: t.pow_(2),
        lambda t: t.fill_(1), lambda t: t.zero_(), lambda t: t.copy_(plain), lambda t: t.copy_(dual(torch, 3)),
        lambda t: t.masked_fill_(plain > 1, 2.0), lambda t: t.clamp_(0.8, 1.2),
    )  # fmt: skip
    for operation in operations:
        for target in (dual(torch, 3), torch.ones(3, dtype=torch.double)):
            result = operation(target)
            found.append([result is target, opened(torch, target)])
    return found


@in_forward_mode
def forward_in_place_on_views(torch: Any) -> Any:
    base, plain = dual(torch, 2, 3), torch.zeros(2, 3, dtype=torch.double)
    base[0].mul_(2)
    base.t()[1].exp_()
    plain[1].add_(dual(torch, 3))
    plain.view(6)[:2].mul_(3)
    other = torch.ones(2, 3, dtype=torch.double)
    part = other[0]
    other.mul_(base)
    return opened(torch, [base, plain, plain[0], part, other])


@in_forward_mode
def forward_of_lists(torch: Any) -> Any:
    x, y, plain = dual(torch, 2), dual(torch, 3), torch.ones(2, dtype=torch.double)
    found = [torch._foreach_mul([x, y], 2), torch._foreach_mul([x, plain], [plain, x]), torch._foreach_exp([plain, y])]
    torch._foreach_mul_([x, plain], [plain.clone(), x.clone()])
    torch._foreach_exp_([y])
    return opened(torch, [*found, x, plain, y])


@in_forward_mode
def forward_missing(torch: Any) -> Any:
    x, plain = dual(torch, 3), torch.rand(3, dtype=torch.double)
    grid = dual(torch, 3, 2)
    return [
        attempt(lambda: opened(torch, torch.igamma(plain, x))),
        attempt(lambda: opened(torch, torch.igamma(x, plain))),
        attempt(lambda: opened(torch, torch.ops.aten._cdist_forward(grid, grid, 2.0, None))),
        attempt(lambda: opened(torch, torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 2])))),
        attempt(lambda: opened(torch, torch.polygamma(1, x))),
        attempt(lambda: opened(torch, torch.nn.functional.logsigmoid(x))),
        attempt(lambda: opened(torch, torch.trace(dual(torch, 2, 2)))),
    ]


@in_forward_mode
def forward_and_backward(torch: Any) -> Any:
    forward = torch.autograd.forward_ad
    x, tangent = real(torch, 3), real(torch, 3)
    made = forward.make_dual(x, tangent)
    y = (made.sin() * made).exp()
    z = (made * 1).mul_(made).tanh_()
    found = []
    for each in (y, z):
        primal, along = forward.unpack_dual(each)
        found.append(
            [
                reported(primal),
                reported(along.requires_grad),
                reported(torch.autograd.grad(along.sum(), (x, tangent), retain_graph=True)),
            ]
        )
    return found


@in_forward_mode
def forward_without_mode(torch: Any) -> Any:
    x = dual(torch, 3)
    with torch.no_grad():
        first = opened(torch, x * x)
    with torch.autograd.forward_ad._set_fwd_grad_enabled(False):
        second = opened(torch, x * x)
    return [first, second]


@snippet
def forward_levels(torch: Any) -> Any:
    forward = torch.autograd.forward_ad

    def nested() -> None:
        with forward.dual_level(), forward.dual_level():
            pass

    with forward.dual_level():
        x = dual(torch, 3)
        y = x * 2
    outside = reported(y)
    return [
        attempt(nested),
        outside,
        attempt(lambda: forward.make_dual(torch.ones(1), torch.ones(1))),
        attempt(lambda: forward.unpack_dual(y)),
    ]


@in_forward_mode
def forward_zero_tangents(torch: Any) -> Any:
    forward = torch.autograd.forward_ad
    zero = torch._efficientzerotensor((3,), dtype=torch.double)
    x = forward.make_dual(torch.ones(3, dtype=torch.double), zero)
    y = dual(torch, 3)
    made = [x * 2, x * x, x.sin(), x + 1, x.view(3, 1), torch.cat([x, x]), x.sum(), x * y, x + y]
    return [
        opened(torch, made),
        attempt(lambda: opened(torch, (x * 1).mul_(2))),
        attempt(lambda: opened(torch, x.clone().exp_())),
    ]


@in_forward_mode
def forward_of_complex(torch: Any) -> Any:
    forward = torch.autograd.forward_ad
    x = forward.make_dual(torch.randn(3, dtype=torch.cdouble), torch.randn(3, dtype=torch.cdouble))
    return opened(
        torch, [each.resolve_conj() for each in (x * x, x.abs(), x.conj(), torch.view_as_real(x), x * 2.0, x.exp())]
    )
