"""The file that PyTorch ships: no errors, and exactly the warnings that have been examined."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.lint import Severity, run_rules
from derivlint.model import build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile


@pytest.mark.parametrize("operators", ["installed_natives", "bundled_natives"])
def test_the_installed_file_has_no_errors(
    operators: str, derivatives_path: Path, request: pytest.FixtureRequest
) -> None:
    """Against the operators of the same release, read from its files or from the bundled index."""
    natives: NativeFunctions = request.getfixturevalue(operators)
    result = run_rules(build_model(SourceFile.read(derivatives_path), natives), load_rules())
    assert result.internal_errors == 0
    errors = [
        f"{item.entry}: {item.message} [{item.rule}]" for item in result.diagnostics if item.severity is Severity.ERROR
    ]
    assert errors == []
