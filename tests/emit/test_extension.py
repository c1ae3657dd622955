"""An emitted extension runs: it is built, loaded into the installed torch, its derivatives are right, and all else is
as with PyTorch's own kernels.

The build of some of the operators takes a minute; it is kept in pytest's cache, by content.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from derivlint.emit.emission import emission
from derivlint.emit.files import write_files
from derivlint.model import Model, build_model
from derivlint.runtime import build, python, read_manifest
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.emit import behaviour_checks, extension_checks, saved_checks
from tests.emit.compiling import run_script
from tests.sampling import CAMPAIGN, sample

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="hidden helpers are reached on Linux only")

Results = dict[str, str]
#: What each snippet of behaviour came to, and the nodes of extensions that it met.
Behaviour = dict[str, tuple[Any, list[str]]]

#: A derivative, and what is emitted in its place.
RIGHT, WRONG = "  self: grad * self.sinh().conj()\n", "  self: grad * self.cosh().conj()\n"


@pytest.fixture(scope="module")
def folder(
    request: pytest.FixtureRequest,
    derivatives_path: Path,
    installed_natives: NativeFunctions,
    precompiled_headers: None,
) -> Path:
    """An extension with operators of every kind and a wrong derivative of cosh; it stays from run to run."""
    cache = request.config.cache
    assert cache is not None
    text = derivatives_path.read_text(encoding="utf-8")
    assert text.count(RIGHT) == 1
    # a path that is the same in every run keeps the build valid
    source = SourceFile.from_bytes("derivatives.yaml", text.replace(RIGHT, WRONG).encode())
    folder = cache.mkdir("derivlint-extensions") / "checked"
    operators = sample(extension_checks.OPERATORS, 16, always=extension_checks.ALWAYS)
    model = build_model(source, installed_natives)
    write_files(folder, emission(model, operators, extension_checks.NAMESPACE, shards=1).files)
    build(folder)
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    """The failure of each check, empty if it passes."""
    results: Results = run_script(extension_checks, folder, folder / "build")
    return results


def test_every_check_of_derivatives_passes(results: Results, folder: Path) -> None:
    """For each operator our node runs, gradcheck, gradgradcheck and forward mode pass."""
    assert {name: text for name, text in results.items() if text and name not in ("cosh", "cosh_")} == {}
    assert (len(results), len(read_manifest(folder).operators)) >= ((56, 150) if CAMPAIGN else (15, 42))


def test_a_wrong_formula_fails(results: Results, folder: Path) -> None:
    """It is our code that runs."""
    operators = read_manifest(folder).operators
    assert [operators[name] for name in ("cosh", "cosh.out", "cosh_")] == ["CoshBackward0", None, "CoshBackward0"]
    assert all("GradcheckError" in results[name] for name in ("cosh", "cosh_"))


def test_nothing_is_built_twice(folder: Path) -> None:
    """A second build of the same files finds everything done."""
    built = build(folder)
    assert built.compiled == ()
    assert built.stubs > (20 if CAMPAIGN else 10)
    assert built.library.is_file()


def test_python_sees_what_nodes_save(folder: Path) -> None:
    """Properties of nodes, their values before and after backward, and hooks are those of PyTorch's own nodes."""
    ours = run_script(saved_checks, folder, folder / "build")
    stock = run_script(saved_checks)
    assert len(stock) >= 39
    # the others are of operators that are not in the sample
    assert len(ours) >= (len(stock) if CAMPAIGN else 12)
    for name, shown in ours.items():
        assert shown == stock[name], name
    assert stock["symbolic"] == ["SymInt u0", "int 4", "SymInt u0"]
    text = "directly access saved tensors after they have already been freed"
    assert json.dumps(stock).count(text) > 30


def test_without_headers_of_python_nodes_have_no_classes(
    model: Model, tmp_path: Path, precompiled_headers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extension is built nevertheless, and says why; with headers it is another one."""
    write_files(tmp_path, emission(model, ("sin",), extension_checks.NAMESPACE, shards=1).files)
    missing = python.PythonHeaders((), "3.99", 'no "Python.h" in "/nowhere"')
    # the package has a function of the module's name
    monkeypatch.setattr(sys.modules[build.__module__], "python_headers", lambda: missing)
    said: list[str] = []
    built = build(tmp_path, progress=said.append)
    assert built.without_bindings == 'no "Python.h" in "/nowhere"'
    # all extensions share the object file of the loader
    assert {*built.compiled} - {"loader.cpp"} == {"kernels_0.cpp", "nodes_0.cpp"}
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
    again = build(tmp_path)
    assert (set(again.compiled), again.without_bindings) == ({"kernels_0.cpp", "nodes_0.cpp", "python_nodes_0.cpp"}, "")
    assert again.library != built.library


# ---- behaviour


@pytest.fixture(scope="module")
def both(folder: Path, model: Model) -> tuple[Behaviour, Behaviour]:
    """What PyTorch's own kernels do, and ours; in a campaign those without formulas, too, and those written by hand."""
    folders = [folder]
    if CAMPAIGN:
        folders.append(folder.with_name("more"))
        emitted = emission(model, behaviour_checks.MORE_OPERATORS, "derivlint_tests_more", shards=1)
        write_files(folders[1], emitted.files)
        build(folders[1])
    own = run_script(behaviour_checks)
    return own, run_script(behaviour_checks, *(place for each in folders for place in (each, each / "build")))


@pytest.mark.parametrize("name", behaviour_checks.TESTED)
def test_behaviour_is_that_of_pytorchs_own_kernels(name: str, both: tuple[Behaviour, Behaviour]) -> None:
    """Values, nodes, views, versions, errors: all that a snippet prints."""
    own, ours = both
    assert ours[name][0] == own[name][0]


def test_snippets_run_to_their_end(both: tuple[Behaviour, Behaviour]) -> None:
    """A snippet that breaks off prints nothing; errors that it looks for are reported within it."""
    results = {name: result for name, (result, _) in both[0].items()}
    ended = [name for name, each in results.items() if isinstance(each, dict) and each.keys() == {"error", "message"}]
    assert ended == []
    assert len(results) >= (90 if CAMPAIGN else 28)


def test_nodes_are_ours(both: tuple[Behaviour, Behaviour]) -> None:
    """It is our kernels that are compared with PyTorch's; some snippets only look at values, or all is refused."""
    own, ours = both
    assert {name: nodes for name, (_, nodes) in own.items() if nodes} == {}
    nodes = [set(nodes) for _, nodes in ours.values() if nodes]
    assert (len(nodes), len(set.union(*nodes))) >= ((40, 60) if CAMPAIGN else (12, 10))
