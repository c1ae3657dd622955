"""The replay of a derivatives file's history."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.history import main

ENTRY = "- name: tan(Tensor self) -> Tensor\n  self: {}\n"
STATES = {
    "001-aaa": "grad * (1 + result.pow(2)).conj()",
    "002-bbb": "grad * (1 - result.pow(2)).conj()",
    "003-ccc": "grad * (result.pow(2) + 1).conj()",
}
REPLAYED = """\
002-bbb 2020-05-05 #37337
  + tan, self: the gradient of "self" is 1.41 at self = 0.571, grad = 1; the formula gives 0.587 [wrong-gradient]
003-ccc 2020-05-06 #37338 fix
  - tan, self: the gradient of "self" is 1.41 at self = 0.571, grad = 1; the formula gives 0.587 [wrong-gradient]
3 states: 1 findings new, 1 gone; 3 compared with checks from scratch, 0 differences
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A history of three states, the second of which is wrong."""
    for name, formula in STATES.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "derivatives.yaml").write_text(ENTRY.format(formula))
    (tmp_path / "log.tsv").write_text("002-bbb\t2020-05-05\t#37337\t\n003-ccc\t2020-05-06\t#37338\tfix\n")
    return tmp_path


def test_what_is_new_and_gone_in_each_state(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """States without changes are omitted; incremental checks agree with checks from scratch."""
    assert main([str(folder), "--every", "1"]) == 0
    assert capsys.readouterr().out == REPLAYED


def test_some_states_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """States are selected by prefixes of their names."""
    assert main([str(folder), "--states", "003", "003", "--every", "0"]) == 0
    assert capsys.readouterr().out.startswith("1 states: 0 findings new, 0 gone; 0 compared")


def test_a_folder_without_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to replay is an error."""
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("0 states")
