"""An emitted extension runs: it is built, loaded into the installed torch, and its derivatives are right.

The build takes a minute and is kept in pytest's cache, by content.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import derivlint
from derivlint.emit.emission import emission
from derivlint.emit.files import write_files
from derivlint.model import build_model
from derivlint.runtime import Manifest, build, python, read_manifest
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.emit import extension_checks, saved_checks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="hidden helpers are reached on Linux only")

Results = dict[str, str]


def run_checks(folder: Path, build_folder: Path) -> Results:
    """What the checks say in a process of their own."""
    return run_script(extension_checks, folder, build_folder)


def run_script(module: ModuleType, *arguments: Path) -> dict[str, Any]:
    """What a script prints as its last line."""
    script = Path(module.__file__ or "")
    path = os.pathsep.join([str(Path(derivlint.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, str(script), *map(str, arguments)],
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
    write_files(folder, emission(model, operators, extension_checks.NAMESPACE, shards=1).files)
    return read_manifest(folder)


@pytest.fixture(scope="module")
def kept(request: pytest.FixtureRequest) -> Path:
    """A folder that stays from run to run."""
    cache = request.config.cache
    assert cache is not None
    return cache.mkdir("derivlint-extensions")


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


def test_python_sees_what_nodes_save(results: Results, kept: Path) -> None:
    """Properties of nodes, their values before and after backward, and hooks are those of PyTorch's own nodes."""
    ours = run_script(saved_checks, kept / "right", kept / "right" / "build")
    stock = run_script(saved_checks)
    assert ours.keys() == stock.keys()
    assert len(stock) >= 39
    for name, expected in stock.items():
        assert ours[name] == expected, name
    assert stock["symbolic"] == ["SymInt u0", "int 4", "SymInt u0"]
    text = "directly access saved tensors after they have already been freed"
    assert json.dumps(stock).count(text) > 30


def test_without_headers_of_python_nodes_have_no_classes(
    results: Results, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extension is built nevertheless, and says why."""
    folder = kept / "right"
    missing = python.PythonHeaders((), "3.99", 'no "Python.h" in "/nowhere"')
    # the package has a function of the module's name
    monkeypatch.setattr(sys.modules[build.__module__], "python_headers", lambda: missing)
    said: list[str] = []
    built = build(folder, progress=said.append)
    assert built.without_bindings == 'no "Python.h" in "/nowhere"'
    assert built.compiled == ()
    assert said[0] == 'leaving out the classes of nodes in Python: no "Python.h" in "/nowhere"'
    program = (
        "import sys, warnings; warnings.simplefilter('ignore'); import torch; torch.ops.load_library(sys.argv[1]); "
        "x = torch.rand(3, requires_grad=True).sin(); print(type(x.grad_fn).__name__, x.grad_fn.name())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(built.library)], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.split() == ["CppFunction", "SinBackward0"]
    monkeypatch.undo()
    again = build(folder)
    assert (again.compiled, again.without_bindings) == ((), "")
    assert again.library != built.library


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
