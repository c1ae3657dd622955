"""Findings that are expected: reading the file, telling them from others, and the page with PyTorch's defects."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from derivlint.model import build_model
from derivlint.project.errors import InputError
from derivlint.rules import NUMERIC
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from derivlint.verify.deviations import (
    KINDS,
    Deviation,
    normalized,
    read_deviations,
    shipped_deviations,
    sort_out,
)

PAGE = Path(__file__).parents[2] / "docs" / "pytorch-defects.md"
ONE = Deviation("exp", "self", "wrong-vjp", "defect", "grad *  result", "because")
TABLE = (
    '[[deviation]]\noperator = "exp"\nkey = "self"\nrule = "wrong-vjp"\nkind = "defect"\n'
    'formula = "grad *  result"\nreason = "because"\n'
)
#: A section of the page: its title, the code, and what that prints.
SECTIONS = re.findall(
    r"^## ([^\n]*)\n.*?^```python\n(.*?)^```\n\n```text\n(.*?)^```\n", PAGE.read_text(), re.MULTILINE | re.DOTALL
)


def test_a_file_is_read_line_by_line(tmp_path: Path) -> None:
    """Every field of a table is taken as written."""
    path = tmp_path / "known.toml"
    path.write_text(TABLE)
    assert read_deviations(path) == (ONE,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[deviation]", "is not TOML"),
        ("deviation = 1", "is not an array of tables"),
        ('title = "x"', '"title" is not known; there is only [[deviation]]'),
        ('[[deviation]]\noperator = "exp"', "line 1: missing in a deviation: key, rule, kind, formula, reason"),
        ("[[deviation]]\noperator = 1", "line 1: a deviation is a table of strings"),
        (TABLE + "\n" + TABLE.replace("exp", "sin").replace("defect", "bug"), 'line 9: no kind "bug"; there are'),
        (TABLE + "\n\n" + TABLE, "line 10: the same finding is expected at "),
        ("# first\n" + TABLE + 'colour = "red"', "line 2: unknown in a deviation: colour"),
        (TABLE.replace("because", "  "), "line 1: missing in a deviation: reason"),
        ('deviation = [{operator = "exp"}]', 'known.toml": missing in a deviation'),
    ],
)
def test_a_broken_file_is_told(tmp_path: Path, text: str, message: str) -> None:
    """What is wrong with the file is an input error with the line of the table, no traceback."""
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        read_deviations(path)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """The reason is that of the system."""
    with pytest.raises(InputError, match="cannot read"):
        read_deviations(tmp_path / "none.toml")


def test_expected_findings_are_told_apart_and_unused_deviations_are_kept() -> None:
    """A deviation covers its own formula whatever its blanks, and no other formula."""
    same = ("exp", "self", "wrong-vjp", "grad * result")
    other = ("exp", "self", "wrong-vjp", "grad * result * 2")
    unused = Deviation("sin", "self", "wrong-vjp", "gauge", "grad", "because")
    found = sort_out([(same, 1), (other, 2)], [ONE, unused])
    assert (found.unexpected, found.expected, found.unused) == ([2], [(1, ONE)], [unused])


def shipped() -> tuple[Deviation, ...]:
    """The deviations of the installed release."""
    path = shipped_deviations(metadata.version("torch"))
    assert path is not None, "the release that the tests are for has its deviations"
    return read_deviations(path)


def test_there_are_none_for_a_release_that_is_not_known() -> None:
    """A local version is that of its release."""
    assert shipped_deviations(None) is None
    assert shipped_deviations("1.0.0") is None
    assert shipped_deviations("2.13.0+cpu") == shipped_deviations("2.13.0")


def test_the_shipped_file_speaks_of_formulas_that_are_there(
    derivatives_path: Path, installed_natives: NativeFunctions
) -> None:
    """Each deviation names an entry, a key and the very formula of the installed file, a rule and a kind."""
    known = shipped()
    model = build_model(SourceFile.read(derivatives_path), installed_natives)
    written = {
        (entry.operator, line.key_text, normalized(line.text or "")) for entry in model.entries for line in entry.lines
    }
    for each in known:
        assert (each.operator, each.key, normalized(each.formula)) in written
        assert each.rule in NUMERIC
        assert each.kind in KINDS
        assert each.reason


@pytest.mark.torch
def test_every_defect_is_shown() -> None:
    """The page names each operator that a defect is listed for."""
    page = PAGE.read_text()
    assert {each.operator for each in shipped() if each.kind == "defect" and f"`{each.operator}`" not in page} == set()


@pytest.mark.full
@pytest.mark.parametrize(("title", "code", "printed"), SECTIONS, ids=[title for title, _, _ in SECTIONS])
def test_pytorch_still_has_the_defect(title: str, code: str, printed: str) -> None:
    """Each block of the page prints what is below it."""
    assert metadata.version("torch").partition("+")[0] == "2.13.0", "the page is about the release that is pinned"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.stdout, done.returncode) == (printed, 0), f"{title}: {done.stderr}"


def test_every_section_of_the_page_is_run() -> None:
    """No section is without code and its output."""
    assert len(SECTIONS) == PAGE.read_text().count("\n## ")
