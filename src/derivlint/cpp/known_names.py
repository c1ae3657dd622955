"""The names in the namespaces of C++ and PyTorch, as listed by a compiler for one release.

``python -m tools.index names`` generates the list (:mod:`tools.namespaces`), which has names only; declarations have
their meaning.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

from derivlint.source.lazy import cached_property

_DATA = Path(__file__).parent / "data"


class KnownNames:
    """The names in each namespace, decoded on demand."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._names: dict[str, str] = content["names"]
        self._inner: dict[str, str] = content["namespaces"]
        self._macros: str = content["macros"]
        self._sets: dict[str, frozenset[str]] = {}

    def of(self, namespace: str) -> frozenset[str]:
        """The names in a namespace; empty if it is not listed."""
        names = self._sets.get(namespace)
        if names is None:
            names = self._sets[namespace] = frozenset(self._names.get(namespace, "").split())
        return names

    def with_names(self, namespace: str, names: Iterable[str]) -> KnownNames:
        """Return a copy with other names in one namespace."""
        extended = copy(self)
        extended._sets = {**self._sets, namespace: frozenset(names)}
        return extended

    def has(self, namespace: str, name: str) -> bool:
        """Whether a namespace has a name; the global one includes macros."""
        return name in self.of(namespace) or (not namespace and name in self._macro_names)

    @cached_property
    def _macro_names(self) -> frozenset[str]:
        return frozenset(self._macros.split())

    def lists(self, namespace: str) -> bool:
        """Whether the names in a namespace are completely listed."""
        return namespace in self._names

    @cached_property
    def namespaces(self) -> frozenset[str]:
        """The full names of all known namespaces."""
        namespaces = {namespace for namespace in self._names if namespace}
        for outer, names in self._inner.items():
            namespaces.update(f"{outer}::{name}" if outer else name for name in names.split())
        return frozenset(namespaces)


@cache
def load_names() -> KnownNames:
    """The bundled names of the newest release."""
    path = max(_DATA.glob("names-*.json"), key=lambda path: tuple(map(int, path.stem.partition("-")[2].split("."))))
    return KnownNames(json.loads(path.read_bytes()))
