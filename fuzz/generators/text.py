"""Texts and bytes, changed at random."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

#: Characters that readers stumble over: line ends, marks of direction, halves of pairs, combining characters.
ODD: tuple[str, ...] = (
    *"\n\r\t\0\x0b\x0c\x1b\x7f\x85\xa0\u2028\u2029\ufeff\u200b\u202e\u0301\u00e9\u0130\u212a",
    "\U0001f600",
    "\ud800",
    "\udcff",
    "\r\n",
    "%0A",
    "::error::x",
    "\x1b[31m",
    "\x1b]8;;http://x\x07",
    "</x>",
    "&#0;",
    "]]>",
    "\x9b31m",
)
#: How often a piece is repeated, when it is; most of the time few, seldom as many as make slow work show.
_COUNTS = (2, 3, 5, 10, 30, 100)
MAX_SIZE = 64 * 1024


def chance(rng: Random, share: float) -> bool:
    """Whether something happens that does so with that probability."""
    return rng.random() < share


def mutated(rng: Random, text: str, pieces: Sequence[str], others: Sequence[str] = (), most: int = 4) -> str:
    """A text with a few changes.

    Args:
        rng: the randomness.
        text: the text.
        pieces: pieces that mean something in its language.
        others: texts of the same language; parts of them may get into it.
        most: how many changes there are at most.
    """
    for _ in range(rng.randint(1, most)):
        text = _changed(rng, text, pieces, others)[:MAX_SIZE]
    return text


def _changed(rng: Random, text: str, pieces: Sequence[str], others: Sequence[str]) -> str:
    start = rng.randint(0, len(text))
    end = min(len(text), start + rng.choice((0, 1, 1, 2, 4, 8, 20)))
    kind = rng.randrange(10)
    if kind < 3:
        return text[:start] + rng.choice(pieces) + text[start:]
    if kind == 3:
        return text[:start] + text[end:]
    if kind == 4:
        return text[:start] + rng.choice(pieces) + text[end:]
    if kind == 5:
        return text[:start] + rng.choice(ODD) + text[start:]
    if kind == 6 and others:
        other = rng.choice(others)
        begin = rng.randint(0, len(other))
        return text[:start] + other[begin : begin + rng.randint(1, 40)] + text[end:]
    if kind == 7:
        piece = text[start:end] or rng.choice(pieces)
        return text[:start] + piece * rng.choice(_COUNTS) + text[end:]
    if kind == 8:
        at = rng.randint(0, len(text))
        low, high = sorted((start, at))
        return text[:low] + text[high:] + text[low:high]
    piece = rng.choice(pieces)
    return text[:start] + piece * rng.choice(_COUNTS) + text[start:]


def grown(rng: Random, piece: str, most: int = 4000) -> str:
    """A piece, very often: what has to be done in time that is linear in it."""
    return piece * min(rng.choice((20, 60, 200, 1000)), max(1, most // max(1, len(piece))))


def encoded(rng: Random, text: str) -> bytes:
    """A text as bytes: as UTF-8 most of the time, else in another encoding, with other line ends, or damaged."""
    kind = rng.randrange(40)
    if kind == 0:
        text = text.replace("\n", "\r\n")
    elif kind == 1:
        text = text.replace("\n", "\r")
    elif kind == 2:
        text = "\ufeff" + text
    elif kind == 3:
        return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252")), "replace")
    data = text.encode("utf-8", "surrogatepass")
    if kind in (4, 5) and data:
        changed = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed)
    if kind == 6:
        return data[: rng.randint(0, len(data))]
    if kind == 7:
        at = rng.randint(0, len(data))
        return data[:at] + rng.randbytes(rng.randint(1, 6)) + data[at:]
    return data


def word(rng: Random) -> str:
    """A short name."""
    return "".join(rng.choice("abcdefgxyz_") for _ in range(rng.randint(1, 6)))
