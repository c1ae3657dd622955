"""Extract the operator lists from the source of PyTorch's generators."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from derivlint.operators.literals import Literal, Module, Modules, UnknownShapeError
from derivlint.operators.topics import DECOMPOSED, DECOMPOSITIONS, TOPICS

_REGISTER = "_register_jit_decomposition_for_jvp"
_OPERATOR_PREFIX = "torch.ops.aten."
_WITHOUT_OVERLOAD = ".default"


class ExtractionProblem(NamedTuple):
    """A list that could not be extracted.

    Attributes:
        topic: the topic of the list.
        module: the unqualified name of the module.
        line: the 1-based line.
        reason: the reason.
    """

    topic: str
    module: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f'{self.module}.py:{self.line}: the list "{self.topic}" cannot be read: {self.reason}'


class Extraction(NamedTuple):
    """The extracted lists: sorted names by topic, without unreadable topics."""

    lists: dict[str, list[str]]
    problems: tuple[ExtractionProblem, ...]


def extract(texts: Mapping[str, str]) -> Extraction:
    """Extract the operator lists from the source of generators.

    Args:
        texts: the source of modules by unqualified name: :data:`derivlint.operators.topics.MODULES` and
            ``DECOMPOSITIONS`` are read if present.
    """
    modules: dict[str, Module] = {}
    lists: dict[str, list[str]] = {}
    problems: list[ExtractionProblem] = []
    broken: dict[str, UnknownShapeError] = {}
    for name, text in texts.items():
        try:
            modules[name] = Module(name, text)
        except UnknownShapeError as error:
            broken[name] = error
    readable = Modules(modules.values())
    for topic, (module, name) in TOPICS.items():
        if module not in texts:
            continue
        try:
            if module in broken:
                raise broken[module]
            lists[topic] = sorted(set(_names(readable.collection(module, name))))
        except UnknownShapeError as error:
            problems.append(ExtractionProblem(topic, module, error.line, error.reason))
    if DECOMPOSITIONS in modules:
        lists[DECOMPOSED] = sorted(set(_registered(modules[DECOMPOSITIONS].tree)))
    elif DECOMPOSITIONS in broken:
        problem = broken[DECOMPOSITIONS]
        problems.append(ExtractionProblem(DECOMPOSED, DECOMPOSITIONS, problem.line, problem.reason))
    return Extraction(lists, tuple(problems))


def _names(elements: Collection[Literal]) -> Iterator[str]:
    """Operator names; a name and its overload may be separate strings."""
    for element in elements:
        if isinstance(element, str):
            yield element
        elif len(element) == 2 and isinstance(element[0], str) and isinstance(element[1], str):
            yield f"{element[0]}.{element[1]}" if element[1] else element[0]
        else:
            raise UnknownShapeError("an element is not the name of an operator", 1)


def _registered(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == _REGISTER and call.args:
            name = ast.unparse(call.args[0]) if isinstance(call.args[0], ast.Attribute) else ""
            if name.startswith(_OPERATOR_PREFIX):
                yield name.removeprefix(_OPERATOR_PREFIX).removesuffix(_WITHOUT_OVERLOAD)
