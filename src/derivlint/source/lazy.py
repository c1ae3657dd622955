"""What is worked out when first asked for: ``cached_property`` as it is from Python 3.12 on, and functions like it.

The one of earlier releases takes a lock at every first question, which costs more than most of the answers here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 -- it stands in for that of the standard library
        """A property that is worked out at the first question and then is an attribute of the instance."""

        def __init__(self, work_out: Any) -> None:
            self.func = work_out
            self.__doc__ = work_out.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.attrname = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


def asked_once(find: Callable[[S], T]) -> Callable[[S], T]:
    """A function of one immutable object whose answer is kept with the object, as that of a cached property is."""
    name = f"{find.__module__}.{find.__qualname__}"

    @wraps(find)
    def answer(subject: S) -> T:
        kept = subject.__dict__
        if name not in kept:
            kept[name] = find(subject)
        value: T = kept[name]
        return value

    return answer


__all__ = ["asked_once", "cached_property"]
