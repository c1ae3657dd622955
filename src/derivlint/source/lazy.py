"""Lazy values: ``cached_property`` as of Python 3.12, memoized functions, lazy exports of packages.

Before 3.12, ``cached_property`` takes a lock at each first access, which costs more than most values here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 -- it stands in for that of the standard library
        """A property that is computed at first access and stored as an attribute of the instance."""

        def __init__(self, compute: Any) -> None:
            self.func = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.attrname = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


def memoized(find: Callable[[S], T]) -> Callable[[S], T]:
    """Memoize a function of one immutable object; the result is stored on the object."""
    name = f"{find.__module__}.{find.__qualname__}"

    @wraps(find)
    def answer(subject: S) -> T:
        attributes = subject.__dict__
        if name not in attributes:
            attributes[name] = find(subject)
        value: T = attributes[name]
        return value

    return answer


class Bounded(dict[S, T]):
    """A cache that is cleared when full, for keys that come from users."""

    MOST = 8192

    def __setitem__(self, key: S, value: T) -> None:
        if len(self) >= self.MOST:
            self.clear()
        super().__setitem__(key, value)


def lazy_exports(package: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Make the ``__getattr__`` of a package that imports a module when one of its names is first accessed.

    Args:
        package: its name.
        names: the exported names of each module, separated by blanks.
    """
    homes = {name: module for module, listed in names.items() for name in listed.split()}

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


__all__ = ["Bounded", "cached_property", "lazy_exports", "memoized"]
