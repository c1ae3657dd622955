"""The bundled facts derived from definitions: ``data/derived.txt``.

    helper var_backward(grad, self, dim, correction, keepdim)
        grad*self/dim/correction/keepdim ; grad self
    operator add(self, other, alpha=)
        self + other*alpha ; self other alpha

Each result has a line: a sum of products, then the complex parameters that it depends on. A product is linear in its
factors, nonlinear in the parameters after ``/``, and of unclear linearity in those after ``~``; ``?`` marks a product
that is absent for some flags. A parameter with ``=`` has a default value, one with ``?`` defaults to None, and one with
``!`` is unused in the definition, though PyTorch may read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from msgspec import Struct

from derivlint.operators.reference.terms import Parity, Polynomial, Term, joint
from derivlint.source.lazy import cached_property

PATH = Path(__file__).parents[1] / "data" / "derived.txt"
_COMMENT = "# What operators are linear in and how they conjugate, by their definitions; made by python -m tools.docs"
_MARKS = {"conj": Parity.CONJUGATED, "mixed": Parity.NON_HOLOMORPHIC, "unknown": Parity.UNKNOWN}
_WORDS = {parity: word for word, parity in _MARKS.items()}
_NAMES = re.compile(r"([/*~]?)(\w+)")


class Derived(Struct, frozen=True, dict=True):
    """The linearity and parity of an operator or helper, derived from its definition.

    Attributes:
        kind: the kind of definition: ``helper``, ``operator``, ``composite``.
        parameters: the names of its parameters.
        required: the number of parameters without default.
        with_default: the parameters whose default is not None.
        unused: the parameters that the definition does not use.
        outputs: its results as sums of products; several for a tuple.
    """

    kind: str
    parameters: tuple[str, ...]
    required: int
    with_default: frozenset[str]
    unused: frozenset[str]
    outputs: tuple[Polynomial, ...]

    @property
    def is_by_position(self) -> bool:
        """Whether arguments are bound by position rather than by the names of a schema."""
        return self.kind == "helper"

    @property
    def has_own_names(self) -> bool:
        """Whether parameter names may differ from the schema's."""
        return self.kind == "composite"

    @cached_property
    def only_metadata(self) -> frozenset[str]:
        """The parameters of which only sizes or types are read."""
        read = {
            name
            for output in self.outputs
            for term in output.terms
            for name in (*term.factors, *term.divisors, *term.unclear)
        }
        return frozenset(self.parameters) - self.unused - read

    def parity(self, parameter: str) -> Parity:
        """The parity of the results in a complex parameter."""
        return joint(output.parities.get(parameter, Parity.REAL) for output in self.outputs)


def write_derived(definitions: Iterable[tuple[str, Derived]]) -> str:
    """Render the derived facts, sorted by name."""
    lines = [_COMMENT]
    for name, definition in sorted(definitions, key=lambda item: item[0]):
        optional = frozenset(definition.parameters[definition.required :])
        parameters = ", ".join(
            parameter
            + ("!" if parameter in definition.unused else "")
            + ("=" if parameter in definition.with_default else "?" if parameter in optional else "")
            for parameter in definition.parameters
        )
        lines.append(f"{definition.kind} {name}({parameters})")
        lines += [f"    {_shown(output)}" for output in definition.outputs]
    return "\n".join(lines) + "\n"


def _shown(output: Polynomial) -> str:
    terms = [
        ("" if term.is_sure else "?")
        + ("*".join(term.factors) or "1")
        + "".join(f"/{name}" for name in term.divisors)
        + "".join(f"~{name}" for name in term.unclear)
        for term in output.terms
    ]
    parities = [
        f"{_WORDS[parity]}({name})" if parity in _WORDS else name
        for name, parity in output.parities.items()
        if parity is not Parity.REAL
    ]
    return " + ".join(terms or ["0"]) + " ;" + "".join(f" {parity_text}" for parity_text in parities)


def _term(text: str) -> Term:
    parts: dict[str, list[str]] = {"*": [], "/": [], "~": []}
    for operator, name in _NAMES.findall(text.removeprefix("?")):
        parts[operator or "*"].append(name)
    factors = tuple(name for name in parts["*"] if name != "1")
    return Term(factors, tuple(parts["/"]), tuple(parts["~"]), text[0] != "?")


def _read(head: str, lines: list[str]) -> Derived:
    kind, _, rest = head.partition(" ")
    shown = rest[:-1].partition("(")[2].split(", ") if not rest.endswith("()") else []
    parameters = tuple(item.rstrip("!=?") for item in shown)
    outputs = []
    for line in lines:
        sums, _, names = line.partition(" ;")
        terms = () if sums == "0" else tuple(map(_term, sums.split(" + ")))
        parities = {}
        for item in names.split():
            word, _, name = item.rstrip(")").rpartition("(")
            parities[name] = _MARKS[word] if word else Parity.HOLOMORPHIC
        outputs.append(Polynomial(parameters, terms, parities))
    required = sum(item[-1] not in "=?" for item in shown)
    with_default = frozenset(item.rstrip("!=") for item in shown if item[-1] == "=")
    unused = frozenset(name for name, item in zip(parameters, shown, strict=True) if "!" in item)
    return Derived(kind, parameters, required, with_default, unused, tuple(outputs))


def read_derived(text: str) -> Iterator[tuple[str, Derived]]:
    """Parse a file of derived facts, by name."""
    for name, head, lines in _blocks(text):
        yield name, _read(head, lines)


def _blocks(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name, the first line and the result lines of each function."""
    head = ""
    lines: list[str] = []
    for line in (*text.splitlines(), ""):
        if line[:1] == " ":
            lines.append(line[4:])
        elif line[:1] != "#":
            if head:
                yield head[head.index(" ") + 1 : head.index("(")], head, lines
            head, lines = line, []


@cache
def _shipped() -> Mapping[str, list[tuple[str, list[str]]]]:
    """The lines of the bundled file for each overload, by base name."""
    by_base: dict[str, list[tuple[str, list[str]]]] = {}
    for name, head, lines in _blocks(PATH.read_text(encoding="ascii")):
        by_base.setdefault(name.partition(".")[0], []).append((head, lines))
    return by_base


@lru_cache(maxsize=4096)
def derived(name: str) -> Derived | None:
    """The facts of the function with a base name.

    Returns:
        None if it has no definition or its overloads differ.
    """
    first: Derived | None = None
    for head, lines in _shipped().get(name, ()):
        overload = _read(head, lines)
        if first is not None and overload.outputs != first.outputs:
            return None
        first = first or overload
    return first
