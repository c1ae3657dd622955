"""Operator schemas: real ones, changed ones, and made-up ones."""

from __future__ import annotations

import re
from random import Random

from fuzz.generators.text import grown, mutated, word
from fuzz.seeds import seeds

TYPES = (
    "Tensor", "Tensor?", "Tensor(a)", "Tensor(a!)", "Tensor[]", "Tensor?[]", "int", "int?", "int[2]", "int[2]?",
    "SymInt", "SymInt[]", "float", "bool", "bool[3]", "Scalar", "Scalar?", "str", "ScalarType?", "Layout", "Device",
    "Generator?", "Dimname", "Storage", "Stream", "complex", "Tensor(a|b)", "Tensor(a -> *)", "Tensor(a!)[]",
    "DeviceIndex", "__torch__.torch.classes.a.B", "MemoryFormat",
)  # fmt: skip
DEFAULTS = (
    "None",
    "0",
    "1",
    "-1",
    "True",
    "[]",
    "[0, 1]",
    "1e-05",
    "Mean",
    "contiguous_format",
    "'x'",
    '"x"',
    "long",
    "inf",
    "0x1",
)
PIECES = (
    *"()[]!?*,.=:-> \n\0\u00e9'\"",
    *TYPES,
    *DEFAULTS,
    "->",
    " -> ",
    "self",
    "(a -> *)",
    "=None",
    "out",
    "_",
    "aten::",
)
NAMES = ("self", "other", "input", "weight", "dim", "out", "values", "indices", "grad", "n", "result", "keepdim")


def schema(rng: Random) -> str:
    """A schema made up from types and names."""
    count = rng.choice((0, 1, 1, 2, 2, 3, 5))
    arguments = [f"{rng.choice(TYPES)} {rng.choice(NAMES)}{_default(rng)}" for _ in range(count)]
    if count and rng.random() < 0.2:
        arguments.insert(rng.randint(0, count), "*")
    name = rng.choice((*seeds().operators[::50], word(rng), f"{word(rng)}.{word(rng)}", f"{word(rng)}_"))
    returns = [
        rng.choice(TYPES) + rng.choice(("", "", f" {rng.choice(NAMES)}")) for _ in range(rng.choice((1, 1, 1, 0, 2, 3)))
    ]
    what = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    return f"{name}({', '.join(arguments)}) -> {what}"


def _default(rng: Random) -> str:
    return f"={rng.choice(DEFAULTS)}" if rng.random() < 0.2 else ""


def any_schema(rng: Random) -> str:
    """A schema of any kind."""
    kind = rng.randrange(20)
    if kind < 8:
        return rng.choice(seeds().schemas)
    if kind < 13:
        return mutated(rng, rng.choice(seeds().schemas), PIECES, seeds().schemas)
    if kind < 17:
        return schema(rng)
    if kind < 19:
        return mutated(rng, schema(rng), PIECES, seeds().schemas)
    return f"f({grown(rng, rng.choice(('Tensor a, ', '(', '[]', 'int[2] x=[0, 1], ', 'Tensor(a')))}Tensor b) -> Tensor"


def schema_bytes(rng: Random) -> bytes:
    """A schema alone."""
    return any_schema(rng).encode("utf-8", "surrogatepass")


_ARGUMENT = re.compile(r"(\w+)(?:=[^,()]*)?(?=[,)])")


def names_in(text: str) -> list[str]:
    """The names of the arguments and returns of a schema, roughly."""
    arguments, _, returns = text.partition(" -> ")
    named = re.findall(r" (\w+)[,)]", returns)
    return [*_ARGUMENT.findall(arguments), *(named or ["result"])]
