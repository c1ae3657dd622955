"""Helpers that formulas use like keywords: PyTorch's generators, or rules, look for them by their names."""

from __future__ import annotations

#: Raises where a derivative is asked for that no one has written.
NOT_IMPLEMENTED = "not_implemented"
#: What raises, for one tensor and for a list.
RAISING = frozenset({NOT_IMPLEMENTED, "not_implemented_list"})
#: Saves a tensor where another gradient needs it.
WRAP_OPT_IF = "wrap_opt_if"
#: The real part of a gradient, where its tensor is real; the second of its arguments is the gradient.
REAL_FROM_COMPLEX = "handle_r_to_c"
#: An optional tensor as one that may be undefined.
TO_TENSOR = "toNonOptTensor"
