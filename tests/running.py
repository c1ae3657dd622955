"""The runner of click, the same with every version of click that derivlint allows."""

from __future__ import annotations

from inspect import signature
from typing import Any

from click.testing import CliRunner


def runner() -> CliRunner:
    """A runner that keeps the two streams apart, which click does without being asked since 8.2."""
    options: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    return CliRunner(**options)
