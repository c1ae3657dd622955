"""Configurations are tested through the command line, too."""

from tests.cli.conftest import here, rules, run

__all__ = ["here", "rules", "run"]
