"""C++ headers."""

from __future__ import annotations

from random import Random

from fuzz.generators.formulas import formula
from fuzz.generators.text import chance, encoded, grown, mutated, word
from fuzz.seeds import seeds

TYPES = (
    "int", "const Tensor&", "at::Tensor", "std::vector<T>", "c10::SymInt", "auto&&", "unsigned long long", "T*",
    "char[3]", "std::function<int(const T&)>", "std::array<bool, 2>", "typename T::type", "decltype(x)", "void",
    "int (&)[2]", "...",
)  # fmt: skip
PIECES = (
    *"()[]{}<>.,;:?!~+-*/%&|=\"'\\# \n\0", "namespace a {", "}", "template <", "class ", "struct S {", "::",
    "operator", "//", "/*", "*/", "#if 0\n", "#endif\n", "#define A(x) x\\\n", "R\"(", ")\"", "requires ", "= delete",
    "= default", "using ", "enum ", "friend ", "public:", "noexcept", "extern \"C\" {", "TORCH_API ", "C10_EXPORT ",
    "[[nodiscard]] ", "constexpr ", "->", "static_assert(", "...", "operator()", "operator<=>", ">>", "union {",
    "virtual ", "= 0", "alignas(8) ", "__attribute__((x)) ", "concept ", "co_await ", *TYPES,
)  # fmt: skip

_SCOPES = ("namespace a", "namespace", "struct S", "class C : public B<int>", "enum E", 'extern "C"')


def declaration(rng: Random) -> str:
    """One declaration."""
    kind = rng.randrange(10)
    if kind < 4:
        return rng.choice(seeds().declarations)
    parameters = ", ".join(
        f"{rng.choice(TYPES)} {word(rng)}{' = ' + formula(rng, depth=1) if chance(rng, 0.2) else ''}"
        for _ in range(rng.choice((0, 1, 2, 3)))
    )
    function = f"{rng.choice(TYPES)} {word(rng)}({parameters})"
    if kind < 7:
        return rng.choice(("", "inline ", "static ", "template <class T> ", "TORCH_API ")) + function + ";"
    if kind == 7:
        return f"{function} {{ return {formula(rng, depth=2)}; }}"
    inner = "\n".join(declaration(rng) for _ in range(rng.choice((0, 1, 2))))
    return f"{rng.choice(_SCOPES)} {{\n{inner}\n}};"


def header(rng: Random) -> str:
    """A header."""
    text = "#pragma once\n" if chance(rng, 0.3) else ""
    text += "\n".join(declaration(rng) for _ in range(rng.choice((1, 1, 2, 4)))) + "\n"
    kind = rng.randrange(20)
    if kind < 10:
        return mutated(rng, text, PIECES, seeds().declarations)
    return text + grown(rng, rng.choice(PIECES)) if kind == 10 else text


def header_bytes(rng: Random) -> bytes:
    """A header."""
    return encoded(rng, header(rng))
