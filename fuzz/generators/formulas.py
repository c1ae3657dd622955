"""Formulas: derived from a grammar of C++ expressions, or real ones with changes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from fuzz.generators.text import chance, grown, mutated
from fuzz.seeds import seeds

NAMES = (
    "grad",
    "self",
    "other",
    "result",
    "self_p",
    "self_t",
    "grads",
    "weight",
    "dim",
    "grad_input_mask",
    "x",
    "result0",
)
MEMBERS = (
    "conj", "sym_sizes", "sizes", "sin", "cos", "exp", "t", "mT", "sum", "to", "scalar_type", "defined", "reshape",
    "dim", "size", "neg", "mul", "pow", "index", "value_or", "has_value", "options", "masked_fill", "transpose",
    "is_complex",
)  # fmt: skip
CALLS = (
    "at::sin", "at::where", "at::zeros_like", "mul_tensor_backward", "maybe_multiply", "handle_r_to_c",
    "not_implemented", "std::get<0>", "std::make_tuple", "static_cast<int64_t>", "at::_ops::sin::call", "Tensor",
    "std::vector<Tensor>", "areAnyTensorSubclassLike", "sum_backward", "toNonOptFwGrad", "f", "auto_linear",
    "grad.new_zeros_symint",
)  # fmt: skip
NUMBERS = (
    "0", "1", "2", "-1", "0.5", "1e5", "1.f", "0x1F", "0b101", "0x1p3", "0x1.8p1", "1'000", "1e400", "1e-400", "077",
    "2.", ".5", "1ull", "9223372036854775808", "1e", "0x", "0xg", "1.2.3", "0.0", "99999999999999999999999",
)  # fmt: skip
BINARY = (
    "+",
    "-",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    ">",
    "<=",
    ">=",
    "&&",
    "||",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    ",",
    "=",
    " and ",
)
UNARY = ("-", "!", "~", "+", "*", "&", "not ", "++")
CONSTANTS = (
    "true",
    "false",
    "nullptr",
    "at::kDouble",
    "M_PI",
    "std::nullopt",
    "c10::nullopt",
    '"text"',
    "'c'",
    "NAN",
    "this",
)
PIECES = (
    *"()[]{}<>.,;:?!~+-*/%^&|='\"\\ \n\0\u00e9#", *NAMES, *CALLS, *NUMBERS, *CONSTANTS, "::", "->", "&&", ">>", "//",
    "/*", "*/", "return ", "[&]", "[=](", "\\x", ".sin()", ".conj()", "auto_element_wise", "auto_linear",
    "not_implemented(\"x\")", "{}", "<int>", "? a : b",
)  # fmt: skip


def formula(rng: Random, names: Sequence[str] = NAMES, depth: int = 4) -> str:
    """An expression of the grammar, over some names."""
    if depth <= 0 or chance(rng, 0.15):
        return _leaf(rng, names)
    kind = rng.randrange(14)
    inner = depth - 1

    def one() -> str:
        return formula(rng, names, inner)

    if kind < 4:
        return f"{one()} {rng.choice(BINARY)} {one()}" if kind == 0 else f"{one()} {rng.choice('+-*/')} {one()}"
    if kind < 7:
        arguments = ", ".join(one() for _ in range(rng.choice((0, 0, 1, 1, 2, 3))))
        return f"{one()}.{rng.choice(MEMBERS)}({arguments})"
    if kind < 9:
        return f"{rng.choice(CALLS)}({', '.join(one() for _ in range(rng.choice((0, 1, 1, 2, 3, 4))))})"
    if kind == 9:
        return f"({one()})"
    if kind == 10:
        return f"{one()} ? {one()} : {one()}"
    if kind == 11:
        return f"{rng.choice(UNARY)}{one()}"
    if kind == 12:
        return f"{one()}[{one()}]" if chance(rng, 0.5) else f"{one()}.{rng.choice(MEMBERS)}"
    return _rare(rng, names, inner)


def _rare(rng: Random, names: Sequence[str], depth: int) -> str:
    value = formula(rng, names, depth)
    return rng.choice(
        (
            f"[&]() {{ auto x = {value}; return x; }}()",
            f"[=](const Tensor& a) {{ if (a.defined()) {{ return a; }} return {value}; }}({rng.choice(names)})",
            f"{{{value}, {formula(rng, names, depth)}}}",
            f"(double) {value}",
            f"static_cast<double>({value})",
            f"std::vector<Tensor>{{{value}}}",
            f"at::IntArrayRef({{{value}}})",
            f"std::get<{rng.choice(NUMBERS)}>({value})",
            f"{value}->{rng.choice(MEMBERS)}()",
            f"grads[{rng.choice(NUMBERS)}]",
        )
    )


def _leaf(rng: Random, names: Sequence[str]) -> str:
    kind = rng.randrange(10)
    if kind < 7:
        return rng.choice(names)
    return rng.choice(NUMBERS) if kind < 9 else rng.choice(CONSTANTS)


def grown_formula(rng: Random, name: str = "grad") -> str:
    """A formula in which one construct is repeated very often."""
    count = rng.choice((10, 30, 100, 300))
    call = rng.choice(("at::sin", "f", "std::vector<Tensor>", "(double) ", "!", "-", "at::zeros_like"))
    kind = rng.randrange(9)
    if kind == 0:
        return name + grown(rng, f".{rng.choice(MEMBERS)}()")
    if kind == 1:
        return f"{call}(" * count + name + ")" * count
    if kind == 2:
        return f" {rng.choice(BINARY)} ".join([rng.choice((name, "self", "2"))] * count)
    if kind == 3:
        return f"{name} ? self : " * count + name
    if kind == 4:
        return f"f({', '.join([name] * count)})"
    if kind == 5:
        return "[&]() { return " * count + name + "; }()" * count
    if kind == 6:
        return f"{name}[" * count + "0" + "]" * count
    if kind == 7:
        return "std::vector<" * count + "Tensor" + ">" * count + f"({name})"
    return grown(rng, rng.choice(PIECES))


def any_formula(rng: Random, names: Sequence[str] = NAMES) -> str:
    """A formula of any kind."""
    kind = rng.randrange(20)
    if kind < 6:
        return formula(rng, names, rng.randint(1, 5))
    if kind < 9:
        return rng.choice(seeds().formulas)
    if kind < 16:
        return mutated(rng, rng.choice(seeds().formulas), PIECES, seeds().formulas)
    if kind < 19:
        return mutated(rng, formula(rng, names), PIECES, seeds().formulas)
    return grown_formula(rng, rng.choice(names))


def formula_bytes(rng: Random) -> bytes:
    """A formula alone."""
    return any_formula(rng).encode("utf-8", "surrogatepass")
