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


def names(out: str) -> list[str]:
    return [line.split()[0] for line in out.partition("\n\n")[0].splitlines()[1:]]


def test_a_table_of_the_operators_with_totals(run: Run, file: Path) -> None:
    outcome = run("coverage", "derivatives.yaml")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == TABLE


def test_standard_input_is_read(run: Run, file: Path) -> None:
    assert run("coverage", "-", stdin=file.read_text()).out == TABLE


def test_a_table_in_colour_holds_the_same_text(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = run("coverage", "derivatives.yaml", "--color", "always").out
    assert "\x1b[32myes\x1b[0m" in coloured
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("coverage", "derivatives.yaml").out == TABLE


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (["backward"], ["igamma"]),
        (["double-backward"], ["hardsigmoid"]),
        (["forward"], ["hardsigmoid", "igamma"]),
        (["backward", "double-backward"], ["hardsigmoid", "igamma"]),
        (["complex"], ["hardsigmoid", "igamma", "lgamma"]),
    ],
)
def test_only_what_is_missing_is_shown(run: Run, file: Path, missing: list[str], expected: list[str]) -> None:
    options = [option for name in missing for option in ("--missing", name)]
    assert names(run("coverage", "derivatives.yaml", *options).out) == expected


def test_operators_are_chosen_by_name(run: Run, file: Path) -> None:
    outcome = run("coverage", "derivatives.yaml", "--ops", "sin_,eq.Tensor", "--ops", "matmul")
    assert names(outcome.out) == ["sin_", "eq.Tensor", "matmul"]


def test_an_unknown_operator_is_2_and_names_the_nearest(run: Run, file: Path) -> None:
    outcome = run("coverage", "derivatives.yaml", "--ops", "hardsigmod")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == 'derivlint: no operator "hardsigmod"; did you mean "hardsigmoid"?\n'


def test_a_file_that_is_not_there_is_2(run: Run) -> None:
    outcome = run("coverage", "nowhere.yaml")
    assert (outcome.status, outcome.out) == (2, "")


def test_nothing_to_show_is_reported(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(LGAMMA)
    outcome = run("coverage", "derivatives.yaml", "--missing", "backward")
    assert names(outcome.out) == []
    assert "\n0 operators that can be differentiated, 0 that cannot by declaration\n  backward: none\n" in outcome.out


def test_a_file_of_anything_gets_a_table(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(
        "- name: nonsense\n- 3\n- name: sin(Tensor self) -> Tensor\n  self: grad (\n"
    )
    outcome = run("coverage", "derivatives.yaml")
    assert outcome.status == 0
    assert names(outcome.out) == ["sin"]
    assert outcome.out.splitlines()[1].split() == ["sin", "yes", "no", "unknown", "no", "yes"]


def test_several_files_are_shown_one_after_the_other(run: Run, here: Path) -> None:
    (here / "derivatives-a.yaml").write_text(SIN)
    (here / "derivatives-b.yaml").write_text(COS)
    lines = run("coverage", "derivatives-a.yaml", "derivatives-b.yaml").out.splitlines()
    assert lines[0] == "derivatives-a.yaml"
    assert "derivatives-b.yaml" in lines


def test_excluded_files_are_left_out(run: Run, here: Path) -> None:
    """A folder is searched for what a check would read; a file that is named is read."""
    (here / "derivatives.yaml").write_text(SIN)
    (here / "derivatives_old.yaml").write_text(COS)
    (here / "derivlint.toml").write_text('exclude = ["*_old.yaml"]\n')
    assert json.loads(run("coverage", "--output-format", "json", ".").out)["files"][0]["path"] == "derivatives.yaml"
    assert run("model", ".").out == run("model", "derivatives.yaml").out
    assert run("emit", "cpp", ".", "--out", "ext", "--ops", "sin").status == 0
    assert '"cos"' in run("model", "derivatives_old.yaml").out


def test_json_has_the_documented_shape(run: Run, file: Path) -> None:
    document = json.loads(run("coverage", "derivatives.yaml", "--output-format", "json", "--ops", "hardsigmoid").out)
    reason = {
        "text": '"hardsigmoid_backward" has no derivative',
        "operator": "hardsigmoid_backward",
        "place": {"line": 5, "column": 9},
    }
    own = {"text": '"hardsigmoid" has no forward formula', "operator": "hardsigmoid", "place": None}
    listed = {
        "text": "PyTorch's list of operators with complex gradients does not have it",
        "operator": "hardsigmoid",
        "place": None,
    }
    yes = {"yes": 1, "partial": 0, "no": 0, "unknown": 0}
    no = {"yes": 0, "partial": 0, "no": 1, "unknown": 0}
    assert document == {
        "version": 1,
        "files": [
            {
                "path": "derivatives.yaml",
                "operators": [
                    {
                        "name": "hardsigmoid",
                        "dispatch": "Default",
                        "schema": "hardsigmoid(Tensor self) -> Tensor",
                        "line": 4,
                        "way": "formula",
                        "backward": {"answer": "yes", "reasons": []},
                        "forward": {"answer": "no", "reasons": [own]},
                        "double-backward": {"answer": "no", "reasons": [reason]},
                        "forward-over-reverse": {"answer": "no", "reasons": [own]},
                        "complex": {"answer": "no", "reasons": [listed]},
                    }
                ],
                "totals": {
                    "operators": 1,
                    "ways": {
                        "formula": 1,
                        "decomposes": 0,
                        "manual": 0,
                        "non-differentiable": 0,
                        "missing": 0,
                        "unknown": 0,
                    },
                    "backward": yes,
                    "forward": no,
                    "double-backward": no,
                    "forward-over-reverse": no,
                    "complex": no,
                },
            }
        ],
    }


def test_markdown_has_the_reasons(run: Run, file: Path) -> None:
    out = run("coverage", "derivatives.yaml", "--output-format", "markdown", "--ops", "hardsigmoid").out
    assert out.splitlines()[0] == "# Coverage of derivatives.yaml"
    assert out.splitlines()[-1] == (
        "| hardsigmoid | yes | no | no | no | no | "
        '"hardsigmoid" has no forward formula; "hardsigmoid\\_backward" has no derivative |'
    )


EXP = "- name: exp(Tensor self) -> Tensor\n  self: grad * result.conj()\n  result: auto_element_wise\n"

JUDGED = """\
operator     value  linear  complex  shapes  why not
sin          yes    yes     yes      yes
hardsigmoid  yes    yes     -        yes
igamma       yes    yes     -        yes
lgamma       yes    yes     -        yes
exp          yes    yes     yes      yes

5 entries with formulas to judge
  value: 5 of 5 (100%)
  linear: 5 of 5 (100%)
  complex: 2 of 2 (100%)
  shapes: 5 of 5 (100%)
"""


def test_what_is_judged_and_why_not(run: Run, file: Path) -> None:
    file.write_text(file.read_text() + EXP)
    outcome = run("coverage", "derivatives.yaml", "--judged")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == JUDGED


CROSS = (
    "- name: linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor\n"
    "  self: at::linalg_eigvals(grad) * other\n"
)


def test_the_reasons_stand_beside_what_is_not_judged(run: Run, file: Path) -> None:
    file.write_text(CROSS)
    document = json.loads(run("coverage", "derivatives.yaml", "--judged", "--output-format", "json").out)
    (entry,) = document["files"][0]["entries"]
    assert {name: entry[name] for name in ("name", "value", "complex")} == {
        "name": "linalg_cross",
        "value": "no",
        "complex": "no",
    }
    (formula,) = entry["formulas"]
    assert formula["key"] == "self"
    assert formula["line"] == 2
    assert formula["value"] == {"judged": "no", "reason": '"linalg_eigvals" has no reference definition'}
    assert formula["complex"] == {"judged": "no", "reason": 'nothing is known about "linalg_eigvals"'}
    assert formula["shapes"] == {"judged": "yes"}
    assert document["files"][0]["totals"]["value"] == {"yes": 0, "no": 1}
    markdown = run("coverage", "derivatives.yaml", "--judged", "--output-format", "markdown").out
    assert "| linalg\\_cross | no | " in markdown
    assert '"linalg\\_eigvals" has no reference definition' in markdown


def test_judged_does_not_go_with_missing(run: Run, file: Path) -> None:
    outcome = run("coverage", "derivatives.yaml", "--judged", "--missing", "complex")
    assert outcome.status == 2
    assert "--missing has no meaning with --judged" in outcome.err


def test_only_some_operators_are_shown_as_judged(run: Run, file: Path) -> None:
    out = run("coverage", "derivatives.yaml", "--judged", "--ops", "sin,lgamma").out
    assert names(out) == ["sin", "lgamma"]
    assert run("coverage", "derivatives.yaml", "--judged", "--ops", "sinn").status == 2
