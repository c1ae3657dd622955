"""Operators of matrices and batches that have a definition compute what PyTorch's own compute."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from derivlint.functional.definitions import INTERPRETER
from derivlint.operators.reference.definitions import FOLDER, DefinitionKind, read_definitions

FILES = (
    *("attention", "class_losses", "gated", "linear_algebra", "normalization", "products", "reductions", "shapes"),
)
OPERATORS = sorted(
    each.name
    for file in FILES
    for each in read_definitions((FOLDER / f"{file}.txt").read_text(encoding="utf-8"))
    if each.kind is DefinitionKind.OPERATOR
)
#: Operators that run on sparse and nested tensors only.
NOT_CALLED = frozenset(
    {
        *("_sparse_log_softmax", "_sparse_log_softmax_backward_data", "_sparse_softmax"),
        *("_sparse_softmax_backward_data", "matmul_backward"),
    }
)


def tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.1


def positive(size: int) -> Tensor:
    """A positive definite matrix."""
    matrix = tensor(2, size, size)
    return matrix @ matrix.mT + torch.eye(size, dtype=torch.float64)


def statistics() -> tuple[Tensor, ...]:
    """The input, weight, bias, mean and variance of a normalization."""
    return tensor(3, 2, 4), tensor(2, seed=1), tensor(2, seed=2), tensor(2, seed=3), tensor(2, seed=4)


def softmax() -> Tensor:
    return tensor(3, 4).softmax(1)


def masked_softmax() -> tuple[Any, ...]:
    mask = tensor(3, 4, seed=1) > 0.6
    return tensor(3, 4), tensor(3, 4).masked_fill(mask, -math.inf).softmax(1), mask, 1


def gated() -> tuple[Any, ...]:
    """What has been computed of a gradient and a tensor, and how these move."""
    grad, x = tensor(3, 2, seed=1), tensor(3, 4, seed=2)
    return torch.ops.aten.glu_backward.default(grad, x, 1), grad, x, tensor(3, 2, seed=3), tensor(3, 4, seed=4), 1


def distances() -> tuple[Any, ...]:
    x, y = tensor(3, 2), tensor(4, 2, seed=1)
    return tensor(3, 4, seed=2), x, y, 2.0, torch.cdist(x, y)


def weight_norm() -> tuple[Any, ...]:
    """A gradient, a direction, a length of each row, and the norms of the rows."""
    v = tensor(3, 4)
    return tensor(3, 4, seed=1), v, tensor(3, 1, seed=2), v.norm(dim=1, keepdim=True), 0


def training(eps: float = 1e-5) -> tuple[Any, ...]:
    """A gradient, and what a normalization by the input has saved."""
    x, weight, _, mean, variance = statistics()
    _, saved, invstd = torch.ops.aten.native_batch_norm.default(x, weight, None, None, None, True, 0.1, eps)
    return tensor(3, 2, 4, seed=9), x, weight, mean, variance, saved, invstd


def by_layer() -> tuple[Any, ...]:
    """The input, shape, weight and bias of a normalization of the last dimensions."""
    return tensor(2, 3, 4), [3, 4], tensor(3, 4, seed=1), tensor(3, 4, seed=2)


def saved_by_layer() -> tuple[Any, ...]:
    x, shape, weight, bias = by_layer()
    _, mean, rstd = torch.ops.aten.native_layer_norm.default(x, shape, weight, bias, 1e-5)
    return tensor(2, 3, 4, seed=8), x, shape, mean, rstd, weight, bias, [True, True, True]


def by_group() -> tuple[Any, ...]:
    return tensor(2, 4, 3), tensor(4, seed=1), tensor(4, seed=2), 2, 4, 3, 2, 1e-5


def saved_by_group() -> tuple[Any, ...]:
    _, mean, rstd = torch.ops.aten.native_group_norm.default(*by_group())
    return tensor(2, 4, 3, seed=8), tensor(2, 4, 3), mean, rstd, tensor(4, seed=1), 2, 4, 3, 2, [True] * 3


def heads() -> tuple[Tensor, ...]:
    """Queries, keys and values."""
    return tensor(2, 2, 3, 4), tensor(2, 2, 5, 4, seed=1), tensor(2, 2, 5, 4, seed=2)


def mask_of_heads() -> Tensor:
    return tensor(2, 2, 3, 5, seed=3) - 0.5


def attention_backward(is_causal: bool, mask: Tensor | None) -> tuple[Any, ...]:
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    found = flash.default(*heads(), 0.0, is_causal, attn_mask=mask)
    return tensor(2, 2, 3, 4, seed=7), *heads(), *found, 0.0, is_causal, mask


def classes(*shape: int) -> tuple[Tensor, Tensor, Tensor]:
    """Scores, the class that is right, and the weights of the classes."""
    target = torch.arange(math.prod(shape) // shape[1]).reshape(shape[0], *shape[2:]) % shape[1]
    return tensor(*shape), target, tensor(shape[1], seed=1)


def several_classes() -> tuple[Tensor, Tensor]:
    return tensor(3, 4), torch.tensor([[0, 2, -1, 1], [-1, 0, 1, 2], [3, 1, 0, 2]])


def saved_classes(reduction: int) -> tuple[Any, ...]:
    x, target = several_classes()
    _, is_target = torch.ops.aten.multilabel_margin_loss_forward.default(x, target, reduction)
    grad = tensor(3, seed=5) if reduction == 0 else torch.tensor(1.7, dtype=torch.float64)
    return grad, x, target, reduction, is_target


def nll_backward(reduction: int, *shape: int) -> tuple[Any, ...]:
    x, target, weight = classes(*shape)
    forward = torch.ops.aten.nll_loss_forward if len(shape) < 4 else torch.ops.aten.nll_loss2d_forward
    output, total = forward.default(x, target, weight, reduction, 1)
    return tensor(*output.shape, seed=5), x, target, weight, reduction, 1, total


def margins(reduction: int, p: int, weighted: bool) -> tuple[Any, ...]:
    x, target, weight = classes(3, 4)
    return x, target, p, 0.8, weight if weighted else None, reduction


def margins_backward(reduction: int, p: int, weighted: bool) -> tuple[Any, ...]:
    grad = tensor(3, seed=5) if reduction == 0 else torch.tensor(1.7, dtype=torch.float64)
    return grad, *margins(reduction, p, weighted)


#: Arguments of the operators; what comes after a comma tells cases of one operator apart.
ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "_cdist_backward": distances,
    "_cdist_forward": lambda: (tensor(3, 2), tensor(4, 2, seed=1), 2.0, None),
    "_cdist_forward, of batches": lambda: (tensor(2, 3, 2), tensor(4, 2, seed=1), 1.5, None),
    "_euclidean_dist": lambda: (tensor(3, 2), tensor(4, 2, seed=1)),
    "_linalg_slogdet": lambda: (tensor(2, 3, 3),),
    "_log_softmax": lambda: (tensor(3, 4), 1, False),
    "_log_softmax_backward_data": lambda: (tensor(3, 4), softmax().log(), 1, torch.float64),
    "_native_batch_norm_legit": lambda: (*statistics(), False, 0.1, 1e-5),
    "_native_batch_norm_legit_no_training": lambda: (*statistics(), 0.1, 1e-5),
    "_safe_softmax": lambda: (tensor(3, 4), 1),
    "_softmax": lambda: (tensor(3, 4), -1, False),
    "_softmax_backward_data": lambda: (tensor(3, 4), softmax(), 1, torch.float64),
    "_trilinear": lambda: (tensor(2, 3), tensor(3, 4, seed=1), tensor(2, 4, seed=2), [2], [0], [1], [1]),
    "_weight_norm_differentiable_backward": weight_norm,
    "_weight_norm_interface": lambda: (weight_norm()[1], weight_norm()[2], 0),
    "_weight_norm_interface_backward": weight_norm,
    "renorm": lambda: (tensor(3, 4), 2.0, 0, 1.2),
    "cholesky": lambda: (positive(3),),
    "cholesky_inverse": lambda: (torch.linalg.cholesky(positive(3)),),
    "cholesky_solve": lambda: (tensor(2, 3, 2), torch.linalg.cholesky(positive(3)), False),
    "linalg_inv_ex": lambda: (positive(3),),
    "native_batch_norm": lambda: (*statistics(), False, 0.1, 1e-5),
    "native_batch_norm_backward": lambda: (
        *(tensor(3, 2, 4, seed=9), *(each for index, each in enumerate(statistics()) if index != 2)),
        *(None, None, False, 1e-5, [True, True, True]),
    ),
    "native_batch_norm, training": lambda: (*statistics(), True, 0.1, 1e-5),
    "_native_batch_norm_legit, training": lambda: (*statistics(), True, 0.1, 1e-5),
    "native_batch_norm_backward, training": lambda: (*training(), True, 1e-5, [True, True, True]),
    "_batch_norm_with_update": lambda: (*statistics(), 0.1, 1e-5),
    "_batch_norm_no_update": lambda: (*statistics(), 0.1, 1e-5),
    "batch_norm_backward": lambda: (*training(), True, 1e-5, [True, True, True], tensor(1)),
    "native_layer_norm": lambda: (*by_layer(), 1e-5),
    "native_layer_norm, plain": lambda: (*by_layer()[:2], None, None, 1e-5),
    "native_layer_norm_backward": saved_by_layer,
    "_fused_rms_norm": lambda: (*by_layer()[:3], 1e-5),
    "_fused_rms_norm, plain": lambda: (*by_layer()[:2], None, 1e-5),
    "native_group_norm": by_group,
    "native_group_norm_backward": saved_by_group,
    "_masked_softmax": lambda: (tensor(3, 4), tensor(3, 4, seed=1) > 0.6, 1, 1),
    "_masked_softmax, of the last dimension": lambda: (tensor(3, 4), tensor(3, 4, seed=1) > 0.6, None, 1),
    "_masked_softmax_backward": masked_softmax,
    "var": lambda: (tensor(3, 4),),
    "std": lambda: (tensor(3, 4),),
    "_pdist_forward": lambda: (tensor(4, 3), 1.5),
    "embedding": lambda: (tensor(5, 3), torch.tensor([[0, 2], [4, 2]]), 2, False, False),
    "embedding_dense_backward": lambda: (tensor(2, 2, 3), torch.tensor([[0, 2], [4, 2]]), 5, -1, True),
    "embedding_dense_backward, padded": lambda: (tensor(2, 2, 3), torch.tensor([[0, 2], [4, 2]]), 5, 2, False),
    "view_as_real": lambda: (torch.complex(tensor(3), tensor(3, seed=1)),),
    "view_as_complex": lambda: (tensor(3, 2),),
    "linalg_lstsq": lambda: (tensor(4, 2), tensor(4, 3, seed=1)),
    "glu": lambda: (tensor(3, 4), 1),
    "glu_backward": lambda: (tensor(3, 2), tensor(3, 4, seed=1), 1),
    "glu_jvp": lambda: (torch.nn.functional.glu(tensor(3, 4), 1), tensor(3, 4), tensor(3, 4, seed=2), 1),
    "glu_backward_jvp": gated,
    "_scaled_dot_product_flash_attention_for_cpu": lambda: (*heads(), 0.0, False),
    "_scaled_dot_product_flash_attention_for_cpu, causal": lambda: (*heads(), 0.0, True),
    "_scaled_dot_product_flash_attention_for_cpu_backward": lambda: attention_backward(False, mask_of_heads()),
    "_scaled_dot_product_flash_attention_for_cpu_backward, causal": lambda: attention_backward(True, None),
    "_thnn_differentiable_lstm_cell_backward": lambda: (tensor(2, 2), tensor(2, 2, seed=8), *lstm_gates()),
    "_thnn_differentiable_lstm_cell_backward, of the cell state": lambda: (None, tensor(2, 2, seed=8), *lstm_gates()),
    "_thnn_differentiable_lstm_cell_backward, of the result": lambda: (tensor(2, 2, seed=7), None, *lstm_gates()),
    "_thnn_differentiable_gru_cell_backward": lambda: (tensor(2, 2, seed=7), *gru_gates()),
    "_thnn_differentiable_gru_cell_backward, bare": lambda: (tensor(2, 2, seed=7), *gru_gates()[:3], None, None),
    "nll_loss_forward": lambda: (*classes(3, 4), 0, 1),
    "nll_loss_forward, mean": lambda: (*classes(3, 4), 1, 1),
    "nll_loss_forward, sum": lambda: (*classes(3, 4), 2, 1),
    "nll_loss_forward, one": lambda: (tensor(4), torch.tensor(2), None, 1, -100),
    "nll_loss2d_forward": lambda: (*classes(2, 3, 2, 2), 1, 1),
    "nll_loss_backward": lambda: nll_backward(0, 3, 4),
    "nll_loss_backward, mean": lambda: nll_backward(1, 3, 4),
    "nll_loss_backward, sum": lambda: nll_backward(2, 3, 4),
    "nll_loss2d_backward": lambda: nll_backward(0, 2, 3, 2, 2),
    "multi_margin_loss": lambda: margins(1, 1, False),
    "multi_margin_loss, squared": lambda: margins(0, 2, True),
    "multi_margin_loss_backward": lambda: margins_backward(1, 1, False),
    "multi_margin_loss_backward, squared": lambda: margins_backward(0, 2, True),
    "multilabel_margin_loss_forward": lambda: (*several_classes(), 1),
    "multilabel_margin_loss_forward, each": lambda: (*several_classes(), 0),
    "multilabel_margin_loss_backward": lambda: saved_classes(1),
    "multilabel_margin_loss_backward, each": lambda: saved_classes(0),
    "linalg_cross": lambda: (tensor(2, 3), tensor(2, 3, seed=1)),
    "triangular_solve": lambda: (tensor(2, 3, 2), tensor(2, 3, 3).triu() + torch.eye(3, dtype=torch.float64)),
    "_convolution_double_backward": lambda: convolution_twice_back(),
    "conv_tbc": lambda: (tensor(4, 2, 3), tensor(2, 3, 5, seed=1), tensor(5, seed=2), 1),
    "conv_tbc_backward": lambda: (
        tensor(5, 2, 5, seed=3),
        tensor(4, 2, 3),
        tensor(2, 3, 5, seed=1),
        tensor(5, seed=2),
        1,
    ),
}


def keywords(name: str, given: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments as Python takes them: those that only have a name after the others."""
    schema = getattr(torch.ops.aten, name).default._schema
    count = sum(not each.kwarg_only for each in schema.arguments)
    names = [each.name for each in schema.arguments]
    return list(given[:count]), dict(zip(names[count:], given[count:], strict=False))


def base(case: str) -> str:
    return case.partition(",")[0]


def lstm_gates() -> tuple[Tensor, ...]:
    """Of an LSTM cell the gates of the input and of the hidden state, both biases, the old and the new cell state."""
    x, h, b, d, c = tensor(2, 8), tensor(2, 8, seed=1), tensor(8, seed=2), tensor(8, seed=3), tensor(2, 2, seed=4)
    i, f, n, _ = (x + h + b + d).chunk(4, 1)
    return x, h, b, d, c, f.sigmoid() * c + i.sigmoid() * n.tanh()


def gru_gates() -> tuple[Tensor, ...]:
    """Of a GRU cell the gates of the input and of the hidden state, the hidden state, and both biases."""
    return tensor(2, 6), tensor(2, 6, seed=1), tensor(2, 2, seed=4), tensor(6, seed=2), tensor(6, seed=3)


def lstm_cell() -> tuple[tuple[Any, ...], Any]:
    x, h, c = tensor(2, 3), tensor(2, 2, seed=1), tensor(2, 2, seed=2)
    w, u, b, d = tensor(8, 3, seed=3), tensor(8, 2, seed=4), tensor(8, seed=5), tensor(8, seed=6)
    return (x @ w.mT, h @ u.mT, c, b, d), torch.lstm_cell(x, (h, c), w, u, b, d)


def gru_cell() -> tuple[tuple[Any, ...], Any]:
    x, h = tensor(2, 3), tensor(2, 2, seed=1)
    w, u, b, d = tensor(6, 3, seed=3), tensor(6, 2, seed=4), tensor(6, seed=5), tensor(6, seed=6)
    return (x @ w.mT, h @ u.mT, h, b, d), (torch.gru_cell(x, h, w, u, b, d),)


def lstm_cell_back() -> tuple[tuple[Any, ...], Any]:
    hy, cy, gates = tensor(2, 2, seed=7), tensor(2, 2, seed=8), lstm_gates()
    wanted = torch.ops.aten._thnn_differentiable_lstm_cell_backward.default(hy, cy, *gates)
    x, h, b, d = gates[:4]
    i, f, n, o = (x + h + b + d).chunk(4, 1)
    workspace = torch.cat([i.sigmoid(), f.sigmoid(), n.tanh(), o.sigmoid()], 1)
    return (hy, cy, *gates[4:], workspace, True), wanted


def gru_cell_back() -> tuple[tuple[Any, ...], Any]:
    grad, (x, h, hx, b, d) = tensor(2, 2, seed=7), gru_gates()
    wanted = torch.ops.aten._thnn_differentiable_gru_cell_backward.default(grad, x, h, hx, b, d)
    (xr, xz, xn), (hr, hz, hn) = (x + b).chunk(3, 1), (h + d).chunk(3, 1)
    r = (xr + hr).sigmoid()
    workspace = torch.cat([r, (xz + hz).sigmoid(), (xn + r * hn).tanh(), hx, hn], 1)
    return (grad, workspace, True), wanted


def attention(*places: int, swapped: bool = False) -> tuple[tuple[Any, ...], Any]:
    """Arguments with the mask, dropout and causality at their places, and what attention gives."""
    mask, dropout, causal = places
    given: dict[int, Any] = dict(enumerate(heads()))
    given.update({dropout: 0.0, causal: False})
    if mask >= 0:
        given[mask] = mask_of_heads()
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    wanted = flash.default(*heads(), attn_mask=mask_of_heads() if mask >= 0 else None)
    found = tuple(given.get(index) for index in range(max(given) + 1))
    if swapped:
        turned = tuple(each.transpose(1, 2) for each in heads())
        return (*turned, *found[3:]), (wanted[0].transpose(1, 2), wanted[1])
    return found, wanted


def attention_back(query: int, *places: int, swapped: bool = False) -> tuple[tuple[Any, ...], Any]:
    """The same for the gradients, except that of the mask."""
    mask, dropout, causal = places
    bias = mask_of_heads() if mask >= 0 else None
    values = attention_backward(False, bias)
    wanted = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(*values[:8], attn_mask=bias)
    tensors = [each.transpose(1, 2) if swapped else each for each in values[:4]]
    given: dict[int, Any] = {0: tensors[0], **{query + index: each for index, each in enumerate(tensors[1:])}}
    given.update({dropout: 0.0, causal: False})
    if mask >= 0:
        given[mask] = bias
    found = tuple(given.get(index) for index in range(max(given) + 1))
    return found, tuple(each.transpose(1, 2) for each in wanted) if swapped else wanted


def batch_norm(train: bool) -> tuple[tuple[Any, ...], Any]:
    given = (*statistics(), train, 0.1, 1e-5)
    return given, torch.ops.aten.native_batch_norm.default(*given)


def batch_norm_back() -> tuple[tuple[Any, ...], Any]:
    grad, x, *saved = training()
    wanted = torch.ops.aten.native_batch_norm_backward.default(grad, x, *saved, True, 1e-5, [True] * 3)
    return (x, grad, *saved, 1e-5, None), wanted


def root_back() -> tuple[tuple[Any, ...], Any]:
    x, shape, weight, _ = by_layer()
    grad, inputs = tensor(2, 3, 4, seed=8), (x.requires_grad_(), weight.requires_grad_())
    wanted = torch.autograd.grad(torch.rms_norm(x, shape, weight, 1e-5), inputs, grad)
    rstd = torch.ops.aten._fused_rms_norm.default(x, shape, weight, 1e-5)[1].detach()
    return (grad, x.detach(), shape, rstd, weight.detach(), [True, True]), wanted


def linear() -> tuple[tuple[Any, ...], Any]:
    given = tensor(2, 3), tensor(4, 3, seed=1), tensor(4, seed=2)
    return given, torch.nn.functional.linear(*given)


def linear_back() -> tuple[tuple[Any, ...], Any]:
    x, grad, weight = tensor(2, 3), tensor(2, 4, seed=2), tensor(4, 3, seed=1)
    return (x, grad, weight, [True] * 3), (grad @ weight, grad.mT @ x, grad.sum(0))


def convolved(names: str, count: int = 2, groups: int = 1) -> tuple[tuple[Any, ...], Any]:
    """The arguments of a convolution by their names, whose first letter is enough, and what "convolution" gives.

    A "/" stands for a flag that says how to compute. With an output padding, the convolution is transposed.
    """
    is_transposed = "o" in names
    shape = (4, 2) if is_transposed else (6 if groups == 1 else 8, 4 // groups)
    values: dict[str, Any] = {
        "x": tensor(2, 4, *(5, 6, 4)[:count]),
        "w": tensor(*shape, *(2, 3, 2)[:count], seed=1),
        "b": tensor(shape[is_transposed], seed=2),
        "k": [2, 3, 2][:count],
        "s": [2, 1, 3][:count],
        "p": [1, 2, 0][:count],
        "d": [1, 2, 1][:count],
        "o": [1, 0, 2][:count],
        "t": is_transposed,
        "g": groups,
        "/": False,
    }
    one, zero = [1] * count, [0] * count
    absent = {"b": None, "s": one, "d": one, "o": zero}
    used = {name: values[name] if name in names else absent.get(name, values[name]) for name in "xwbspdtog"}
    return tuple(values[name] for name in names), torch.convolution(*used.values())


def transposed_convolution_back() -> tuple[tuple[Any, ...], Any]:
    x, weight = tensor(2, 3, 4, 4).requires_grad_(), tensor(3, 5, 2, 2, seed=1).requires_grad_()
    value = torch.nn.functional.conv_transpose2d(x, weight, padding=1, stride=2, output_padding=1)
    grad = tensor(*value.shape, seed=3)
    arguments = x.detach(), grad, weight.detach(), [1, 1], [1, 1], [2, 2], [1, 1], 1, [True, True]
    return arguments, torch.autograd.grad(value, (x, weight), grad)


def convolution_twice_back() -> tuple[Any, ...]:
    x, weight, grad = tensor(2, 3, 4, 4), tensor(5, 3, 2, 2, seed=1), tensor(2, 5, 5, 5, seed=2)
    second = tensor(2, 3, 4, 4, seed=3), tensor(5, 3, 2, 2, seed=4), tensor(5, seed=5)
    return (*second, grad, weight, x, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True] * 3)


def convolution_back(order: tuple[int, int, int], *rest: Any) -> tuple[tuple[Any, ...], Any]:
    """The gradient, the input and the weight in an order, further arguments, and the gradients that follow."""
    x, weight, bias = (
        tensor(*shape, seed=seed).requires_grad_() for seed, shape in enumerate(((2, 3, 4, 4), (5, 3, 2, 2), (5,)))
    )
    value = torch.nn.functional.conv2d(x, weight, bias, padding=1)
    grad = tensor(*value.shape, seed=3)
    tensors = grad, x.detach(), weight.detach()
    gradients = torch.autograd.grad(value, (x, weight, bias), grad)
    return (*(tensors[place] for place in order), *rest, [True] * 3), gradients


#: Operators that the processor has no kernel for: arguments, and what another operator gives.
SIBLINGS: dict[str, Callable[[], tuple[tuple[Any, ...], Any]]] = {
    "_cudnn_attention_backward": lambda: attention_back(1, 8, 13, 14),
    "_cudnn_attention_forward": lambda: attention(3, 9, 10),
    "_efficient_attention_backward": lambda: attention_back(1, 4, 11, 14, swapped=True),
    "_efficient_attention_forward": lambda: attention(3, 8, 9, swapped=True),
    "_flash_attention_backward": lambda: attention_back(1, -1, 10, 11, swapped=True),
    "_flash_attention_forward": lambda: attention(-1, 7, 8, swapped=True),
    "_fused_rms_norm_backward": root_back,
    "_scaled_dot_product_cudnn_attention": lambda: attention(3, 5, 6),
    "_scaled_dot_product_cudnn_attention_backward": lambda: attention_back(1, 8, 13, 14),
    "_scaled_dot_product_efficient_attention": lambda: attention(3, 5, 6),
    "_scaled_dot_product_efficient_attention_backward": lambda: attention_back(1, 4, 9, 11),
    "_scaled_dot_product_flash_attention": lambda: attention(-1, 3, 4),
    "_scaled_dot_product_flash_attention_backward": lambda: attention_back(1, -1, 10, 11),
    "_scaled_dot_product_fused_attention_overrideable": lambda: attention(3, 4, 5),
    "_scaled_dot_product_fused_attention_overrideable_backward": lambda: attention_back(1, 4, 12, 13),
    "_thnn_fused_gru_cell": gru_cell,
    "_thnn_fused_gru_cell_backward": gru_cell_back,
    "_thnn_fused_lstm_cell": lstm_cell,
    "_thnn_fused_lstm_cell_backward": lstm_cell_back,
    "cudnn_batch_norm": lambda: batch_norm(True),
    "cudnn_batch_norm_backward": batch_norm_back,
    "miopen_batch_norm": lambda: batch_norm(True),
    "miopen_batch_norm_backward": batch_norm_back,
    "_conv_depthwise2d": lambda: convolved("xwkbspd", groups=4),
    "_convolution": lambda: convolved("xwbspdtog////"),
    "_mps_convolution": lambda: convolved("xwbpsdg", groups=2),
    "_mps_convolution_transpose": lambda: convolved("xwposdg"),
    "_nnpack_spatial_convolution": lambda: convolved("xwbps"),
    "_slow_conv2d_forward": lambda: convolved("xwkbsp"),
    "conv_depthwise3d": lambda: convolved("xwkbspd", count=3, groups=4),
    "convolution_overrideable": lambda: convolved("xwbspdtog"),
    "cudnn_convolution": lambda: convolved("xwpsdg///", groups=2),
    "cudnn_convolution_transpose": lambda: convolved("xwposdg///"),
    "miopen_convolution": lambda: convolved("xwbpsdg//", groups=2),
    "miopen_convolution_transpose": lambda: convolved("xwbposdg//"),
    "miopen_depthwise_convolution": lambda: convolved("xwbpsdg//", groups=4),
    "mkldnn_convolution": lambda: convolved("xwbpsdg", groups=2),
    "mps_convolution_transpose_backward": transposed_convolution_back,
    "slow_conv3d_forward": lambda: convolved("xwkbsp", count=3),
    "slow_conv_dilated2d": lambda: convolved("xwkbspd"),
    "slow_conv_dilated3d": lambda: convolved("xwkbspd", count=3),
    "slow_conv_transpose2d": lambda: convolved("xwkbspod"),
    "slow_conv_transpose3d": lambda: convolved("xwkbspod", count=3),
    "_slow_conv2d_backward": lambda: convolution_back((0, 1, 2), [2, 2], [1, 1], [1, 1]),
    "convolution_backward_overrideable": lambda: convolution_back((0, 1, 2), [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    "linear_backward": linear_back,
    "mkldnn_linear": linear,
    "mkldnn_linear_backward": linear_back,
    "mps_convolution_backward": lambda: convolution_back((1, 0, 2), [1, 1], [1, 1], [1, 1], 1),
    "std_mean": lambda: ((tensor(3, 4), [1]), (tensor(3, 4).std(1), tensor(3, 4).mean(1))),
    "var_mean": lambda: ((tensor(3, 4), [1]), (tensor(3, 4).var(1), tensor(3, 4).mean(1))),
}


def test_every_operator_is_called_or_cannot_be() -> None:
    assert set(OPERATORS) == {*map(base, ARGUMENTS), *SIBLINGS, *NOT_CALLED}


def agree(name: str, given: tuple[Any, ...], wanted: Any) -> None:
    """Of several outputs those that are defined, which come first; statistics are saved in training only."""
    compiled = INTERPRETER.function(name)
    assert compiled is not None
    found = compiled.primitive.function(*given)
    ours = found if isinstance(found, tuple) else (found,)
    theirs = wanted if isinstance(wanted, tuple) else (wanted,)
    pairs = [
        (one, other) for one, other in zip(ours, theirs, strict=False) if isinstance(one, Tensor) and other.numel()
    ]
    assert pairs
    for one, other in pairs:
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("case", sorted(ARGUMENTS))
def test_a_defined_operator_computes_what_pytorch_computes(case: str) -> None:
    name, given = base(case), ARGUMENTS[case]()
    positional, named = keywords(name, given)
    # operators that write running statistics get copies
    copies = [each.clone() if isinstance(each, Tensor) else each for each in positional]
    agree(name, given, getattr(torch.ops.aten, name).default(*copies, **named))


@pytest.mark.parametrize("name", sorted(SIBLINGS))
def test_an_operator_of_other_devices_computes_what_its_sibling_computes(name: str) -> None:
    given, wanted = SIBLINGS[name]()
    agree(name, given, wanted)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_products_of_sparse_matrices_have_the_pattern_of_the_factor() -> None:
    dense = tensor(3, 3) * (tensor(3, 3, seed=1) > 0.6)
    grad, other = tensor(3, 4, seed=2), tensor(3, 4, seed=3)
    pattern = (dense != 0).to(torch.float64)
    backward = INTERPRETER.function("mm_mat1_sparse_backward")
    assert backward is not None
    found = backward.primitive.function(grad, dense.to_sparse(), other, 0.5)
    torch.testing.assert_close(found.to_dense(), grad @ other.mT * 0.5 * pattern)
    sampled = INTERPRETER.function("sparse_sampled_addmm_backward")
    assert sampled is not None
    sparse, full = dense.to_sparse_csr(), tensor(3, 3, seed=4)
    first, second = tensor(3, 4, seed=5), tensor(4, 3, seed=6)
    kept = full * pattern
    into = sampled.primitive.function(full.sparse_mask(sparse), sparse, first, second, 0.5, 2.0, [True] * 3)
    torch.testing.assert_close(into[0].to_dense(), kept * 2)
    torch.testing.assert_close(into[1], kept @ second.mT * 0.5)
    torch.testing.assert_close(into[2], first.mT @ kept * 0.5)


def test_gradients_without_one_of_the_incoming_ones_are_those_of_pytorch() -> None:
    matrix, right = tensor(3, 3), tensor(3, 2)
    sign, _, factors, pivots = torch.ops.aten._linalg_slogdet.default(matrix)
    of_slogdet = INTERPRETER.function("slogdet_backward")
    of_solve = INTERPRETER.function("triangular_solve_backward")
    assert of_slogdet is not None
    assert of_solve is not None
    # the sign of a real determinant has no gradient
    assert of_slogdet.primitive.function(torch.ones_like(sign), None, matrix, sign, factors, pivots) is None
    flags = (True, False, False)
    first, second = of_solve.primitive.function(None, matrix, right, matrix, right, *flags, [True, True])
    assert torch.equal(first, torch.zeros_like(right))
    assert torch.equal(second, matrix)
