"""All targets by their names."""

from __future__ import annotations

from collections.abc import Iterable

from fuzz.target import Target
from fuzz.targets import checking, commands, graphs, large, server, syntax, typed

_MODULES = (syntax, checking, graphs, commands, server, large, typed)
TARGETS: dict[str, Target] = {target.name: target for module in _MODULES for target in module.TARGETS}


def targets_named(names: Iterable[str]) -> list[Target]:
    """The targets of those names."""
    return [TARGETS[name] for name in names]
