"""Derivatives files: entries of real schemas with formulas of all kinds, and what YAML makes possible around them."""

from __future__ import annotations

import json
from random import Random

from fuzz.generators.comments import comment
from fuzz.generators.formulas import any_formula
from fuzz.generators.schemas import any_schema, names_in
from fuzz.generators.text import chance, encoded, grown, mutated
from fuzz.seeds import seeds

PIECES = (
    *"\n\r\t\0 :-?[]{}&*!|>'\"%@`#,~", "- ", "\n  ", "\n    ", "\n- name: ", "\n  self: ", "\n  result: ", "---\n",
    "...\n", "\n  dispatch:\n    Default:\n      self: ", "\n  output_differentiability: [True, False]", "<<: *a",
    "&a ", "*a", "!!str ", "!!binary ", "!!python/object:os.system ", "\\ud800", "%YAML 1.1\n---\n", "# comment\n",
    "\n  output_differentiability: ", "  ? ", "\n  : ", "auto_linear", "not_differentiable", "non_differentiable",
    "|2-\n", ">+\n    ", "\n\n", "   # x", "null", "12:30:45", "0o7", "2001-01-01", ".inf", "yes", "=",
    "\n  version: v2.1, v2.2", "\n  result: auto_element_wise",
)  # fmt: skip
KEYS = (
    "self",
    "other",
    "result",
    "self, other",
    "output_differentiability",
    "dispatch",
    "name",
    "indices: non_differentiable",
)


def file(rng: Random, entries: int = 0) -> str:
    """A derivatives file of a few entries.

    Args:
        rng: the randomness.
        entries: how many entries; by default one to three.
    """
    count = entries or rng.choice((1, 1, 1, 2, 3))
    text = "".join(entry(rng) for _ in range(count))
    kind = rng.randrange(20)
    if kind < 5:
        text = mutated(rng, text, PIECES, seeds().entries)
    elif kind == 5:
        text = wrapped(rng, text)
    elif kind == 6:
        text += comment(rng) + "\n"
    elif kind == 7 and chance(rng, 0.3):
        text += _grown_file(rng)
    return text


def entry(rng: Random) -> str:
    """One entry."""
    kind = rng.randrange(10)
    if kind < 4:
        return rng.choice(seeds().entries)
    if kind < 6:
        return mutated(rng, rng.choice(seeds().entries), PIECES, seeds().entries, 2)
    text = rng.choice(seeds().schemas) if chance(rng, 0.8) else any_schema(rng)
    names = names_in(text)
    seen = [*names, "grad", "result", f"{names[0]}_p", f"{names[0]}_t", "grads"]
    lines = [f"- name: {scalar(rng, text, 4) if chance(rng, 0.1) else text}"]
    keys = rng.sample(names, min(len(names), rng.choice((1, 1, 2, 3))))
    if chance(rng, 0.1):
        keys = [", ".join(keys)]
    if chance(rng, 0.15):
        keys.append(rng.choice(KEYS))
    indent = "  "
    if chance(rng, 0.07):
        lines += ["  dispatch:", f"    {rng.choice(('Default', 'CUDA', 'AutogradNestedTensor', 'x'))}:"]
        indent = "      "
    for key in keys:
        after = f" {comment(rng)}" if chance(rng, 0.1) else ""
        lines.append(f"{indent}{key}: {scalar(rng, any_formula(rng, seen), len(indent) + 2)}{after}")
    if chance(rng, 0.1):
        lines.append(f"  output_differentiability: {rng.choice(('[True]', '[True, False]', '[]', 'x', '[a and b]'))}")
    return "\n".join(lines) + "\n"


def scalar(rng: Random, text: str, indent: int) -> str:
    """A value in one of YAML's styles."""
    kind = rng.randrange(12)
    blank = " " * indent
    if kind < 7:
        return text
    if kind == 7:
        quoted = text.replace("'", "''")
        return f"'{quoted}'"
    if kind == 8:
        return json.dumps(text, ensure_ascii=chance(rng, 0.5))
    if kind == 9:
        return f"{rng.choice('|>')}{rng.choice(('', '-', '+', '2'))}\n" + "".join(
            f"{blank}{line}\n" for line in text.split(" ")
        )
    if kind == 10:
        return text.replace(" ", f"\n{blank}")
    return f"{rng.choice(('&a ', '!!str ', '! ', '!<x> ', '*a #'))}{text}"


def wrapped(rng: Random, text: str) -> str:
    """The entries inside something else: a mapping of versions, a flow list, a second document."""
    inner = "".join(f"  {line}\n" for line in text.splitlines())
    return rng.choice(
        (
            f"backward:\n{inner}",
            f"version:\n  - v2.1\nbackward:\n{inner}",
            f"{text}---\n{text}",
            f"[{{name: 'sin(Tensor self) -> Tensor', self: grad}}, {{}}]\n{text}",
            f"- &a\n{inner}- *a\n- <<: *a\n",
            f"-\n{inner}",
        )
    )


def _grown_file(rng: Random) -> str:
    return grown(
        rng,
        rng.choice(
            (
                "- name: sin(Tensor self) -> Tensor\n  self: grad\n",
                "  k: grad\n",
                "- {}\n",
                "[",
                "{a: ",
                "- ",
                "# derivlint: ignore[undefined-name] x\n",
                "  dispatch:\n",
                "? ",
                "*a ",
                "'",
                '"\\x',
                "  self: grad # derivlint: ignore[x]\n",
                "!!",
            )
        ),
    )


def file_bytes(rng: Random) -> bytes:
    """A derivatives file."""
    return encoded(rng, file(rng))
