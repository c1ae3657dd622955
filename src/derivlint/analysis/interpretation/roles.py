"""What a parameter of a called function is for, by its type and its name."""

from __future__ import annotations

from derivlint.cpp.declarations.declaration import Parameter
from derivlint.operators.roles import ParameterRole, role_of_name


def role_of(parameter: Parameter) -> ParameterRole:
    """What a parameter is for, by its name; a parameter that takes no tensor is for something else."""
    return role_of_name(parameter.name) if parameter.type.has_tensors else ParameterRole.OTHER
