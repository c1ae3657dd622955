"""Expressions whose types fit: made from the schemas of operators, the declarations of helpers and names in reach.

What parses and has the right types reaches evaluators; what is only an expression of the grammar seldom does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random

from msgspec import Struct

from derivlint.operators.shapes.sizes import sizes_named
from derivlint.schema import load_index
from fuzz.generators.text import chance
from fuzz.seeds import seeds

#: Literals of each type of a schema, sane ones and others.
LITERALS: Mapping[str, Sequence[str]] = {
    "Tensor": ("Tensor()", "at::zeros_like(self)", "grad"),
    "Scalar": ("1", "0.5", "-2", "2.f", "1e300", "0", "at::Scalar(1)"),
    "int": ("0", "1", "-1", "2", "-2", "3", "0x1", "99", "9223372036854775807", "1000000000", "-0", "1 << 40", "true"),
    "float": ("0.", "1.", "0.5", "1e-5", "-1.", "INFINITY", "1e400", "M_PI"),
    "bool": ("true", "false", "!true", "1 == 2"),
    "str": ('"none"', '"tanh"', '"sum"', '""'),
    "ScalarType": ("at::kFloat", "at::kDouble", "at::kLong", "at::kBool", "at::kComplexFloat"),
    "Layout": ("at::kStrided",),
    "Device": ("at::kCPU",),
    "MemoryFormat": ("at::MemoryFormat::Contiguous",),
    "Generator": ("std::nullopt",),
}
#: Questions and properties of tensors by the type of their answer.
MEMBERS: Mapping[str, Sequence[str]] = {
    "int": ("dim()", "numel()", "sym_numel()", "size(0)", "sym_size(-1)", "size({int})", "sym_size({int})",
            "sym_sizes()[{int}]", "sizes().size()", "sym_size(-{name})"),
    "int[]": ("sizes()", "sym_sizes()", "strides()", "sym_strides()"),
    "bool": ("is_complex()", "defined()", "is_floating_point()", "is_contiguous()", "requires_grad()"),
    "ScalarType": ("scalar_type()",),
}  # fmt: skip


class Signature(Struct, frozen=True):
    """Something that can be called.

    Attributes:
        name: its name in C++.
        takes: the types of its parameters.
        gives: the types of its results.
        required: how many parameters have no default.
        is_method: whether it is called on its first argument, too.
    """

    name: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    required: int
    is_method: bool = False


@cache
def operators() -> tuple[Signature, ...]:
    """The operators of the release."""
    made = []
    for function in load_index().functions:
        schema = function.schema
        if schema.is_out:
            continue
        arguments = schema.arguments.flat_non_out
        made.append(
            Signature(
                str(schema.name).partition(".")[0],
                tuple(_plain(str(each.type)) for each in arguments),
                tuple(_plain(str(each.type)) for each in schema.returns),
                sum(each.default is None for each in arguments),
                bool(arguments) and str(arguments[0].type) == "Tensor",
            )
        )
    return tuple(made)


_HELPER = re.compile(r"(?:\S+ )?((?:at::|std::)?[\w:<>, ]+?)\s+(\w+)\(((?:[^()]|\(\))*)\);\s*$")


@cache
def helpers() -> tuple[Signature, ...]:
    """The helpers of the release, by their declarations."""
    made = []
    for text in seeds().declarations:
        match = _HELPER.search(" ".join(text.split()))
        if match is None:
            continue
        parts = [part for part in re.split(r",(?![^<>]*>)", match[3]) if part.strip()]
        gives = ("Tensor",) * max(1, match[1].count("Tensor"))
        takes = tuple(_of_cpp(part) for part in parts)
        made.append(Signature(match[2], takes, gives, sum("=" not in part for part in parts)))
    return tuple(made)


def _plain(text: str) -> str:
    """A type of a schema without what does not matter: ``SymInt[2]?`` is ``int[]``."""
    return re.sub(r"\[\d*\]", "[]", re.sub(r"\(\w[^)]*\)|\?", "", text)).replace("SymInt", "int")


def _of_cpp(text: str) -> str:
    for part, of in (
        ("TensorList", "Tensor[]"),
        ("vector<Tensor>", "Tensor[]"),
        ("array<bool", "bool[]"),
        ("Tensor", "Tensor"),
        ("IntArrayRef", "int[]"),
        ("Scalar ", "Scalar"),
        ("Scalar&", "Scalar"),
        ("ScalarType", "ScalarType"),
        ("bool", "bool"),
        ("double", "float"),
        ("string", "str"),
    ):
        if part in text:
            return of
    return "int"


@cache
def _by_result(of: str) -> tuple[tuple[Signature, ...], tuple[Signature, ...]]:
    """What gives a type: all, and what the evaluators know."""
    every = tuple(each for each in (*operators(), *helpers()) if of in each.gives)
    return every, tuple(each for each in every if sizes_named(each.name) is not None) or every


class Expressions:
    """Expressions of given types.

    Attributes:
        names: the names in reach by their types.
        functions: further functions that may be called.
    """

    def __init__(self, rng: Random, names: Mapping[str, Sequence[str]], functions: Sequence[Signature] = ()) -> None:
        self.rng = rng
        self.names = names
        self.functions = tuple(functions)

    def of(self, type: str, depth: int = 3) -> str:
        """An expression of a type of a schema; one in thirty is of another."""
        rng = self.rng
        if chance(rng, 0.03):
            type = rng.choice(("Tensor", "int", "int[]", "bool", "Scalar", "Tensor[]"))
        if depth <= 0 or chance(rng, 0.25):
            return self._leaf(type)
        inner = depth - 1
        if type.endswith("[]"):
            return self._list(type, inner)
        if chance(rng, 0.05):
            return f"({self.of('bool', inner)} ? {self.of(type, inner)} : {self.of(type, inner)})"
        if type == "Tensor":
            return self._tensor(inner)
        if type in MEMBERS and chance(rng, 0.6):
            return self.member(type, inner)
        if type in ("int", "float", "Scalar") and chance(rng, 0.5):
            return f"({self.of(type, inner)} {rng.choice('+-*/%')} {self.of(type, inner)})"
        if type == "bool":
            sign = rng.choice(("==", "<", ">=", "&&", "||", "!="))
            of = "bool" if sign in ("&&", "||") else "int"
            return f"{self.of(of, inner)} {sign} {self.of(of, inner)}"
        return self._leaf(type)

    def member(self, type: str, depth: int) -> str:
        """A question about a tensor."""
        rng = self.rng
        asked = rng.choice(MEMBERS[type]).replace("{int}", self.of("int", depth - 1))
        return f"{self.of('Tensor', depth - 1)}.{asked.replace('{name}', rng.choice([*self._all(), 'true']))}"

    def _all(self) -> list[str]:
        return [name for names in self.names.values() for name in names] or ["x"]

    def _leaf(self, type: str) -> str:
        rng = self.rng
        names = self.names.get(type, ())
        if names and chance(rng, 0.7):
            return rng.choice(names)
        if type.endswith("[]"):
            return "{" + ", ".join(self._leaf(type[:-2]) for _ in range(rng.choice((0, 1, 1, 2, 3)))) + "}"
        return rng.choice(LITERALS.get(type, ("std::nullopt",)))

    def _list(self, type: str, depth: int) -> str:
        rng = self.rng
        if type in MEMBERS and chance(rng, 0.5):
            return self.member(type, depth)
        found = [each for each in _by_result(type)[0] if each.gives == (type,)]
        if found and chance(rng, 0.2):
            return self.call(rng.choice(found), depth)
        items = ", ".join(self.of(type[:-2], depth - 1) for _ in range(rng.choice((0, 1, 1, 2, 2, 3))))
        kind = {"Tensor[]": "std::vector<Tensor>", "int[]": "std::vector<int64_t>"}.get(type, "")
        return f"{kind if chance(rng, 0.2) else ''}{{{items}}}"

    def _tensor(self, depth: int) -> str:
        rng = self.rng
        kind = rng.randrange(10)
        if kind < 3:
            right = self.of(rng.choice(("Tensor", "Tensor", "Scalar")), depth)
            return f"{self.of('Tensor', depth)} {rng.choice('+-*/')} {right}"
        if kind == 3:
            return f"{rng.choice(('-', '!', '~', ''))}({self.of('Tensor', depth)})"
        if kind == 4:
            return f"{self.of('Tensor', depth)}.{rng.choice(('conj()', 't()', 'mT()', 'neg()', 'contiguous()'))}"
        if kind == 5:
            return f"{self.of('Tensor[]', depth)}[{self.of('int', 0)}]"
        if self.functions and chance(rng, 0.3):
            return self.call(rng.choice(self.functions), depth)
        return self.call(rng.choice(_by_result("Tensor")[chance(rng, 0.7)]), depth)

    def call(self, function: Signature, depth: int) -> str:
        """A call with arguments of the right types, and an item of what it gives if that is several."""
        rng = self.rng
        count = rng.randint(min(function.required, len(function.takes)), len(function.takes))
        if chance(rng, 0.03):
            count += rng.choice((-1, 1))
        types = [*function.takes, "int"][: max(count, 0)]
        arguments = [self.of(type, depth - 1) for type in types]
        if function.is_method and arguments and chance(rng, 0.5):
            call = f"{_operand(arguments[0])}.{function.name}({', '.join(arguments[1:])})"
        else:
            space = "at::" if function.is_method and chance(rng, 0.9) else ""
            call = f"{space}{function.name}({', '.join(arguments)})"
        if len(function.gives) == 1 and chance(rng, 0.99):
            return call
        return f"std::get<{rng.choice((0, 0, 0, 1, 1, 2, 7))}>({call})"


def _operand(text: str) -> str:
    return text if re.fullmatch(r"[\w:.()]+", text) and text.count("(") == text.count(")") else f"({text})"


def places(schema: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The names that backward formulas and forward formulas of a schema see, by type."""
    head, _, results = schema.partition(") -> ")
    arguments = [part.partition("=")[0].split() for part in re.split(r",(?![^()\[\]]*[)\]])", head.partition("(")[2])]
    typed = [(_plain(part[0]), part[-1]) for part in arguments if len(part) == 2]
    backward: dict[str, list[str]] = {"Tensor": ["grad", "grad", "grad", "result"], "Tensor[]": ["grads"]}
    forward: dict[str, list[str]] = {"Tensor": ["result"]}
    for number in range(results.count("Tensor")):
        backward["Tensor"].append(f"grads[{number}]")
        backward["Tensor"].append(f"result{number}")
    for type, name in typed:
        backward.setdefault(type, []).append(name)
        forward.setdefault(type, []).extend((f"{name}_p", f"{name}_t") if type == "Tensor" else (name,))
    return backward, forward


def entry(rng: Random) -> str:
    """An entry of a real schema with formulas whose types fit."""
    schema = rng.choice(seeds().schemas)
    backward, forward = places(schema)
    lines = [f"- name: {schema}"]
    tensors = [name for name in backward["Tensor"] if name.isidentifier() and not name.startswith(("grad", "result"))]
    lines += [f"  {name}: '{formula(rng, backward)}'" for name in tensors[:2] or ["self"]]
    if chance(rng, 0.4):
        lines.append(f"  result: '{formula(rng, forward)}'")
    if chance(rng, 0.05):
        lines.append(f"  output_differentiability: [{', '.join(rng.choices(('True', 'False'), k=rng.randint(1, 3)))}]")
    return "\n".join(lines) + "\n"


def formula(rng: Random, names: Mapping[str, Sequence[str]], functions: Sequence[Signature] = ()) -> str:
    """A formula of a gradient."""
    return Expressions(rng, names, functions).of("Tensor", rng.randint(1, 4)).replace("'", "''")


def file_bytes(rng: Random) -> bytes:
    """A file of typed entries."""
    return "".join(entry(rng) for _ in range(rng.choice((1, 1, 2)))).encode()


def expression_bytes(rng: Random) -> bytes:
    """An expression for ``derive``, over tensors of any name."""
    names = {"Tensor": ["x", "y", "a"], "int": ["0", "1"]}
    return Expressions(rng, names).of("Tensor", rng.randint(1, 4)).encode()
