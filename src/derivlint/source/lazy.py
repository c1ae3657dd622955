"""``cached_property`` as it is from Python 3.12 on.

The one of earlier releases takes a lock at every first question, which costs more than most of the answers here.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

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


__all__ = ["cached_property"]
