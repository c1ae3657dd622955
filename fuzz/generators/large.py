"""Inputs of up to 64 KiB in which one thing is repeated or nested: work that is not linear in them shows."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from fuzz.generators import configuration, formulas, graphs, headers, natives, schemas
from fuzz.generators.text import MAX_SIZE
from fuzz.seeds import seeds

ENTRY = "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: "
_TAIL = "\n  other: grad * self.conj()\n"
#: What a pattern is made from: a head, a piece, what is in the middle, a closing piece, and a tail.
_Pattern = tuple[str, str, str, str, str]


def _made(rng: Random, pattern: _Pattern) -> bytes:
    head, piece, middle, closing, tail = pattern
    size = rng.choice((4, 16, MAX_SIZE // 1024)) * 1024 - len(head) - len(middle) - len(tail)
    count = max(1, size // max(1, len(piece) + len(closing)))
    text = head + piece * count + middle + closing * count + tail
    return text.encode("utf-8", "surrogatepass")


def _formula_patterns(rng: Random) -> list[_Pattern]:
    member, call = rng.choice(formulas.MEMBERS), rng.choice(formulas.CALLS)
    sign, unary = rng.choice(formulas.BINARY), rng.choice(formulas.UNARY)
    name = rng.choice(("grad", "self", "other", "2", "x"))
    return [
        ("grad", f".{member}()", "", "", ""),
        ("grad * ", f"{call}(", "self", ")", ""),
        (f"{name}", f" {sign} {name}", "", "", ""),
        ("grad * ", "(", "self", ")", ""),
        ("grad * ", unary, "self", "", ""),
        ("", "grad ? self : ", "other", "", ""),
        ("", "grad ? ", "self", " : other", ""),
        ("", "[&]() { return ", "grad", "; }()", ""),
        (f"{call}(grad", f", {name}", "", "", ")"),
        ("grad", "[", "0", "]", ""),
        ("", "f<", "int", ">(grad)", ""),
        ("", "std::vector<Tensor>{", "grad", "}", ""),
        ("", "a::", "f(grad)", "", ""),
        ("grad * ", "x", "", "", ""),
        ("grad * ", "1", "", "", ""),
        ('f("', "x", "", "", '")'),
        ("grad", f".{member}(self)", "", "", ""),
        ("grad", f" * self.{member}()", "", "", ""),
        ("grad * ", "(double) ", "self", "", ""),
        ("grad * ", "(self * ", "other", ").conj()", ""),
        ("", rng.choice(formulas.PIECES), "grad", rng.choice(formulas.PIECES), ""),
    ]


def formula_bytes(rng: Random) -> bytes:
    """A formula."""
    return _made(rng, rng.choice(_formula_patterns(rng)))


def _file_patterns(rng: Random) -> list[_Pattern]:
    key, comment = rng.choice(("self", "result", "k", "other, self")), "  # derivlint: ignore[undefined-name] x"
    return [
        (f"{ENTRY}grad{_TAIL}", f"  {key}: grad\n", "", "", ""),
        ("", f"{ENTRY}grad{_TAIL}", "", "", ""),
        ("", rng.choice(seeds().entries), "", "", ""),
        ("", f"{ENTRY}slef{comment}{_TAIL}", "", "", ""),
        ("", f"#{comment}\n", f"{ENTRY}slef{_TAIL}", "", ""),
        (f"{ENTRY}slef", comment, _TAIL, "", ""),
        ("", "- ", "a", "", ""),
        ("", "[", "", "]", ""),
        ("", "{a: ", "b", "}", ""),
        ("", "- {}\n", "", "", ""),
        ("- &a {name: 'sin(Tensor self) -> Tensor', self: grad}\n", "- *a\n", "", "", ""),
        ("", "? ", "a", "", ""),
        (f"{ENTRY}|\n", "    grad +\n", "    grad", "", _TAIL),
        (f"{ENTRY}'", "''", "", "", f"'{_TAIL}"),
        (f'{ENTRY}"', "\\u0041", "", "", f'"{_TAIL}'),
        (f"{ENTRY}", "\n", "    grad", "", _TAIL),
        (f"{ENTRY}grad\n  output_differentiability: [True", ", True", "", "", "]\n"),
        (f"{ENTRY}grad\n  '", "other, ", "self", "", "': grad\n"),
        ("", "---\n", "", "", ""),
        ("", "#\n", "", "", ""),
        ("", "\t", "", "", ""),
        ("- name: ", rng.choice(schemas.PIECES), "", "", "\n  self: grad\n"),
    ]


def _numbered(rng: Random) -> bytes:
    """Pieces that differ from each other by a number."""
    head, piece = rng.choice(
        (
            ("", "- name: zz{0}(Tensor self) -> Tensor\n  self: grad\n"),
            (f"{ENTRY}grad\n", "  k{0}: grad\n"),
            ("- name: sin(Tensor self) -> Tensor\n  dispatch:\n", "    K{0}:\n      self: grad * self.cos()\n"),
            (f"{ENTRY}grad\n", "  other{0}: not_differentiable\n"),
            ("", "- &a{0} {{a: 1}}\n"),
            (f"{ENTRY}grad{_TAIL}", "# derivlint: ignore[undefined-name{0}] x\n"),
            ("", "- name: sin.o{0}(Tensor self) -> Tensor\n  self: grad * self.cos()\n  result: auto_linear\n"),
            ("a: &a0 [x, x]\n", "b{0}: &b{0} [*a0, *a0]\n"),
        )
    )
    count = rng.choice((60, 250, MAX_SIZE // max(1, len(piece) + 4)))
    return (head + "".join(piece.format(number) for number in range(count))).encode()[:MAX_SIZE]


def _nested_blocks(rng: Random) -> bytes:
    """Blocks of YAML inside of each other, whose size is that of their indentation."""
    depth = rng.choice((60, 150, 300))
    return "".join(" " * level + rng.choice(("- a:\n", "a:\n")) for level in range(depth)).encode()


def file_bytes(rng: Random) -> bytes:
    """A derivatives file."""
    kind = rng.randrange(10)
    if kind < 4:
        head, piece, middle, closing, tail = rng.choice(_formula_patterns(rng))
        return _made(
            rng, (f'{ENTRY}"{head}' if rng.random() < 0.2 else f"{ENTRY}{head}", piece, middle, closing, tail + _TAIL)
        )
    if kind < 7:
        return _made(rng, rng.choice(_file_patterns(rng)))
    return _numbered(rng) if kind < 9 else _nested_blocks(rng)


def of_pieces(make: Callable[[Random], str], pieces: tuple[str, ...]) -> Callable[[Random], bytes]:
    """A maker of inputs that are one text again and again, or one piece of its language.

    Args:
        make: makes a text.
        pieces: the pieces.
    """

    def generate(rng: Random) -> bytes:
        piece = make(rng)[:500] if rng.random() < 0.4 else rng.choice(pieces)
        closing = rng.choice(pieces) if rng.random() < 0.3 else ""
        head = make(rng)[: rng.randrange(200)] if rng.random() < 0.5 else ""
        return _made(rng, (head, piece, "", closing, ""))

    return generate


schema_bytes = of_pieces(schemas.any_schema, schemas.PIECES)
header_bytes = of_pieces(headers.declaration, headers.PIECES)
natives_bytes = of_pieces(natives.entry, natives.PIECES)
configuration_bytes = of_pieces(configuration.line, configuration.PIECES)
graph_bytes = of_pieces(
    graphs.program, (*graphs.PIECES, "sin(", "mul(a, ", "  %0 : Tensor = aten::sin(%a)\n", "h = a; ")
)
