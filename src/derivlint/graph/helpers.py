"""What the helper functions that formulas call do, as formulas of our own, in ``data/helpers.txt``.

They say what torch/csrc/autograd/FunctionsManual.cpp computes, for tensors with dense storage. What cannot be said as
an expression (loops over dimensions, lists of tensors) is built by :mod:`derivlint.graph.built_in_helpers`. A helper
that is in neither is opaque: operators whose formulas call it are refused.
"""

from __future__ import annotations

import re
from pathlib import Path

from derivlint.source.records import dataclass


@dataclass(frozen=True, slots=True)
class Helper:
    """A helper.

    Attributes:
        parameters: the names of its parameters.
        lets: names for parts, each with its formula, which may use the names before it.
        formula: what it gives.
    """

    parameters: tuple[str, ...]
    lets: tuple[tuple[str, str], ...]
    formula: str


_LET = re.compile(r"(\w+) = (.*)", re.DOTALL)


def read_helper(line: str) -> tuple[str, Helper]:
    """The helper that a line defines, with its name."""
    signature, _, body = line.partition("): ")
    name, _, parameters = signature.partition("(")
    *lets, formula = body.split("; ")
    parts = []
    for let in lets:
        match = _LET.fullmatch(let)
        assert match is not None, f"{name} has no name for a part"
        parts.append((match[1], match[2]))
    return name, Helper(tuple(parameters.split(", ")), tuple(parts), formula)


def _read(name: str) -> dict[str, Helper]:
    text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
    return dict(read_helper(line) for line in text.splitlines() if line and not line.startswith("#"))


#: The helpers, by the names of the C++ functions.
HELPERS = _read("helpers.txt")
#: Operators without an entry that are made of others, by their name with the overload: as PyTorch's composite kernels.
DECOMPOSED = _read("composites.txt")
