"""Reference definitions of operators and helpers, in the language of formulas.

    helper var_backward(grad, self, dims, correction, keepdim)
        n = count(self.sizes(), dims, self.numel())
        d = unreduced(grad, dims, keepdim, self.dim())
        = 2.0 / (n - correction.value_or(1)) * d * (self - mean_over(self, dims))

    operator add(self, other, alpha = 1)
        = self + alpha * other

    composite softmax.int(self, dim, dtype)
        = at::_softmax(self, dim, false)

The first line has the names, separated by commas, and the parameters. A ``helper`` is a function of FunctionsManual.h,
whose arguments are bound by position; an ``operator`` has the relevant parameters of its schema; a ``composite`` is a
composite operator without an entry, named with its overload; a ``part`` is shared by several definitions. Parameters
without a default are required. The following lines define intermediate values, and last, after ``=``, the result. A
line with deeper indentation continues the one above; ``#`` begins a comment.

Definitions call each other, operators, and the primitives of :mod:`derivlint.operators.reference.primitives`, which
every interpreter implements. Omitted arguments of a call are absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Raw, Struct, json

from derivlint.formula import Call, Expr, Member, Name, parse_formula, walk
from derivlint.formula.nodes import AnyExpr
from derivlint.source.lazy import cached_property

if TYPE_CHECKING:
    from derivlint.schema import NativeFunction

FOLDER = Path(__file__).parents[1] / "data" / "definitions"
_NOT_COMPARED = FOLDER.parent / "not_compared.txt"
_TREES = FOLDER.parent / "trees.json"
_HEAD = re.compile(r"(helper|operator|composite|part) ([\w.]+(?:, [\w.]+)*)\(([^()]*)\)")
_NAMES = re.compile(r"^(?:helper|operator|composite|part) ([\w., ]+)\(", re.MULTILINE)
_PART = re.compile(r"(?:(\w+) )?= (.+)", re.DOTALL)


class DefinitionError(ValueError):
    """The text is not a definition."""


class DefinitionKind(Enum):
    """The kinds of definitions."""

    HELPER = "helper"
    OPERATOR = "operator"
    COMPOSITE = "composite"
    PART = "part"


class Definition(Struct, frozen=True, dict=True):
    """The reference definition of an operator or helper.

    Attributes:
        kind: its kind.
        name: its name; of a composite, with the overload.
        parameters: the names of its parameters.
        defaults: the default formulas of parameters.
        formulas: the intermediate values with names, in order of evaluation, then the unnamed result.
    """

    kind: DefinitionKind
    name: str
    parameters: tuple[str, ...]
    defaults: Mapping[str, str]
    formulas: tuple[tuple[str, str], ...]

    @cached_property
    def trees(self) -> tuple[tuple[str, Expr], ...]:
        """The formulas as syntax trees."""
        return tuple((name, tree_of(formula)) for name, formula in self.formulas)

    @cached_property
    def called(self) -> frozenset[str]:
        """The names of the functions and methods that it calls."""
        callees = (node.callee for _, tree in self.trees for node in walk(tree) if isinstance(node, Call))
        return frozenset(
            callee.name
            if isinstance(callee, Member)
            else callee.parts[-1].identifier
            if isinstance(callee, Name)
            else ""
            for callee in callees
        )

    @property
    def every_formula(self) -> tuple[str, ...]:
        """All formulas, including default values."""
        return (*self.defaults.values(), *(formula for _, formula in self.formulas))

    @property
    def required(self) -> int:
        """The number of parameters without a default."""
        return len(self.parameters) - len(self.defaults)


@cache
def tree_of(formula: str) -> Expr:
    """The bundled syntax tree of a formula in a definition; decoding is eight times as fast as parsing.

    Raises:
        DefinitionError: the text is not an expression.
    """
    read, trees = _shipped_trees()
    shipped = trees.get(formula)
    return parsed_tree(formula) if shipped is None else read.decode(shipped)


def parsed_tree(formula: str) -> Expr:
    """Parse a formula in a definition.

    Raises:
        DefinitionError: the text is not an expression.
    """
    parsed = parse_formula(formula)
    if parsed.tree is None or parsed.problems:
        raise DefinitionError(f'"{formula}" is not an expression')
    return parsed.tree


@cache
def _shipped_trees() -> tuple[json.Decoder[AnyExpr], dict[str, Raw]]:
    """The decoder, and the encoded trees by formula."""
    try:
        trees = json.decode(_TREES.read_bytes(), type=dict[str, Raw])
    except FileNotFoundError:
        trees = {}
    return json.Decoder(AnyExpr), trees


def written_trees(definitions: Iterable[Definition]) -> str:
    """Render the content of ``data/trees.json``: the syntax trees of definitions."""
    formulas = sorted({formula for item in definitions for formula in item.every_formula})
    lines = (f"{json.encode(item).decode()}:{json.encode(parsed_tree(item)).decode()}" for item in formulas)
    return "{" + ",\n".join(lines) + "}\n"


def read_definitions(text: str) -> Iterator[Definition]:
    """Parse a file of definitions, by name.

    Raises:
        DefinitionError: the text is not a file of definitions.
    """
    head = ""
    lines: list[str] = []
    for line in text.splitlines():
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        if indent == 0:
            if head:
                yield from _read(head, lines)
            head, lines = bare, []
        elif indent > 4 and lines:
            lines[-1] = f"{lines[-1]} {bare}"
        elif indent > 4:
            head = f"{head}{bare}" if head.endswith("(") else f"{head} {bare}"
        else:
            lines.append(bare)
    if head:
        yield from _read(head, lines)


def _read(head: str, lines: list[str]) -> Iterator[Definition]:
    match = _HEAD.fullmatch(head)
    if match is None:
        raise DefinitionError(f'"{head}" does not begin with "helper", "operator", "composite" or "part"')
    names: list[str] = []
    defaults: dict[str, str] = {}
    for parameter in filter(None, match[3].split(", ")):
        name, _, default = parameter.partition(" = ")
        names.append(name)
        if default:
            defaults[name] = default
        elif defaults:
            raise DefinitionError(f'"{head}": "{name}" has no default and comes after one that has')
    formulas = []
    for line in lines:
        part = _PART.fullmatch(line)
        if part is None:
            raise DefinitionError(f'"{line}" is not a part of the definition "{head}"')
        formulas.append((part[1] or "", part[2]))
    if [name for name, _ in formulas].count("") != 1 or formulas[-1][0]:
        raise DefinitionError(f'"{head}" needs one value, in its last line')
    for name in match[2].split(", "):
        yield Definition(DefinitionKind(match[1]), name, tuple(names), defaults, tuple(formulas))


class Definitions(Mapping[str, Definition]):
    """Definitions by name, each parsed on demand."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Index the definitions of files.

        Raises:
            DefinitionError: a name is defined twice.
        """
        self._texts: dict[str, str] = {}
        self._read: dict[str, Definition] = {}
        for text in texts:
            heads = list(_NAMES.finditer(text))
            ends = [head.start() for head in heads[1:]]
            for head, end in zip(heads, [*ends, len(text)], strict=True):
                for name in head[1].split(", "):
                    if name in self._texts:
                        raise DefinitionError(f'"{name}" is defined twice')
                    self._texts[name] = text[head.start() : end]

    def __getitem__(self, name: str) -> Definition:
        definition = self._read.get(name)
        if definition is None:
            self._read.update((part.name, part) for part in read_definitions(self._texts[name]))
            definition = self._read[name]
        return definition

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@cache
def definitions() -> Mapping[str, Definition]:
    """All definitions, by name."""
    return Definitions(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt")))


@cache
def reasons() -> Mapping[str, str]:
    """The reasons why operators and helpers cannot be analyzed, by base name."""
    reasons_by_name: dict[str, str] = {}
    reason = ""
    for line in _NOT_COMPARED.read_text(encoding="ascii").splitlines():
        if line.startswith("#"):
            continue
        head, _, names = line.rpartition(": ")
        reason = head or reason
        reasons_by_name.update(dict.fromkeys(names.split(), reason))
    return reasons_by_name


def helper_named(name: str) -> Definition | None:
    """The definition of a helper or part, or None."""
    definition = definitions().get(name)
    return (
        definition
        if definition is not None and definition.kind in (DefinitionKind.HELPER, DefinitionKind.PART)
        else None
    )


def composite_named(name: str) -> Definition | None:
    """The definition of a composite operator without entry by its full name, or None."""
    definition = definitions().get(name)
    if definition is None or definition.kind is not DefinitionKind.COMPOSITE:
        # named with ``.default`` if another overload has an entry
        definition = definitions().get(f"{name}.default")
    return definition


def operator_named(function: NativeFunction) -> Definition | None:
    """The definition of an operator, or None."""
    if not function.is_of_pytorch:
        return None
    name = function.name
    # the functional twin of a mutable operator returns more: rrelu_with_noise_functional also returns the noise
    definition = definitions().get(name.name_without_overload if name.functional_overload else name.base)
    if definition is None or definition.kind is not DefinitionKind.OPERATOR:
        return None
    names = {argument.name for argument in function.schema.arguments.flat_non_out}
    return definition if names.issuperset(definition.parameters) else None
