"""The table of operators against PyTorch: what it calls linear is linear on numbers, and what not is not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from derivlint.operators import Book
from derivlint.operators.reference.terms import Polynomial, polynomials

#: Arguments beside the first for functions that want more.
MORE: dict[str, tuple[Any, ...]] = {
    "transpose": (0, 1), "permute": ((1, 0),), "movedim": (0, 1), "moveaxis": (0, 1), "swapaxes": (0, 1),
    "swapdims": (0, 1), "reshape": ((4,),), "flip": ((0,),), "roll": (1,), "tile": ((2,),), "cumsum": (0,),
    "narrow": (0, 0, 1), "select": (0, 1), "split": (1,), "chunk": (2,), "unsqueeze": (0,),
    "index_select": (0, torch.tensor([1, 0])), "take": (torch.tensor([3, 0]),), "gather": (0, torch.tensor([[1, 0]])),
    "masked_select": (torch.tensor([[True, False], [True, True]]),), "take_along_dim": (torch.tensor([[1, 0]]), 0),
    "repeat_interleave": (2,), "tensor_split": (2,), "hsplit": (2,), "vsplit": (2,), "unflatten": (0, (2, 1)),
    "unfold_copy": (0, 1, 1), "as_strided": ((2,), (1,)), "as_strided_copy": ((2,), (1,)), "expand_copy": ((2, 2),),
    "select_copy": (0, 1), "narrow_copy": (0, 0, 1), "constant_pad_nd": ((1, 1),), "pow": (3,), "polygamma": (1,),
    "softmax": (0,), "log_softmax": (0,), "cumprod": (0,), "cummax": (0,), "cummin": (0,), "logcumsumexp": (0,),
    "logsumexp": (0,), "clamp": (0.1, 0.9), "clamp_min": (0.5,), "clamp_max": (0.5,),
}  # fmt: skip


def functions(names: Iterator[str]) -> Iterator[tuple[str, Callable[[torch.Tensor], torch.Tensor]]]:
    """The functions of torch of these names that take one real matrix."""
    for name in names:
        function = getattr(torch, name, None)
        if not callable(function) or isinstance(function, type):
            continue

        def call(
            value: torch.Tensor, function: Callable[..., Any] = function, more: tuple[Any, ...] = MORE.get(name, ())
        ) -> torch.Tensor:
            result = function(value, *more)
            parts = result if isinstance(result, (tuple, list)) else (result,)
            flat = [torch.view_as_real(part) if part.is_complex() else part for part in parts]
            return torch.cat([part.reshape(-1).to(torch.float64) for part in flat])

        try:
            with torch.no_grad():
                call(torch.rand(2, 2, dtype=torch.float64))
        except (TypeError, RuntimeError, ValueError):
            continue
        yield name, call


SINGLE = polynomials()["sum"]
UNARY = dict(functions(iter(sorted(name for name, item in polynomials().items() if item.terms == SINGLE.terms))))
#: Masks are the same on nearly all numbers; "torch.cholesky" is deprecated.
MASKS = frozenset({"isnan", "isinf", "isfinite", "logical_not", "cholesky"})
CURVED = dict(functions(iter(sorted(Book.by_hand("nonlinear") - MASKS))))


def test_most_of_the_table_is_compared() -> None:
    assert len(UNARY) >= 50
    assert len(CURVED) >= 50


@pytest.mark.parametrize("name", sorted(UNARY))
def test_linear_functions_are_linear(name: str) -> None:
    torch.manual_seed(0)
    one, other = torch.rand(2, 2, 2, dtype=torch.float64)
    call = UNARY[name]
    torch.testing.assert_close(call(one * 2 - other * 3), call(one) * 2 - call(other) * 3)


@pytest.mark.parametrize("name", sorted(CURVED))
def test_other_functions_are_not_linear(name: str) -> None:
    """Not on every pair of matrices: some are linear in patches."""
    dice = random.Random(0)
    call = CURVED[name]
    for _ in range(20):
        one, other = torch.empty(2, 2, 2, dtype=torch.float64).uniform_(-2, 2)
        scale = dice.uniform(-2, 2)
        try:
            if not torch.allclose(call(one * scale + other), call(one) * scale + call(other), equal_nan=True):
                return
        except RuntimeError:
            continue
    raise AssertionError(f"{name} looks linear")


def matrices(polynomial: Polynomial, name: str) -> dict[str, Any] | None:
    """Arguments for an operator of several tensors."""
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("vec", "vec1", "vec2", "tensor"), (2,)),
        **dict.fromkeys(("batch1", "batch2"), (3, 2, 2)),
    }
    if name in ("dot", "vdot", "mv", "ger", "outer", "inner"):
        shapes |= {"self": (2, 2) if name == "mv" else (2,), "other": (2,)}
    if name in ("bmm", "baddbmm"):
        shapes |= {"self": (3, 2, 2), "mat2": (3, 2, 2)}
    if name == "addmv":
        shapes["self"] = (2,)
    if name in ("cross", "linalg_cross"):
        shapes |= {"self": (3,), "other": (3,)}
    used = {part for term in polynomial.terms for part in (*term.factors, *term.divisors)}
    arguments: dict[str, Any] = {}
    for parameter in polynomial.parameters:
        if parameter in ("alpha", "beta", "value") and name != "fill":
            arguments[parameter] = 1.5
        elif parameter in used:
            arguments[parameter] = torch.rand(shapes.get(parameter, (2, 2)), dtype=torch.float64) + 0.5
    if name == "where":
        arguments["condition"] = torch.tensor([[True, False], [False, True]])
    return arguments


NARY = sorted(
    name
    for name, item in polynomials().items()
    if item.terms
    and len(item.parameters) > 1
    and (callable(getattr(torch, name, None)) or name == "linalg_cross")
    and name
    not in (
        # these want indices, sources or lists, and are covered by the entries of the file that use them
        *("index_copy", "index_add", "index_put", "scatter", "scatter_add", "put", "masked_fill", "masked_scatter"),
        *("index_fill", "slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter", "fill", "full"),
        *("cholesky_solve", "lu_solve", "triangular_solve", "full_like", "sspaddmm", "fill_", "complex", "polar"),
        *("_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "_unsafe_index_put", "_sparse_mm"),
        *("_sparse_sparse_matmul", "rsub", "ldexp", "cross"),
        # no kernel for processors
        *("_masked_scale", "_mps_convolution", "_mps_convolution_transpose", "cudnn_convolution"),
        *("cudnn_convolution_transpose", "miopen_convolution", "miopen_convolution_transpose"),
        "miopen_depthwise_convolution",
        # not on every processor
        "_nnpack_spatial_convolution",
        # below, with what else they take
        *("conv_tbc", "mkldnn_convolution", "sparse_compressed_tensor"),
        # test_terms_of_helpers.py
        *("convolution", "_convolution", "_grouped_mm", "_linalg_solve_ex", "embedding"),
    )
)


@pytest.mark.parametrize("name", NARY)
def test_operators_of_several_tensors_are_what_the_table_says(name: str) -> None:
    """Linear or affine in every factor, and not in a divisor."""
    torch.manual_seed(0)
    polynomial = polynomials()[name]
    function = getattr(torch, name, None) or torch.linalg.cross
    arguments = matrices(polynomial, name)
    assert arguments is not None
    divisors = {part for term in polynomial.terms for part in term.divisors}

    def call(**changed: torch.Tensor) -> torch.Tensor:
        given = {**arguments, **changed}
        keywords = {key: given.pop(key) for key in ("alpha", "beta", "value") if key in given}
        if name in ("baddbmm", "addbmm", "addmm", "addmv", "addr"):
            keywords.pop("value", None)
        order = [key for key in polynomial.parameters if key in given]
        result: torch.Tensor = function(*(given[key] for key in order), **keywords)
        return result

    for parameter, value in arguments.items():
        if not isinstance(value, torch.Tensor) or value.dtype is torch.bool:
            continue
        one, other = torch.rand(2, *value.shape, dtype=torch.float64) + 0.5
        zero = torch.zeros_like(value)
        if parameter in divisors:
            middle = call(**{parameter: (one + other) / 2})
            average = (call(**{parameter: one}) + call(**{parameter: other})) / 2
            curved = not torch.allclose(middle, average)
            # "copysign" and its like are constant in patches
            assert curved or name == "copysign", parameter
        else:
            both = call(**{parameter: one + other}) + call(**{parameter: zero})
            torch.testing.assert_close(both, call(**{parameter: one}) + call(**{parameter: other}))


#: Convolutions: the sizes of their input, weight and bias, and what they take after these.
CONVOLUTIONS: dict[str, tuple[tuple[tuple[int, ...], ...], tuple[Any, ...]]] = {
    "convolution": (((1, 2, 4, 4), (2, 2, 2, 2), (2,)), ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)),
}


@pytest.mark.parametrize("name", sorted(CONVOLUTIONS))
def test_convolutions_are_what_the_table_says(name: str) -> None:
    """The product of input and weight plus the bias, each counted once."""
    torch.manual_seed(0)
    sizes, more = CONVOLUTIONS[name]
    parameters = polynomials()[name].parameters
    arguments = dict(zip(parameters, map(torch.rand, sizes), strict=True))
    zeros = {parameter: torch.zeros_like(value) for parameter, value in arguments.items()}

    def call(**changed: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = getattr(torch, name)(*{**arguments, **changed}.values(), *more)
        return result

    for parameter, value in arguments.items():
        change = torch.rand_like(value)
        both = call(**{parameter: value + change}) + call(**{parameter: zeros[parameter]})
        torch.testing.assert_close(both, call() + call(**{parameter: change}))
    alone = {term.factors for term in polynomials()[name].terms if len(term.factors) == 1}
    for parameter in parameters:
        only = call(**{**zeros, parameter: arguments[parameter]})
        assert bool(only.any()) is ((parameter,) in alone)


def of_values(values: torch.Tensor) -> torch.Tensor:
    made: torch.Tensor = torch.ops.aten._sparse_coo_tensor_unsafe(torch.tensor([[0, 1, 2]]), values, (4,))
    return made


def projected(values: torch.Tensor) -> torch.Tensor:
    mask = of_values(torch.ones(3, dtype=torch.float64)).coalesce()
    found: torch.Tensor = torch.ops.aten._sparse_mask_projection(of_values(values), mask)
    return found


def compressed(values: torch.Tensor) -> torch.Tensor:
    rows, columns = torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1])
    return torch.sparse_compressed_tensor(rows, columns, values, (2, 2), layout=torch.sparse_csr, check_invariants=True)


def nested(values: torch.Tensor) -> torch.Tensor:
    return torch._nested_tensor_from_tensor_list([values, values[:2]]).to_padded_tensor(0.0)


@pytest.mark.parametrize("call", [of_values, projected, compressed, nested])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors", "ignore:Sparse CSR tensor support")
def test_what_makes_sparse_and_nested_tensors_is_linear(call: Callable[[torch.Tensor], torch.Tensor]) -> None:
    one, other = torch.rand(2, 3, dtype=torch.float64)
    torch.testing.assert_close(call(one * 2 - other).to_dense(), call(one).to_dense() * 2 - call(other).to_dense())
