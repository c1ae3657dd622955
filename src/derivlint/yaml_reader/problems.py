"""What can be wrong with a file before anyone asks what it means."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from derivlint.source import Span

ProblemKind: TypeAlias = Literal["syntax", "limit", "encoding", "tag", "several-documents"]


class YamlProblem(Struct, frozen=True):
    """One problem of the YAML of a file.

    Attributes:
        kind: ``syntax``; ``limit`` (nested too deep or too large); ``encoding`` (no UTF-8, or characters that YAML
            forbids); ``tag`` (an unknown tag, or a value that cannot be built); ``several-documents``.
        message: the fact, one line.
        span: its place.
        help: what to do about it.
        related: further places, each with what is there.
    """

    kind: ProblemKind
    message: str
    span: Span
    help: str | None = None
    related: tuple[tuple[str, Span], ...] = ()


class ReadError(Exception):
    """Reading cannot go on behind ``problem``."""

    def __init__(self, problem: YamlProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem
