"""Errors of graphs: in their text, in their nodes, and operators that cannot be differentiated."""

from __future__ import annotations


class GraphError(Exception):
    """A graph, or the text of one, that cannot be used; the message says why."""


class GraphSyntaxError(GraphError):
    """A text that is not a graph.

    Attributes:
        line: where it stops being one, from 1.
        column: the same, from 1.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"{line}:{column}: {message}")
        self.line = line
        self.column = column


class UnknownOperatorError(GraphError):
    """A call of something that is not there.

    Attributes:
        name: what is called.
    """

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class UndifferentiableError(GraphError):
    """A graph with operators that cannot be differentiated.

    Attributes:
        reasons: why, each operator once, in the order of the graph.
    """

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons
