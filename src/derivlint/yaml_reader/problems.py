"""Problems of a file as YAML."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from derivlint.source import Span


class YamlProblemKind(Enum):
    """A problem in the YAML of a file."""

    SYNTAX = "syntax"
    #: nested too deep, or too large
    LIMIT = "limit"
    #: not UTF-8, or with characters that YAML forbids
    ENCODING = "encoding"
    #: an unknown tag, or a value that cannot be built
    TAG = "tag"
    SEVERAL_DOCUMENTS = "several-documents"


class YamlProblem(Struct, frozen=True):
    """One problem of the YAML of a file.

    Attributes:
        kind: what is wrong.
        message: the fact, one line.
        span: its place.
        help: what to do about it.
        related: further places, each with what is there.
    """

    kind: YamlProblemKind
    message: str
    span: Span
    help: str | None = None
    related: tuple[tuple[str, Span], ...] = ()


class ReadError(Exception):
    """Reading cannot go on after ``problem``."""

    def __init__(self, problem: YamlProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem
