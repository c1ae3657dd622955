"""``derivlint dev release``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from derivlint.operators.bundling import bundled_files, bundled_indexes
from derivlint.schema.index import index_name
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
OPERATORS, SCHEMA = Path("src/derivlint/operators/data"), Path("src/derivlint/schema/data")


@pytest.fixture
def repository(here: Path) -> Path:
    """The bundled facts, where nothing else is."""
    for folder in (OPERATORS, SCHEMA):
        shutil.copytree(ROOT / folder, here / folder)
    return here


def test_the_shipped_facts_can_be_made_again_of_themselves() -> None:
    files = bundled_files(list(bundled_indexes()))
    for name, data in files.items():
        folder = SCHEMA if name.startswith("index-") else OPERATORS
        assert data == (ROOT / folder / name).read_bytes(), name


@pytest.mark.torch
def test_the_facts_of_the_installed_release_are_the_bundled_ones(run: Run, repository: Path) -> None:
    outcome = run("dev", "release", "installed")
    assert (outcome.status, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "PyTorch 2.13.0, against 2.12.1"
    assert lines[1] == "1 operator new: _foreach_mm"
    assert "1 entry new: _foreach_mm" in lines
    assert lines[-1] == "the bundled facts are those of this release"


@pytest.mark.torch
def test_a_fact_that_changed_is_written(run: Run, repository: Path) -> None:
    path = repository / SCHEMA / index_name("2.13.0")
    before = path.read_bytes()
    path.write_bytes(before.replace(b"aten", b"atem"))
    assert f"would write {SCHEMA / path.name}: " in run("dev", "release", "installed", "--dry-run").out
    assert path.read_bytes() != before
    assert f"wrote {SCHEMA / path.name}: " in run("dev", "release", "installed").out
    assert path.read_bytes() == before


def test_what_is_not_a_release_is_refused(run: Run, here: Path) -> None:
    (here / "torch").mkdir()
    outcome = run("dev", "release", "torch")
    assert outcome.status == 2
    assert '"torch" is not a PyTorch: expected a checkout' in outcome.err
