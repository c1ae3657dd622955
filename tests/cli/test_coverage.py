"""``derivlint coverage``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import COS, SIN, Run

HARDSIGMOID = "- name: hardsigmoid(Tensor self) -> Tensor\n  self: hardsigmoid_backward(grad, self)\n"
IGAMMA = (
    "- name: igamma(Tensor self, Tensor other) -> Tensor\n"
    '  self: not_implemented("igamma")\n'
    "  other: grad * other.lgamma()\n"
)
LGAMMA = "- name: lgamma(Tensor self) -> Tensor\n  self: grad * self\n  result: auto_element_wise\n"
ZEROS = "- name: eq.Tensor(Tensor self, Tensor other) -> Tensor\n  output_differentiability: [False]\n"

TABLE = """\
operator     backward  forward  double-backward  forward-over-reverse  complex
sin          yes       yes      unknown          unknown               yes
hardsigmoid  yes       no       no               no                    no
igamma       partial   no       yes              no                    no
lgamma       yes       yes      yes              yes                   no
eq.Tensor    -         -        -                -                     -

4 operators that can be differentiated, 1 that cannot by declaration
  backward: 3 yes, 1 partial (75%)
  forward: 2 yes, 2 no (50%)
  double-backward: 2 yes, 1 no, 1 unknown (50%)
  forward-over-reverse: 1 yes, 2 no, 1 unknown (25%)
  complex: 1 yes, 3 no (25%)
"""


@pytest.fixture
def file(here: Path) -> Path:
    path = here / "derivatives.yaml"
    path.write_text(SIN + HARDSIGMOID + IGAMMA + LGAMMA + ZEROS)
    return path


def test_a_table_in_colour_holds_the_same_text(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = run("coverage", "derivatives.yaml", "--color", "always").out
    assert "\x1b[32myes\x1b[0m" in coloured
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("coverage", "derivatives.yaml").out == TABLE


def test_excluded_files_are_left_out(run: Run, here: Path) -> None:
    """A folder is searched for what a check would read; a file that is named is read."""
    (here / "derivatives.yaml").write_text(SIN)
    (here / "derivatives_old.yaml").write_text(COS)
    (here / "derivlint.toml").write_text('exclude = ["*_old.yaml"]\n')
    assert json.loads(run("coverage", "--output-format", "json", ".").out)["files"][0]["path"] == "derivatives.yaml"
    assert run("model", ".").out == run("model", "derivatives.yaml").out
    assert run("emit", "cpp", ".", "--out", "ext", "--ops", "sin").status == 0
    assert '"cos"' in run("model", "derivatives_old.yaml").out
