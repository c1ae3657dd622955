"""Files of native functions, and of tags."""

from __future__ import annotations

from random import Random

from fuzz.generators.schemas import any_schema
from fuzz.generators.text import chance, encoded, grown, mutated
from fuzz.seeds import seeds

PIECES = (
    *"\n\r\t\0 :-?[]{}&*!|>'\"%@`#,", "- func: ", "\n  variants: function, method", "\n  dispatch:\n    CPU: f",
    "\n  tags: ", "\n  structured: True", "\n  structured_delegate: sin.out", "\n  autogen: sin.out",
    "\n  python_module: nn", "\n  tags: [core]", "\n  device_check: NoCheck", "*a", "&a ", "<<: *a", "---\n",
    "!!python/name:os.system ", "\n  variants: [x]", "mine::", "\n  dispatch: {CompositeImplicitAutograd: x}",
    "\n  manual_cpp_binding: 1", "supported:\n", "\n  dispatch: CPU", "Foo(",
)  # fmt: skip


def entry(rng: Random) -> str:
    """One native function."""
    if chance(rng, 0.4):
        return rng.choice(seeds().natives) if seeds().natives else f"- func: {any_schema(rng)}\n"
    text = f"- func: {'mine::' if chance(rng, 0.1) else ''}{any_schema(rng)}\n"
    for _ in range(rng.choice((0, 1, 1, 2))):
        text += (
            rng.choice(PIECES[26:]).strip("\n") + "\n"
            if chance(rng, 0.1)
            else f"  variants: {rng.choice(('function', 'method', 'x', 'function, method'))}\n"
        )
    if chance(rng, 0.5):
        text += (
            f"  dispatch:\n    {rng.choice(('CPU', 'CPU, CUDA', 'CompositeExplicitAutograd', 'Meta', 'XYZ'))}: kernel\n"
        )
    return text


def file(rng: Random) -> str:
    """A file of native functions."""
    text = "".join(entry(rng) for _ in range(rng.choice((1, 1, 2, 3))))
    kind = rng.randrange(10)
    if kind < 4:
        text = mutated(rng, text, PIECES, seeds().natives)
    elif kind == 4:
        text = f"supported:\n{text}\nautograd:\n{text}"
    elif kind == 5 and chance(rng, 0.2):
        text += grown(rng, rng.choice(("- func: f(Tensor self) -> Tensor\n", "- {}\n", "[", "  x: y\n", "{func: ")))
    return text


def file_bytes(rng: Random) -> bytes:
    """A file of native functions."""
    return encoded(rng, file(rng))


_TAGS = "- tag: inplace_view\n  desc: |\n          This tag indicates\n- tag: core\n  desc: x\n"
_TAG_PIECES = (
    *"\n\r\t\0 :-?[]{}&*!|>'\"#,",
    "- tag: ",
    "tag",
    "desc: ",
    "- tag:\n",
    "null",
    "[core]",
    "&a ",
    "*a",
    "1",
)


def tags_bytes(rng: Random) -> bytes:
    """A file of tags."""
    return encoded(rng, mutated(rng, _TAGS, _TAG_PIECES, seeds().natives))
