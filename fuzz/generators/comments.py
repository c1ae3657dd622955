"""Comments that silence findings, and what looks like them."""

from __future__ import annotations

from random import Random

from fuzz.generators.text import encoded, mutated
from fuzz.seeds import seeds

_FORMS = (
    "# derivlint: ignore[{}] a reason",
    "# derivlint: ignore[{}]",
    "# derivlint: ignore",
    "# derivlint: ignore-file[{}] a reason",
    "# derivlint: ignore-file",
    "# derivlint:ignore[{}]because",
    "# x # derivlint: ignore[{}] -- y",
    "# DERIVLINT: Ignore[{}]",
    "# derivlint ignore [{}]",
    "# derivlint: ignore-next-line[{}]",
    "# noqa: {}",
)
PIECES = (
    *"[],:#- \t\n\r\0*?ALL",
    "derivlint",
    "ignore",
    "ignore-file",
    "undefined-name",
    "# ",
    "]]",
    "[[",
    ", ",
    "*",
    "missing-*",
    "internal-error",
    "unused-ignore",
)
_PLACES = (
    "{0}\n- name: sin(Tensor self) -> Tensor {0}\n  {0}\n  self: grad * slef {0}\n",
    "- name: sin(Tensor self) -> Tensor\n  self: grad * self.sinh().conj() {0}\n",
    "- name: sin(Tensor self) -> Tensor\n  self: grad * self.sinh(  {0}\n",
    "- name: unknown_op(Tensor self) -> Tensor {0}\n  self: grad\n{0}",
    "- name: sin(Tensor self) -> Tensor\n  self: 'grad {0}'\n  result: |\n    slef {0}\n  {0}\n",
    "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self, other: f(\n    grad, {0}\n    slef) {0}\n",
)


def comment(rng: Random) -> str:
    """A comment on one line."""
    names = [
        rng.choice((*seeds().rules, "undefined-name", "unknown-rule", "missing-*", "ALL", ""))
        for _ in range(rng.choice((1, 1, 2, 4)))
    ]
    text = rng.choice(_FORMS).format(", ".join(names))
    return mutated(rng, text, PIECES).replace("\n", " ") if rng.random() < 0.4 else text


def commented_bytes(rng: Random) -> bytes:
    """A small file with one comment in several places."""
    text = comment(rng) if rng.random() < 0.9 else comment(rng) * rng.choice((5, 50))
    place = rng.choice(_PLACES).replace("{0}", text)
    return encoded(rng, mutated(rng, place, PIECES) if rng.random() < 0.2 else place)
