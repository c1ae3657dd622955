"""The command line of the tests of commands."""

from tests.cli.conftest import here, run, tool

__all__ = ["here", "run", "tool"]
