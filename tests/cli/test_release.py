"""``python -m tools.release``."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from derivlint.model import Model, build_model
from derivlint.operators.sources import TorchSource, installed_source
from derivlint.schema import load_index
from derivlint.schema.index import index_name
from derivlint.source import SourceFile
from derivlint.verify.known import KnownFindings
from tests.cli.conftest import Run
from tools import bundling
from tools.bundling import bundled_files, bundled_indexes
from tools.release_checks import (
    CONFORMANCE,
    conformance_line,
    emission_lines,
    unpacked,
    vanished_findings,
)

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
def test_a_fact_that_changed_is_written(tool: Run, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = repository / SCHEMA / index_name("2.13.0")
    before = path.read_bytes()
    path.write_bytes(before.replace(b"aten", b"atem"))
    outcome = tool("release", "installed", "--dry-run", "--quick")
    assert (outcome.status, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "PyTorch 2.13.0, against 2.12.1"
    assert lines[1] == "1 operator new: _foreach_mm"
    assert "1 entry new: _foreach_mm" in lines
    assert lines[-1].startswith(f"would write {SCHEMA / path.name}: ")
    assert path.read_bytes() != before
    # the facts are extracted once
    monkeypatch.setattr(bundling, "bundled_files", lambda indexes: {path.name: before})
    monkeypatch.setattr("tools.release._index_of", lambda torch: {"version": "2.13.0"})
    monkeypatch.setattr("tools.release._bundled", dict)
    monkeypatch.setattr("tools.release._model", lambda source, index: None)
    for name in ("_judged", "_vanished", "_unknown"):
        monkeypatch.setattr(f"tools.release.{name}", lambda *arguments: [])
    written, unchanged = (tool("release", "installed", "--quick").out.splitlines()[-1] for _ in range(2))
    assert written.startswith(f"wrote {SCHEMA / path.name}: ")
    assert path.read_bytes() == before
    assert unchanged == "the bundled facts are those of this release"


def test_what_is_not_a_release_is_refused(tool: Run, here: Path) -> None:
    (here / "torch").mkdir()
    outcome = tool("release", "torch")
    assert outcome.status == 2
    assert '"torch" is not a PyTorch: expected a checkout' in outcome.err


# ---- what the compiler, torchgen and verify say


@pytest.fixture(scope="module")
def model() -> Model:
    return build_model(
        SourceFile("d.yaml", "- name: exp(Tensor self) -> Tensor\n  self: grad * result\n"), load_index()
    )


def test_without_headers_nothing_is_compiled(model: Model, tmp_path: Path) -> None:
    (line,) = emission_lines(model, tmp_path)
    assert line == "emission: 5 operators with 2 node classes; not compiled, since there are no headers"


def test_what_the_compiler_refuses_is_reported(model: Model, tmp_path: Path) -> None:
    include = tmp_path / "torch" / "include"
    (include / "ATen").mkdir(parents=True)
    (include / "ATen" / "ATen.h").write_text("#error this is not it\n")
    first, *errors = emission_lines(model, tmp_path)
    assert first.startswith("emission: 5 operators with 2 node classes; the compiler accepts 0 of 4 sources")
    assert len(errors) == 4
    assert all("error: " in line for line in errors)


def test_conformance_is_tested_with_the_torchgen_of_the_release(tmp_path: Path) -> None:
    assert conformance_line(tmp_path, ROOT) == "conformance: not tested, since there is no packaged torchgen"
    packaged = tmp_path / "torchgen" / "packaged" / "autograd"
    packaged.mkdir(parents=True)
    (packaged / "derivatives.yaml").write_text("[]")
    # without a module of that name Python would take the installed torchgen
    assert "no packaged torchgen" in conformance_line(tmp_path, ROOT)
    (tmp_path / "torchgen" / "__init__.py").touch()
    missing = tmp_path / CONFORMANCE
    assert conformance_line(tmp_path, tmp_path) == f'conformance: not tested, since there is no "{missing}"'
    # a torchgen without modules
    assert conformance_line(tmp_path, ROOT).startswith("conformance: FAILED\n")


@pytest.mark.torch
def test_conformance_tests_run_with_the_torchgen_of_the_release(tmp_path: Path) -> None:
    """A test stands for those of the repository, which the suite runs with the installed torchgen."""
    path = tmp_path / CONFORMANCE
    path.parent.mkdir(parents=True)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -q\n")
    path.write_text(
        "import torchgen\nfrom pathlib import Path\n\n"
        "def test_it():\n"
        "    folder = Path(torchgen.__file__).parent\n"
        f"    assert folder.is_symlink() and folder.resolve() == Path({str(installed_source().path / 'torchgen')!r})\n"
    )
    assert conformance_line(installed_source().path, tmp_path) == "conformance with its torchgen: 1 passed"


def test_known_findings_whose_formula_is_gone_have_vanished(model: Model) -> None:
    known = KnownFindings("convention", "it is so", (("exp", "self", "wrong-vjp"), ("exp", "other", "wrong-vjp")))
    assert vanished_findings(model, [known]) == [("exp", "other", "wrong-vjp")]


def test_a_wheel_is_unpacked_as_far_as_it_is_needed(tmp_path: Path) -> None:
    names = ["torchgen/packaged/ATen/native/native_functions.yaml", "torch/include/ATen/ATen.h", "torch/lib/big.so"]
    with zipfile.ZipFile(tmp_path / "torch.whl", "w") as wheel:
        for name in names:
            wheel.writestr(name, "[]")
    with unpacked(TorchSource(tmp_path / "torch.whl")) as folder:
        assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == sorted(
            names[:2]
        )
    assert not folder.exists()
