"""Keeps PyTorch from importing its compiler for formulas that are not compiled.

What forward mode calls for tensors that are known to be zero is written in Python, and marked so that ``torch.compile``
leaves it alone. The mark imports ``torch._dynamo``, which takes longer than all checks of an ordinary entry.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_NAME = "torch._dynamo"


class _DynamoStub(ModuleType):
    """Has the mark, which does nothing where nothing is compiled, and becomes the module where more of it is wanted."""

    @staticmethod
    def disable(function: Any = None, recursive: bool = True, **options: Any) -> Any:
        """The function as it is; follows torch._compile._disable_dynamo, which calls this."""
        return function

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(_NAME) is self:
            del sys.modules[_NAME]
        return getattr(importlib.import_module(_NAME), name)


def replace_compiler_by_stub() -> None:
    """Let a stand-in take the place of the compiler in this process, where it is not imported yet."""
    sys.modules.setdefault(_NAME, _DynamoStub(_NAME))
