"""The backends that the formulas of an entry are for."""

from __future__ import annotations

from derivlint.model import DispatchBody, Entry, Model
from derivlint.model.keys import DEFAULT
from derivlint.schema import NativeFunction

AUTOGRAD = "Autograd"
NESTED = "NestedTensor"


def autograd_key(backend: str) -> str:
    """The key of a backend's autograd kernels: ``AutogradCUDA`` for ``CUDA``; nested tensors share one."""
    return AUTOGRAD + (NESTED if backend.startswith(NESTED) else backend)


def valid_bodies(model: Model, entry: Entry) -> list[DispatchBody]:
    """The bodies of an entry with a valid dispatch key; values are computed for no others."""
    return [body for body in entry.bodies if body.key == DEFAULT or body.key in model.natives.autograd_keys]


def bodies_without_default(model: Model, entry: Entry) -> tuple[str, ...]:
    """The dispatch keys of an entry that has formulas for these alone while other backends need some, too.

    Empty where there is a ``Default``, where the operator consists of other operators elsewhere, where only backends
    with formulas have a kernel, and where another rule reports the keys or the missing ``Default`` formulas.
    """
    if entry.function is None or entry.dispatch_key_node is None or entry.beside_dispatch or entry.problems:
        return ()
    keys = tuple(body.key for body in entry.bodies)
    if not keys or DEFAULT in keys or any(key not in model.natives.autograd_keys for key in keys):
        return ()
    if not any(body.info is not None and body.info.has_derivatives for body in entry.bodies):
        return ()
    if _needs_no_default(entry.function.canonical, keys) or model.served_without_default(entry):
        return ()
    return keys


def _needs_no_default(function: NativeFunction, keys: tuple[str, ...]) -> bool:
    if function.has_composite_implicit_autograd_kernel:
        return True
    backends = function.dispatch
    return bool(backends) and all(autograd_key(backend) in keys for backend in backends or ())
