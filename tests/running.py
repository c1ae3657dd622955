"""The runner of click, for every supported version of click."""

from __future__ import annotations

from inspect import signature
from typing import Any

from click.testing import CliRunner


def runner() -> CliRunner:
    """A runner with separate streams, which is the default from click 8.2 on."""
    options: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    return CliRunner(**options)
