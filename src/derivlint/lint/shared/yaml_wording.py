"""Findings about unreadable YAML, and the wording of nodes."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint.diagnostic import Finding, Related
from derivlint.model import Model
from derivlint.yaml_reader import Scalar, Sequence, YamlNode
from derivlint.yaml_reader.problems import YamlProblemKind

_SCALARS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "timestamp": "a date",
    "binary": "binary data",
}


def kind_of(node: YamlNode) -> str:
    """The kind of a node, such as ``a list`` or ``an integer``."""
    if isinstance(node, Scalar):
        return _SCALARS.get(node.kind, "a special value")
    return "a list" if isinstance(node, Sequence) else "a mapping"


def document_findings(model: Model, *kinds: YamlProblemKind) -> Iterator[Finding]:
    """The problems of given kinds that the YAML reader reported."""
    for problem in model.document.problems:
        if problem.kind in kinds:
            related = tuple(Related(text, span) for text, span in problem.related)
            yield Finding(problem.span, problem.message, help=problem.help, related=related)
