"""The entries that derivlint ships agree with the installed PyTorch, but for one that is PyTorch's own."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import Result

from derivlint.cli.main import cli
from derivlint.project.files import EXAMPLE
from tests.running import runner
from tests.sampling import CAMPAIGN, sample

#: At an infinity the helper ``atan2_backward`` gives NaN where the limit is zero, as docs/pytorch-defects.md shows.
AT_INFINITY = {("atan2", "self, other", "wrong-vjp"), ("atan2", "result", "wrong-jvp")}


@pytest.mark.torch
@pytest.mark.long
def test_the_example_is_verified() -> None:
    """Some of them, translated to Python; in a campaign all, and compiled."""
    names = re.findall(r"(?m)^- name: ([\w.]+)", EXAMPLE.read_text(encoding="utf-8"))
    chosen = ["--all"] if CAMPAIGN else ["--no-compile", "--ops", ",".join(sample(names, 24, always=["atan2"]))]
    arguments = [*chosen, "--quick", "--no-base", "--no-resume", "--output-format", "json"]
    result: Result = runner().invoke(cli, ["verify", *arguments, str(EXAMPLE)])
    found = [item for item in json.loads(result.stdout)["diagnostics"] if item["severity"] != "info"]
    assert {(item["entry"], item["key"], item["rule"]) for item in found} == AT_INFINITY
    assert all("a known defect of PyTorch: at an infinity" in item["help"] for item in found)
    assert " entries checked with " in result.stderr
    assert "without inputs" not in result.stderr
