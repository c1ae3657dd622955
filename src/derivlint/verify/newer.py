"""The formulas and entries that need a newer PyTorch than the installed one, according to the bundled releases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from derivlint.operators.history import bundled_versions, helper_arities, load_release
from derivlint.schema import NativeFunctions

#: The errors of g++ and Clang for an undeclared name, and for a call without matching declaration.
_UNKNOWN = (
    re.compile(r"'([\w:]+)' (?:is not a member of|was not declared)"),
    re.compile(r"has no member named '(\w+)'"),
    re.compile(r"(?:no member named|use of undeclared identifier) '(\w+)'"),
)
_MISFIT = (
    re.compile(r"no matching function for call to '(?:[\w:]+::)?(\w+)"),
    re.compile(r"too (?:many|few) arguments to function '[^(]*?(\w+)\("),
)


def needs_newer(message: str, natives: NativeFunctions) -> str:
    """The reason why a formula with a compiler error needs a newer PyTorch, or empty if it does not.

    Args:
        message: the compiler error.
        natives: the operators of the installed PyTorch.
    """
    name = _first(_UNKNOWN, message)
    if name and not natives.with_base(name):
        since = next((version for version in _newer(natives) if _has(name, version)), "")
        return f'it calls "{name}", which PyTorch has since {since}' if since else ""
    name = _first(_MISFIT, message)
    arities = _arities(str(natives.version)).get(name) if name and natives.version in bundled_versions() else None
    if arities is None:
        return ""
    since = next((version for version in _newer(natives) if _arities(version).get(name, arities) != arities), "")
    return f'it calls "{name}" as PyTorch has it since {since}' if since else ""


def operator_since(name: str, natives: NativeFunctions) -> str:
    """The first release after the installed one that has an operator; empty if there is none.

    Args:
        name: the operator with its overload.
        natives: the operators of the installed PyTorch.
    """
    base = name.partition(".")[0]
    return next(
        (
            version
            for version in _newer(natives)
            if any(str(function.name) == name for function in _release(version).with_base(base))
        ),
        "",
    )


def _first(patterns: tuple[re.Pattern[str], ...], message: str) -> str:
    match_ = next((match for pattern in patterns if (match := pattern.search(message))), None)
    return "" if match_ is None else match_[1].rpartition("::")[2]


def _newer(natives: NativeFunctions) -> Iterator[str]:
    """The bundled releases after the installed one, oldest first."""
    installed = _numbers(str(natives.version))
    return (version for version in bundled_versions() if installed and _numbers(version) > installed)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


_release = cache(load_release)
_arities = cache(helper_arities)


def _has(name: str, version: str) -> bool:
    """Whether a release has an operator or helper with a name."""
    return name in _arities(version) or bool(_release(version).with_base(name))
