"""The role of a helper's parameter, from its name: FunctionsManual.h and native_functions.yaml use few.

A backward helper takes output gradients as ``grad``, ``grad_output``, ``gU``, ``ggI``; a forward helper takes primals
as ``self_p`` and tangents as ``self_t`` or ``dA``.
"""

from __future__ import annotations

from enum import Enum

#: How the names of primals and of tangents end.
PRIMAL = "_p"
TANGENT = "_t"
_FLAGS = ("grad_input_mask", "grad_mode", "grad_scale")


class ParameterRole(Enum):
    """The role of a parameter."""

    GRADIENT = "gradient"
    TANGENT = "tangent"
    PRIMAL = "primal"
    OTHER = "other"

    @property
    def is_seed(self) -> bool:
        """Whether it takes what the function is linear in."""
        return self in (ParameterRole.GRADIENT, ParameterRole.TANGENT)


def role_of_name(name: str) -> ParameterRole:
    """The role of a tensor parameter, by its name."""
    if not name or name in _FLAGS:
        return ParameterRole.OTHER
    if name.endswith(TANGENT) or name == "fw_grad" or (name[0] == "d" and name[1:2].isupper()):
        return ParameterRole.TANGENT
    if name.endswith(PRIMAL):
        return ParameterRole.PRIMAL
    if name.startswith(("grad", "gg")) or (name[0] == "g" and (name[1:2].isupper() or name in ("gy", "gx", "gw"))):
        return ParameterRole.GRADIENT
    return ParameterRole.OTHER
