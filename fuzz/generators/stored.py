"""What derivlint itself stores and reads again: baselines, results of checks, declarations of headers, manifests.

Whoever damages such a file may well make its digest right, so that decoding is reached.
"""

from __future__ import annotations

import json
from hashlib import sha256
from random import Random
from typing import Any

from fuzz.generators.text import ODD, chance, encoded, mutated, word
from fuzz.seeds import seeds

_ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 10**30, 1.5, float("inf"), float("nan"), "", "x", "\ud800", "a" * 300, [], {},
    [[]], {"a": None}, "../x", "/etc/passwd", [None], "undefined-name", "error", "\0", "\x1b[31m",
)  # fmt: skip
PIECES = (
    *'{}[]",:\\ \n\0',
    "null",
    "true",
    "1e999",
    "-",
    "NaN",
    "Infinity",
    '"version": 1',
    '"rule"',
    "\\ud800",
    "0" * 5000,
    "[" * 3000,
)


def changed(rng: Random, value: Any, share: float = 0.15) -> Any:
    """A value of JSON with parts of it replaced, dropped or repeated."""
    if rng.random() < share / 2:
        return rng.choice((*_ODD_VALUES, rng.choice(ODD)))
    if isinstance(value, dict):
        pairs = {key: changed(rng, item, share) for key, item in value.items() if not chance(rng, share / 6)}
        if chance(rng, share / 6):
            pairs[word(rng)] = rng.choice(_ODD_VALUES)
        return pairs
    if isinstance(value, list):
        items = [changed(rng, item, share) for item in value if not chance(rng, share / 6)]
        return items * rng.choice((0, 2)) if chance(rng, share / 6) else items
    return value


def as_bytes(rng: Random, document: Any) -> bytes:
    """A document, seldom with text that is not JSON."""
    text = json.dumps(document)
    if chance(rng, 0.1):
        text = mutated(rng, text, PIECES)
    return encoded(rng, text) if chance(rng, 0.1) else text.encode("utf-8", "surrogatepass")


def baseline(rng: Random) -> bytes:
    """A baseline."""
    rows = [
        {
            "path": rng.choice(("derivatives.yaml", "a/derivatives.yaml", "../x.yaml")),
            "rule": rng.choice(seeds().rules),
            "entry": rng.choice((None, "sin", "mul.Tensor")),
            "dispatch": rng.choice((None, "Default")),
            "key": rng.choice((None, "self")),
            "text": rng.choice(("slef", "grad * self", "")),
            "count": rng.choice((1, 1, 2)),
        }
        for _ in range(rng.choice((0, 1, 2, 5)))
    ]
    for row in rows:
        for name in ("entry", "dispatch", "key", "count"):
            if row[name] is None or chance(rng, 0.3):
                del row[name]
    return as_bytes(rng, changed(rng, {"version": 1, "findings": rows}))


def findings(rng: Random) -> bytes:
    """The stored result of a check, with a digest that is right most of the time."""
    diagnostics: list[Any] = [
        [
            [rng.randint(0, 60), rng.randint(0, 60)],
            rng.choice(seeds().rules),
            "a message",
            rng.choice(("error", "warning", "info")),
            rng.choice(("high", "medium", "low")),
            rng.choice((None, "a help")),
            rng.choice((None, "sin")),
            rng.choice((None, "Default")),
            rng.choice((None, "self")),
            [["related", [1, 4], rng.choice(("derivatives.yaml", "native_functions.yaml"))]]
            if chance(rng, 0.3)
            else [],
            ["a title", [[[2, 5], "text"]], chance(rng, 0.5)] if chance(rng, 0.3) else None,
        ]
        for _ in range(rng.choice((0, 1, 2, 3)))
    ]
    for item in diagnostics:
        item[0].sort()
    document = {
        "diagnostics": diagnostics,
        "silenced": [rng.randrange(len(diagnostics))] if diagnostics and chance(rng, 0.3) else [],
        "ran": [item[1] for item in diagnostics],
        "entries": 1,
        "formulas": 2,
    }
    body = as_bytes(rng, changed(rng, document))
    digest = sha256(body).hexdigest().encode()
    return (digest[:5] if chance(rng, 0.02) else digest) + b" " + body


def declarations(rng: Random, whole: Any) -> bytes:
    """The stored declarations of a header.

    Args:
        rng: the randomness.
        whole: what they really are.
    """
    return as_bytes(rng, changed(rng, whole, rng.choice((0.02, 0.1, 0.3))))


def manifest(rng: Random, names: tuple[str, ...]) -> bytes:
    """The manifest of a folder of emitted files.

    Args:
        rng: the randomness.
        names: the files that are there.
    """
    every = (
        *names,
        "../outside/precious.txt",
        "/etc/hostname",
        "sub/own.txt",
        "",
        ".",
        "..",
        "\0",
        "derivlint.json",
        "a" * 300,
    )
    files: Any = [rng.choice(every) for _ in range(rng.choice((1, 2, 4)))]
    if chance(rng, 0.5):
        files = {name: rng.choice(("", "0" * 64, sha256(b"").hexdigest())) for name in files}
    document = {
        "format": rng.choice((1, 1, 2, "1", None)),
        "mode": rng.choice(("extension", "in-tree", "x")),
        "namespace": "derivlint_generated",
        "torch": "2.13.0",
        "files": files,
        "operators": {"sin": "SinBackward0"},
        "left_out": {},
    }
    return as_bytes(rng, changed(rng, document, 0.1))
