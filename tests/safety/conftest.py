"""The fixtures of commands and of graphs."""

from tests.cli.conftest import here, run
from tests.graph.conftest import entries

__all__ = ["entries", "here", "run"]
