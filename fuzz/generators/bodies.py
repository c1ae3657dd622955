"""Bodies of helper functions: statements whose types fit, and half-typed ones."""

from __future__ import annotations

from random import Random

from fuzz.case import Case
from fuzz.generators.text import chance, mutated
from fuzz.generators.typed import Expressions, Signature, formula, places
from fuzz.seeds import seeds

#: How the types of schemas are written for parameters.
WRITTEN = {
    "Tensor": "const Tensor&",
    "Tensor[]": "TensorList",
    "int": "int64_t",
    "int[]": "IntArrayRef",
    "bool": "bool",
    "Scalar": "const Scalar&",
    "ScalarType": "at::ScalarType",
}
_DECLARED = {"Tensor": "Tensor", "int": "int64_t", "int[]": "std::vector<int64_t>", "bool": "bool"}
PIECES = (
    *"()[]{}<>,;=+*&.", "return ", "if (", "else ", "for (", "while (", "auto ", "const ", "Tensor ", "std::", "[&]",
    "std::tuple<>", "std::make_tuple()", "c10::irange(", "#if 1\n", "#else\n", "#endif\n", "case ", "switch (", "try {",
    "} catch (...) {", "throw ", "\n", "template <typename T> ", "static ", "/*", "*/", "//", "'", '"', "AT_DISPATCH(",
)  # fmt: skip


class _Body:
    """The statements of one function."""

    def __init__(self, rng: Random, params: list[tuple[str, str]], functions: list[Signature]) -> None:
        self.rng = rng
        self.names: dict[str, list[str]] = {}
        for type, name in params:
            self.names.setdefault(type, []).append(name)
        self.expressions = Expressions(rng, self.names, functions)
        self._count = 0

    def _new(self, type: str) -> str:
        self._count += 1
        name = f"v{self._count}"
        self.names.setdefault(type, []).append(name)
        return name

    def _of(self, type: str) -> str:
        return self.expressions.of(type, self.rng.randint(0, 3))

    def block(self, depth: int) -> str:
        """Statements in braces, whose variables are theirs."""
        before = {type: list(names) for type, names in self.names.items()}
        text = " ".join(self.statement(depth) for _ in range(self.rng.choice((0, 1, 2, 3))))
        self.names.clear()
        self.names.update(before)
        return f"{{ {text} }}"

    def statement(self, depth: int) -> str:
        rng = self.rng
        kind = rng.randrange(20)
        type = rng.choice(("Tensor", "Tensor", "Tensor", "int", "int[]", "bool", "Tensor[]"))
        if kind < 6:
            value = self._of(type)
            word = _DECLARED.get(type, "auto") if chance(rng, 0.5) else "auto"
            return f"{word} {self._new(type)} = {value};"
        if kind < 9:
            names = self.names.get(type)
            return f"{rng.choice(names)} {rng.choice(('=', '+=', '*=', '-='))} {self._of(type)};" if names else ";"
        if kind == 9:
            name, method = rng.choice(self.names["Tensor"]), rng.choice(("mul_", "add_", "copy_", "masked_fill_"))
            return f"{name}.{method}({self._of('Tensor')});"
        if kind == 10:
            first, second = self._of("Tensor"), self._of("Tensor")
            return f"auto [{self._new('Tensor')}, {self._new('Tensor')}] = std::make_tuple({first}, {second});"
        if kind == 11:
            value = self._of("Tensor")
            return f"auto {self._new('Tensor')} = [&](const Tensor& y) {{ return y * {value}; }}({self._of('Tensor')});"
        if kind == 12:
            return f'TORCH_CHECK({self._of("bool")}, "text");'
        if kind == 13:
            return rng.choice(("break;", "continue;", ";", "Tensor e;", "n++;", "--n;", "std::tie(a, b) = g(a);"))
        if depth <= 0:
            return f"return {self._of('Tensor')};" if chance(rng, 0.3) else ";"
        if kind < 17:
            other = f" else {self.block(depth - 1)}" if chance(rng, 0.4) else ""
            return f"if ({self._of('bool')}) {self.block(depth - 1)}{other}"
        over = rng.choice(
            (
                f"for (auto i : c10::irange({self._of('int')}))",
                f"for (int64_t i = 0; i < {self._of('int')}; ++i)",
                f"for (const auto& t : {self._of('Tensor[]')})",
                f"while ({self._of('bool')})",
                "while (true)",
            )
        )
        return f"{over} {self.block(depth - 1)}"


def source(rng: Random) -> tuple[str, str, list[Signature]]:
    """A source file, its header, and what it declares."""
    functions: list[Signature] = []
    definitions, declarations = [], []
    for number in range(rng.choice((1, 2, 2, 3))):
        types = ["Tensor", *rng.choices(tuple(WRITTEN), k=rng.randint(0, 3))]
        params = [(type, ("grad", "self", "n", "dims")[at] if at < 2 else f"p{at}") for at, type in enumerate(types)]
        gives = rng.choice((("Tensor",), ("Tensor",), ("Tensor",), ("Tensor", "Tensor"), ()))
        name = f"f{number}_backward" if chance(rng, 0.3) else f"f{number}"
        function = Signature(name, tuple(types), gives, len(types))
        body = _Body(rng, params, [*functions, function])
        statements = [body.statement(2) for _ in range(rng.choice((0, 1, 3, 6)))]
        values = ", ".join(body.expressions.of("Tensor", 2) for _ in gives)
        result = "Tensor" if len(gives) == 1 else f"std::tuple<{', '.join(gives)}>"
        statements.append(f"return {values if len(gives) == 1 else f'std::make_tuple({values})'};")
        head = f"{result} {name}({', '.join(f'{WRITTEN[type]} {param}' for type, param in params)})"
        definitions.append(f"{head} {{\n  " + "\n  ".join(statements) + "\n}\n")
        declarations.append(f"{head};\n")
        functions.append(function)
    return "".join(definitions), "".join(declarations), functions


def case_bytes(rng: Random) -> bytes:
    """A source file with its header, and a derivatives file that calls what it defines."""
    text, header, functions = source(rng)
    if chance(rng, 0.3):
        text = mutated(rng, text, PIECES, seeds().declarations)
    if chance(rng, 0.1):
        text = text[: rng.randrange(len(text) + 1)]
    entries = []
    for schema in rng.sample(seeds().schemas, 2):
        backward, _ = places(schema)
        called = formula(rng, backward, functions)
        if chance(rng, 0.5):
            called = Expressions(rng, backward, functions).call(rng.choice(functions), 2)
        key = next((name for name in backward["Tensor"][4:] if name.isidentifier()), "self")
        entries.append(f"- name: {schema}\n  {key}: '{called}'\n")
    files = {
        "f.cpp": text.encode("utf-8", "surrogatepass"),
        "f.h": header.encode(),
        "derivatives.yaml": "".join(entries).encode(),
    }
    return Case((), files).encoded()
