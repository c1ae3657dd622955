"""Entries are found by looking them up, so that it is known what a finding rests on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import derivlint.analysis
import derivlint.rules

#: What goes through all entries: reports, and rules for the file as a whole.
OF_THE_FILE = {
    "coverage.py:rows",
    "judged.py:judged_entries",
    "invalid_version.py:check",
    "missing_foreach_reference.py:check",
}


def whole_file_reads(path: Path) -> Iterator[str]:
    """The functions of a module that read the entries of a model as a whole."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and node.attr in ("entries", "all_entries", "bodies"):
                    owner = ast.unparse(node.value)
                    # an entry has bodies, too
                    if owner.rpartition(".")[2] in ("model", "_model"):
                        yield f"{path.name}:{function.name}"


def test_only_reports_and_rules_for_the_file_go_through_all_entries() -> None:
    folders = [Path(package.__path__[0]) for package in (derivlint.analysis, derivlint.rules)]
    found = {name for folder in folders for path in folder.glob("**/*.py") for name in whole_file_reads(path)}
    # a position in the list is not a loop over it
    assert found - {"coverage.py:_body"} == OF_THE_FILE
