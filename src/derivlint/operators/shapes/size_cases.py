"""Sample argument sizes of operators: ``data/size_cases.txt``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from derivlint.operators.shapes.size_values import Sizes, Value

_FILE = Path(__file__).parents[1] / "data" / "size_cases.txt"
_TOKEN = re.compile(r'x\(|[{}),]|-?\d+\.\d+|-?\d+|"\w*"|\w+')
_NAMES: Mapping[str, Value] = {"true": True, "false": False, "nullopt": None}


def _value(tokens: Iterator[str]) -> Value:
    """Parse the next value; Ellipsis at the end of a list."""
    token = next(tokens)
    if token == ",":
        token = next(tokens)
    if token in ("x(", "{"):
        items = tuple(iter(lambda: _value(tokens), ...))
        return Sizes(items) if token == "x(" else items
    if token in (")", "}"):
        return ...
    if token in _NAMES:
        return _NAMES[token]
    if token[0] == '"':
        return token[1:-1]
    return float(token) if "." in token else int(token)


def _case(line: str) -> dict[str, Value]:
    values = {}
    for part in line.split("; "):
        name, _, text = part.partition(" = ")
        values[name] = _value(iter(_TOKEN.findall(text)))
    return values


@cache
def _texts() -> Mapping[str, tuple[str, ...]]:
    """The lines for each name.

    Raises:
        ValueError: a name occurs twice.
    """
    blocks: list[tuple[str, list[str]]] = []
    for line in _FILE.read_text(encoding="ascii").splitlines():
        if line.startswith("        "):
            head, cases = blocks[-1]
            if cases:
                cases[-1] = f"{cases[-1]}; {line.strip()}"
            else:
                blocks[-1] = (f"{head} {line.strip()}", cases)
        elif line.startswith("    "):
            blocks[-1][1].append(line.strip())
        elif line and line[0] != "#":
            blocks.append((line, []))
    texts: dict[str, tuple[str, ...]] = {}
    for head, cases in blocks:
        for name in head.split(", "):
            if name in texts:
                raise ValueError(f'"{name}" has cases twice')
            texts[name] = tuple(cases)
    return texts


@lru_cache(maxsize=4096)
def size_cases(name: str, overload: str) -> tuple[Mapping[str, Value], ...]:
    """The sample arguments of an operator, by parameter name; empty if any broadcastable sizes are legal."""
    texts = _texts()
    cases = texts.get(f"{name}.{overload}") if overload else None
    return tuple(map(_case, cases if cases is not None else texts.get(name, ())))
