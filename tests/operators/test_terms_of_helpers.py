"""The helpers in the table of terms on numbers: what they are linear in, and over which numbers."""

# ruff: noqa: N803, N806 - names of matrices as in formulas

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

import derivlint.functional as helpers
from derivlint.analysis.interpretation.callee import is_conventional
from derivlint.functional.definitions import INTERPRETER
from derivlint.functional.tensors import Duals
from derivlint.operators.reference.derived import derived
from derivlint.operators.reference.terms import Parity, Polynomial, polynomials

#: Helpers of nested and sparse tensors, for which generated Python has nothing, and kernels of other scalar types.
NOT_RUN = {
    "_nested_select_backward",
    "_nested_split_with_sizes_backward",
    "_nested_sum_backward",
    "chunk_backward_nested",
    "unbind_backward_nested",
    "unbind_backward_nested_jagged",
}
Made = tuple[Callable[..., Any], dict[str, Any]]


def complex_(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.complex128)


def defined(name: str, **fixed: Any) -> Callable[..., Any]:
    """A helper with a definition, whose terms are derived; its arguments by name."""
    compiled = INTERPRETER.function(name)
    assert compiled is not None
    return lambda **given: compiled.call({**fixed, **given})


def of_svd() -> dict[str, Any]:
    U, S, Vh = torch.linalg.svd(complex_(3, 2), full_matrices=False)
    return {"U": U, "S": S, "Vh": Vh}


def of_eig() -> dict[str, Any]:
    L, V = torch.linalg.eig(complex_(3, 3))
    return {"L": L, "V": V}


def of_qr() -> dict[str, Any]:
    Q, R = torch.linalg.qr(complex_(3, 2))
    return {"Q": Q, "R": R}


def reflections() -> dict[str, Any]:
    A, tau = torch.geqrf(complex_(3, 2))
    return {"input": A, "tau": tau}


def svd_backward() -> Made:
    given = {"gU": complex_(3, 2), "gS": torch.randn(2, dtype=torch.float64), "gVh": complex_(2, 2)}
    return defined("svd_backward"), {**given, **of_svd()}


def linalg_det_jvp() -> Made:
    det, LU, pivots = torch.ops.aten._linalg_det(complex_(3, 3))
    function = partial(helpers.linalg_det_jvp, pivots=pivots, use_A_T=False)
    return function, {"dA": complex_(3, 3), "det": det, "LU": LU}


def householder_product_backward() -> Made:
    made = reflections()
    result = torch.linalg.householder_product(made["input"], made["tau"])
    return helpers.householder_product_backward, {"grad": complex_(3, 2), "result": result, **made}


def householder_product_jvp() -> Made:
    made = reflections()
    V, tau = made["input"], made["tau"]
    product = torch.linalg.householder_product(V, tau)
    given = {"dV": complex_(3, 2), "dtau": complex_(2), "prod": product, "V": V, "tau": tau}
    return helpers.householder_product_jvp, given


def ormqr_backward() -> Made:
    made = reflections()
    other = complex_(3, 2)
    result = torch.ormqr(made["input"], made["tau"], other)
    function = partial(helpers.ormqr_backward, left=True, transpose=False, grad_output_mask=[True] * 3)
    given = {"grad": complex_(3, 2), "result": result, "self": made["input"], "tau": made["tau"], "other": other}
    return function, given


def joined(name: str) -> Made:
    function = getattr(helpers, name)

    def call(tensors: torch.Tensor) -> Any:
        duals = Duals(list(torch.zeros_like(tensors)), list(tensors))
        return function(duals) if name == "block_diag_jvp" else function(duals, 0)

    return call, {"tensors": complex_(3, 2)}


def separated(name: str) -> Made:
    dtypes = [torch.complex128] * 2
    sizes = [[1, 2], [2, 2]]
    more = (sizes, dtypes, 0) if name == "cat_tensors_backward" else (sizes, dtypes)
    return lambda grad: getattr(helpers, name)(grad, *more), {"grad": complex_(3, 4)}


def convolution() -> Made:
    def function(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.convolution(input, weight, bias, [1], [0], [1], False, [0], 1)

    # the kernel of CPUs takes no complex numbers
    return function, {"input": torch.randn(1, 2, 4), "weight": torch.randn(2, 2, 2), "bias": torch.randn(2)}


MADE: dict[str, Callable[[], Made]] = {
    "svd_backward": svd_backward,
    "linalg_svd_jvp": lambda: (
        defined("linalg_svd_jvp", full_matrices=False),
        {"dA": complex_(3, 2), **of_svd()},
    ),
    "linalg_eig_backward": lambda: (
        defined("linalg_eig_backward", is_hermitian=False),
        {"gL": complex_(3), "gV": complex_(3, 3), **of_eig()},
    ),
    "linalg_eig_jvp": lambda: (defined("linalg_eig_jvp", is_hermitian=False), {"dA": complex_(3, 3), **of_eig()}),
    "linalg_qr_backward": lambda: (
        defined("linalg_qr_backward", mode="reduced"),
        {"gQ": complex_(3, 2), "gR": complex_(2, 2), **of_qr()},
    ),
    "linalg_qr_jvp": lambda: (defined("linalg_qr_jvp", mode="reduced"), {"dA": complex_(3, 2), **of_qr()}),
    "lu_unpack_backward": lambda: (
        defined("lu_unpack_backward", m=2, n=2),
        {"L_grad": complex_(2, 2), "U_grad": complex_(2, 2)},
    ),
    "linalg_det_jvp": linalg_det_jvp,
    "householder_product_backward": householder_product_backward,
    "householder_product_jvp": householder_product_jvp,
    "ormqr_backward": ormqr_backward,
    "fft_r2c_backward": lambda: (
        partial(helpers.fft_r2c_backward, dim=[0], normalization=0, onesided=False, last_dim_size=4),
        {"grad": complex_(4)},
    ),
    "slice_backward": lambda: (
        lambda grad_output: torch.ops.aten.slice_backward(grad_output, [4], 0, 1, 3, 1),
        {"grad_output": complex_(2)},
    ),
    **{name: partial(joined, name) for name in ("cat_jvp", "stack_jvp", "block_diag_jvp")},
    **{name: partial(separated, name) for name in ("cat_tensors_backward", "block_diag_backward")},
    # operators with more arguments than terms speak of
    "convolution": convolution,
    "_linalg_solve_ex": lambda: (
        lambda A, B: torch.ops.aten._linalg_solve_ex(A, B)[0],
        {"A": complex_(2, 2), "B": complex_(2, 2)},
    ),
}


def test_every_helper_of_the_table_is_run() -> None:
    named = {name for name in polynomials() if is_conventional(name)}
    assert named - MADE.keys() == NOT_RUN


def claims(name: str) -> list[tuple[Polynomial, slice]]:
    """What is known of each output, or of all of them together, and which outputs these are."""
    by_hand = polynomials().get(name)
    if by_hand is not None:
        return [(by_hand, slice(None))]
    known = derived(name)
    assert known is not None
    return [(polynomial, slice(index, index + 1)) for index, polynomial in enumerate(known.outputs)]


def value(function: Callable[..., Any], given: dict[str, Any], outputs: slice) -> torch.Tensor:
    """The values of outputs in one row."""
    found = function(**given)
    parts = found if isinstance(found, (tuple, list)) else [found]
    return torch.cat([part.reshape(-1).to(torch.complex128) for part in parts[outputs] if part is not None])


def factors(polynomial: Polynomial, given: dict[str, Any]) -> list[str]:
    names = dict.fromkeys(name for term in polynomial.terms for name in term.factors)
    curved = {name for term in polynomial.terms for name in (*term.divisors, *term.unclear)}
    return [name for name in names if name not in curved and isinstance(given.get(name), torch.Tensor)]


@pytest.mark.parametrize("name", MADE)
def test_terms_hold_for_numbers(name: str) -> None:
    """Affine in every factor; what is written by hand is linear in the first ones of all terms."""
    torch.manual_seed(0)
    function, given = MADE[name]()
    for polynomial, outputs in claims(name):
        here = value(function, given, outputs)
        for factor in factors(polynomial, given):
            other = torch.randn(given[factor].shape, dtype=given[factor].dtype)
            there = value(function, {**given, factor: other}, outputs)
            middle = value(function, {**given, factor: (given[factor] + other) / 2}, outputs)
            torch.testing.assert_close(middle, (here + there) / 2, rtol=1e-5, atol=1e-6)
        if outputs == slice(None):
            together = {term.factors[0]: -2 * given[term.factors[0]] for term in polynomial.terms}
            torch.testing.assert_close(value(function, {**given, **together}, outputs), -2 * here, rtol=1e-5, atol=1e-6)


def turned(
    function: Callable[..., Any], given: dict[str, Any], outputs: slice, parameter: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """The derivatives in a direction, and in that direction times i."""
    size = 1e-6
    step = torch.randn(given[parameter].shape, dtype=torch.complex128)
    found = []
    for direction in (step, 1j * step):
        above, below = ({**given, parameter: given[parameter] + sign * size * direction} for sign in (1, -1))
        found.append((value(function, above, outputs) - value(function, below, outputs)) / (2 * size))
    return found[0], found[1]


@pytest.mark.parametrize("name", MADE)
def test_parities_hold_for_numbers(name: str) -> None:
    torch.manual_seed(0)
    function, given = MADE[name]()
    for polynomial, outputs in claims(name):
        for factor in factors(polynomial, given):
            parity = polynomial.parity(factor)
            if not given[factor].is_complex() or parity is Parity.UNKNOWN:
                continue
            if outputs != slice(None) and parity is Parity.NON_HOLOMORPHIC:
                # what is derived joins cases, and says of some values less than could be said
                continue
            along, across = turned(function, given, outputs, factor)
            found = [
                parity
                for parity, unit in ((Parity.HOLOMORPHIC, 1j), (Parity.CONJUGATED, -1j))
                if torch.allclose(across, unit * along, rtol=1e-5, atol=1e-6)
            ]
            assert found == ([] if parity is Parity.NON_HOLOMORPHIC else [parity]), factor
