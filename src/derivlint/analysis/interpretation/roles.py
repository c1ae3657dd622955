"""The role of a called function's parameter, by its type and its name."""

from __future__ import annotations

from derivlint.cpp.declarations.declaration import Parameter
from derivlint.operators.special import ParameterRole, role_of_name


def role_of(parameter: Parameter) -> ParameterRole:
    """The role of a parameter, by its name; ``OTHER`` if it takes no tensor."""
    return role_of_name(parameter.name) if parameter.type.has_tensors else ParameterRole.OTHER
