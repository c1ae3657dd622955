"""Derivatives of reductions into places that an index names.

Every element ``y`` of the result is the reduction of a group: of the elements of the source that the index sends there,
and of the element that was there before where ``include_self`` says so.
"""

from __future__ import annotations

import torch
from torch import Tensor

from derivlint.functional.tensors import wrapped

Pair = tuple[Tensor | None, Tensor | None]


class _Groups:
    """The groups of a scattering."""

    def __init__(self, dim: int, index: Tensor, include_self: bool) -> None:
        self.dim, self.index, self.include_self = dim, index, include_self

    def total(self, own: Tensor, source: Tensor) -> Tensor:
        """The sums over groups."""
        start = own if self.include_self else torch.zeros_like(own)
        return start.scatter_add(self.dim, self.index, source)

    def spread(self, value: Tensor) -> Tensor:
        """What belongs to the group of each element of the source."""
        return value.gather(self.dim, self.index)

    def untouched(self, like: Tensor) -> Tensor:
        """The groups without an element of the source."""
        return torch.ones_like(like, dtype=torch.bool).scatter(self.dim, self.index, False)

    def into_self(self, grad: Tensor) -> Tensor:
        """The gradient of what was there before: nothing where it was replaced."""
        return grad if self.include_self else grad.scatter(self.dim, self.index, 0)


def _rests_of_products(self: Tensor, src: Tensor, result: Tensor, groups: _Groups) -> tuple[Tensor, Tensor]:
    """The products of the other factors of their groups: of what was there before, and of the source.

    Of a factor that is not zero that is the result divided by it. Of one that is, it is the product of the others, in
    which another zero stays a factor, so that the product can be differentiated for it.
    """
    zeros = groups.total((self == 0).to(self.dtype), (src == 0).to(src.dtype))
    sum_of_zeros = groups.total(torch.where(self == 0, self, 0.0), torch.where(src == 0, src, 0.0))
    own, factors = (torch.where(value == 0, 1.0, value) for value in (self, src))
    start = own if groups.include_self else torch.ones_like(own)
    product = start.scatter_reduce(groups.dim, groups.index, factors, "prod")

    def rest_of_zero(factor: Tensor, product: Tensor, zeros: Tensor, sum_of_zeros: Tensor) -> Tensor:
        other_zero = torch.where(zeros == 2, sum_of_zeros - factor, 0.0)
        return product * torch.where(zeros == 1, 1.0, other_zero)

    rest_of_self = torch.where(self == 0, rest_of_zero(self, product, zeros, sum_of_zeros), result / own)
    of_groups = (groups.spread(value) for value in (product, zeros, sum_of_zeros))
    return rest_of_self, torch.where(src == 0, rest_of_zero(src, *of_groups), groups.spread(result) / factors)


def scatter_reduce_backward(
    grad: Tensor | None,
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> Pair:
    """The gradients of ``scatter_reduce``; equal largest or smallest elements share theirs."""
    if grad is None:
        return None, None
    groups = _Groups(dim, index, include_self)
    if reduce == "prod":
        rest_of_self, rest_of_src = _rests_of_products(self, src, result, groups)
        into_self, into_src = grad * rest_of_self, groups.spread(grad) * rest_of_src
    elif reduce in ("sum", "mean"):
        share = grad
        if reduce == "mean":
            share = grad / groups.total(torch.ones_like(self), torch.ones_like(src)).clamp(min=1)
        into_self, into_src = share, groups.spread(share)
    else:
        own, chosen = self == result, src == groups.spread(result)
        share = grad / groups.total(own.to(self.dtype), chosen.to(src.dtype))
        into_self, into_src = torch.where(own, share, 0.0), torch.where(chosen, groups.spread(share), 0.0)
    return groups.into_self(into_self), into_src


def scatter_reduce_jvp(
    self_p: Tensor,
    self_t: Tensor,
    dim: int,
    index: Tensor,
    src_p: Tensor,
    src_t: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> Tensor:
    """The tangent of ``scatter_reduce``: the mean over equal largest or smallest elements."""
    if reduce in ("sum", "mean"):
        return torch.scatter_reduce(self_t, dim, index, src_t, reduce, include_self=include_self)
    groups = _Groups(dim, index, include_self)
    if reduce == "prod":
        rest_of_self, rest_of_src = _rests_of_products(self_p, src_p, result, groups)
        moved = groups.total(self_t * rest_of_self, src_t * rest_of_src)
        return torch.where(groups.untouched(self_t), self_t, moved)
    own, chosen = self_p == result, src_p == groups.spread(result)
    moved = groups.total(torch.where(own, self_t, 0.0), torch.where(chosen, src_t, 0.0))
    count = groups.total(own.to(self_t.dtype), chosen.to(src_t.dtype))
    return torch.where(groups.untouched(self_t), self_t, moved / count)


def index_reduce_backward(
    grad: Tensor | None,
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> Pair:
    """The gradients of ``index_reduce``: those of ``scatter_reduce`` with the index spread over the source."""
    if grad is None:
        return None, None
    given = [value.reshape(1) if not value.dim() else value for value in (grad, self, source, result)]
    grad, own, flat, value = given
    shape = [1] * flat.dim()
    shape[wrapped(dim, flat.dim())] = -1
    spread = index.reshape(shape).expand(flat.shape)
    into_self, into_source = scatter_reduce_backward(grad, own, dim, spread, flat, reduce, include_self, value)
    assert into_self is not None
    assert into_source is not None
    return into_self.reshape(self.shape), into_source.reshape(source.shape)
