"""The entries that derivlint ships agree with the installed PyTorch, without any that is expected not to."""

from __future__ import annotations

import pytest
from click.testing import Result

from derivlint.cli.main import cli
from derivlint.project.provided import EXAMPLE
from tests.running import runner


@pytest.mark.torch
@pytest.mark.long
def test_the_example_is_verified() -> None:
    result: Result = runner().invoke(cli, ["verify", "--all", "--quick", "--no-base", "--no-resume", str(EXAMPLE)])
    assert result.exit_code == 0, result.output
    assert " entries checked with " in result.stderr
    assert "without inputs" not in result.stderr
