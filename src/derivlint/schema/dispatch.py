"""Dispatch keys by name, as far as schemas and derivatives need them."""

from __future__ import annotations

COMPOSITE_IMPLICIT = "CompositeImplicitAutograd"
COMPOSITE_IMPLICIT_NESTED = "CompositeImplicitAutogradNestedTensor"
COMPOSITE_EXPLICIT = "CompositeExplicitAutograd"

#: The backends that have an autograd key of their own.
BACKENDS = (
    *("CPU", "CUDA", "HIP", "XLA", "MTIA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "Meta"),
    *("PrivateUse1", "PrivateUse2", "PrivateUse3"),
)

#: The keys that ``dispatch:`` in derivatives.yaml may name beside ``Default``; torchgen/model.py, ``AUTOGRAD_KEYS``.
AUTOGRAD_KEYS = ("AutogradNestedTensor", *(f"Autograd{backend}" for backend in BACKENDS))
