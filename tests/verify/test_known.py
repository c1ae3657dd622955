"""What is known of findings in PyTorch's own file, and the page with its defects."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from derivlint.model import build_model
from derivlint.rules import NUMERIC
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from derivlint.verify.known import KINDS, explanation_of, known_findings

PAGE = Path(__file__).parents[2] / "docs" / "pytorch-defects.md"
#: A section of the page: its title, the code, and what that prints.
SECTIONS = re.findall(
    r"^## ([^\n]*)\n.*?^```python\n(.*?)^```\n\n```text\n(.*?)^```\n", PAGE.read_text(), re.MULTILINE | re.DOTALL
)


def test_the_shipped_file_speaks_of_formulas_that_are_there(
    derivatives_path: Path, installed_natives: NativeFunctions
) -> None:
    """Each finding names an entry and a key of the installed file, and a rule; none is explained twice."""
    model = build_model(SourceFile.read(derivatives_path), installed_natives)
    written = {(entry.operator, formula.key_text) for entry in model.entries for formula in entry.formulas}
    places = [place for each in known_findings() for place in each.findings]
    assert {place for place in places if place[:2] not in written} == set()
    assert {rule for _, _, rule in places} <= NUMERIC.keys()
    assert len(places) == len(set(places))
    assert {each.kind for each in known_findings()} == KINDS.keys()


def test_a_finding_is_explained_with_its_kind_and_where_it_is_spoken_of() -> None:
    """Of another rule, and of other entries, nothing is known."""
    said = "a known defect of PyTorch: cholesky_inverse_jvp is wrong (pytorch/pytorch#196682)"
    assert explanation_of("cholesky_inverse", "result", "wrong-jvp") == said
    assert explanation_of("cholesky_inverse", "self", "inconsistent-vjp-jvp") == ""
    assert explanation_of("cholesky", "result", "wrong-jvp") == ""


@pytest.mark.torch
def test_every_defect_is_shown() -> None:
    """The page names each operator that has a known defect."""
    page = PAGE.read_text()
    defects = {place[0] for each in known_findings() if each.kind == "defect" for place in each.findings}
    assert {name for name in defects if f"`{name}`" not in page} == set()


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
