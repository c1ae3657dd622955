"""The backends to which the formulas of an entry apply, and which formulas are evaluated."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from derivlint.model import Differentiability, DispatchBody, Entry, Model
from derivlint.model.keys import AUTO_ELEMENT_WISE, DEFAULT

if TYPE_CHECKING:
    from derivlint.analysis.typed import TypedFormula

#: The prefix of operators for PyTorch's own tests, whose formulas are deliberately wrong.
TEST_PREFIX = "_test_"
AUTOGRAD = "Autograd"
NESTED = "NestedTensor"


def autograd_key(backend: str) -> str:
    """The key of a backend's autograd kernels: ``AutogradCUDA`` for ``CUDA``; nested tensors share one."""
    return AUTOGRAD + (NESTED if backend.startswith(NESTED) else backend)


def is_for_tests(entry: Entry) -> bool:
    """Whether the operator only exists for PyTorch's own tests."""
    return entry.function is not None and entry.function.canonical.name.base.startswith(TEST_PREFIX)


def judged_bodies(model: Model, entry: Entry) -> Iterator[tuple[DispatchBody, Differentiability]]:
    """The bodies of an entry whose formulas are evaluated, each with the function that they differentiate."""
    if entry.function is None or is_for_tests(entry):
        return
    for body in entry.bodies:
        if body.key == DEFAULT or body.key in model.natives.autograd_keys:
            differentiability = model.canonical_differentiability(body)
            if differentiability is not None:
                yield body, differentiability


def derived_from(wrong: Iterable[TypedFormula], formulas: Collection[TypedFormula]) -> set[TypedFormula]:
    """The formulas that ``auto_element_wise`` derives from a wrong backward formula."""
    bodies = {formula.written.body for formula in wrong if formula.is_backward}
    return {
        formula for formula in formulas if formula.written.auto == AUTO_ELEMENT_WISE and formula.written.body in bodies
    }


def bodies_without_default(model: Model, entry: Entry) -> tuple[str, ...]:
    """The bodies of an entry that lacks formulas for other backends that need them.

    Empty if there is a ``Default`` body, if the operator is composite elsewhere, if only backends with formulas have a
    kernel, or if another rule reports the keys or missing formulas.
    """
    if entry.function is None or entry.dispatch_key_node is None or entry.beside_dispatch or entry.problems:
        return ()
    keys = tuple(body.key for body in entry.bodies)
    if not keys or DEFAULT in keys or any(key not in model.natives.autograd_keys for key in keys):
        return ()
    if not any(body.info is not None and body.info.has_derivatives for body in entry.bodies):
        return ()
    function = entry.function.canonical
    has_all_kernels = function.dispatch and all(autograd_key(backend) in keys for backend in function.dispatch)
    if function.has_composite_implicit_autograd_kernel or has_all_kernels or model.served_without_default(entry):
        return ()
    return keys
