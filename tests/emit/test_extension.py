"""An emitted extension runs: it is built, loaded into the installed torch, and its derivatives are right.

The build takes a minute and is kept in pytest's cache, by content.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import derivlint
from derivlint.emit.files import emission, write_files
from derivlint.model import build_model
from derivlint.runtime import Manifest, build, read_manifest
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.emit import extension_checks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="hidden helpers are reached on Linux only")

Results = dict[str, str]


def run_checks(folder: Path, build_folder: Path) -> Results:
    """What the checks say in a process of their own."""
    script = Path(extension_checks.__file__)
    path = os.pathsep.join([str(Path(derivlint.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, str(script), str(folder), str(build_folder)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    results = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(results, dict)
    return results


def emit(text: str, natives: NativeFunctions, operators: tuple[str, ...], folder: Path) -> Manifest:
    # a path that is the same in every run keeps the build valid
    model = build_model(SourceFile.from_bytes("derivatives.yaml", text.encode()), natives)
    write_files(folder, emission(model, operators, "derivlint_tests", shards=1).files)
    return read_manifest(folder)


@pytest.fixture(scope="module")
def kept(request: pytest.FixtureRequest) -> Path:
    """A folder that stays from run to run."""
    cache = request.config.cache
    assert cache is not None
    return cache.mkdir("derivlint-extension")


@pytest.fixture(scope="module")
def results(derivatives_path: Path, installed_natives: NativeFunctions, kept: Path) -> Results:
    """What the checks say of an extension with operators of every kind."""
    text = derivatives_path.read_text(encoding="utf-8")
    manifest = emit(text, installed_natives, extension_checks.OPERATORS, kept / "right")
    assert len(manifest.operators) > 150
    return run_checks(kept / "right", kept / "right" / "build")


def test_every_check_of_derivatives_and_behaviour_passes(results: Results) -> None:
    """For each operator our node runs, gradcheck, gradgradcheck and forward mode pass; kernels behave as usual."""
    assert {name: text for name, text in results.items() if text} == {}
    assert len(results) >= 65


def test_nothing_is_built_twice(results: Results, kept: Path) -> None:
    """A second build of the same files finds everything done."""
    built = build(kept / "right")
    assert built.compiled == ()
    assert built.stubs > 20
    assert built.library.is_file()


def test_a_wrong_formula_fails(derivatives_path: Path, installed_natives: NativeFunctions, kept: Path) -> None:
    """With a wrong derivative of sin the checks of sin fail: it is our code that runs."""
    text = derivatives_path.read_text(encoding="utf-8")
    right, wrong = "  self: grad * self.cos().conj()\n", "  self: grad * self.sin().conj()\n"
    assert text.count(right) == 1
    manifest = emit(text.replace(right, wrong), installed_natives, ("sin",), kept / "wrong")
    assert manifest.operators == {"sin": "SinBackward0", "sin.out": None, "sin_": "SinBackward0"}
    results = run_checks(kept / "wrong", kept / "wrong" / "build")
    assert sorted(results) == ["sin", "sin_"]
    for found in results.values():
        assert "GradcheckError" in found
