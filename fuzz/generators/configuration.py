"""Configurations: ``derivlint.toml`` and ``pyproject.toml``."""

from __future__ import annotations

from random import Random

from derivlint.project.settings.keys import KEYS
from fuzz.generators.text import ODD, chance, encoded, grown, mutated, word
from fuzz.seeds import seeds

VALUES = (
    "true", "false", "1", "-1", "1.5", "1e400", "nan", "1979-05-27", "1979-05-27T07:32:00Z", "''", '"ALL"', '["ALL"]',
    "[]", "{}", '["undefined-name", "missing-*"]', '"undefined-name"', '"off"', '"error"', '"warning"', '"high"',
    '"installed"', '"2.13.0"', '"torch_npu"', '"../x"', '"/dev/null"', '["*.yaml"]', '"["', '["[", "**", "a/**/b"]',
    "{ undefined-name = \"info\" }", "[1, 'a']", '{ "*.yaml" = ["ALL"] }', '{ add = ["undefined-name"] }',
    '"\\u0000"', '"a\\u001b[31m\\n::error::x"', "[[1], [2]]", "99999999999999999999", '"""\n"""',
    "{ a = { b = { c = 1 } } }", '"v2.1"', "07:32:00", "0x1F", '"~/x"', '"$HOME"', '["a\\u0000b"]',
    '["' + "a" * 300 + '"]',
)  # fmt: skip
PIECES = (
    *"\n=[]{}\"'#,.\0\u00e9 ",
    "[tool.derivlint]\n",
    "[[tool.derivlint]]\n",
    '"""',
    "'''",
    "\\u001b",
    "\\ud800",
    "tool.derivlint.",
    *VALUES[:20],
)


def line(rng: Random) -> str:
    """One key with its value."""
    name = rng.choice(
        (
            *KEYS,
            *KEYS,
            word(rng),
            '"a b"',
            "severity.undefined-name",
            "options.unknown-schema.x",
            f"severity.{rng.choice(seeds().rules)}",
        )
    )
    if chance(rng, 0.05):
        name = mutated(rng, name, PIECES)
    return f"{name} = {rng.choice(VALUES)}\n"


def own_file(rng: Random) -> str:
    """A ``derivlint.toml``."""
    text = "".join(line(rng) for _ in range(rng.choice((1, 1, 2, 4))))
    if chance(rng, 0.2):
        text += (
            f"[{rng.choice(('severity', 'options', 'per-file-ignores', 'x', 'options.undefined-name'))}]\n{line(rng)}"
        )
    kind = rng.randrange(20)
    if kind < 8:
        return mutated(rng, text, PIECES)
    return (
        text + grown(rng, rng.choice(("[", "a.", "{a=", "#", "x = 1\n", '"', "[a]\n", 'ignore = ["a"]\n')))
        if kind == 8
        else text
    )


def pyproject(rng: Random) -> str:
    """A ``pyproject.toml``."""
    text = f"[project]\nname = 'x'\n\n[tool.derivlint]\n{own_file(rng)}"
    return mutated(rng, text, PIECES) if chance(rng, 0.2) else text


def configuration_bytes(rng: Random) -> bytes:
    """A configuration, of derivlint's own or not."""
    return encoded(rng, own_file(rng) if chance(rng, 0.6) else pyproject(rng))


def pair(rng: Random) -> str:
    """What ``--config KEY=VALUE`` takes."""
    text = line(rng).strip().replace(" = ", "=")
    return mutated(rng, text, (*PIECES, *ODD)).replace("\0", "") if chance(rng, 0.4) else text
