"""An installed PyTorch, a wheel and a checkout as sources of facts; and the commands that read them."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from derivlint.operators.extraction import extract
from derivlint.operators.history import bundled_versions
from derivlint.operators.sources import LARGEST, SourceProblem, TorchSource, installed_source
from derivlint.operators.topics import DECOMPOSED, TOPICS
from derivlint.project.operators import load_operators, operators_for
from derivlint.project.settings import Settings
from derivlint.schema import InstalledTorch, read_index
from tests.cli.conftest import Run

pytestmark = pytest.mark.torch

NATIVE = "aten/src/ATen/native"
ADD = "- func: add(Tensor self) -> Tensor\n"


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder with torch and torchgen."""
    return Path(import_module("torchgen").__file__ or "").parents[1]


@pytest.fixture(scope="module")
def unpacked(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel has of the files that are read."""
    root = tmp_path_factory.mktemp("unpacked")
    for name in (
        *("torchgen/packaged/ATen/native", "torchgen/packaged/autograd"),
        *("torch/version.py", "torch/_decomp/decompositions_for_jvp.py"),
        "torch/include/torch/csrc/autograd/FunctionsManual.h",
    ):
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (packages / name).is_dir():
            shutil.copytree(packages / name, target, ignore=shutil.ignore_patterns("__pycache__", "templates"))
        else:
            shutil.copyfile(packages / name, target)
    return root


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wheel") / "torch-2.13.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(unpacked.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(unpacked).as_posix())
    return path


@pytest.fixture(scope="module")
def checkout(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(unpacked / "torchgen/packaged/ATen/native", root / NATIVE)
    shutil.copytree(unpacked / "torchgen/packaged/autograd", root / "tools/autograd")
    (root / "torch/csrc/autograd").mkdir(parents=True)
    shutil.copyfile(
        unpacked / "torch/include/torch/csrc/autograd/FunctionsManual.h", root / "torch/csrc/autograd/FunctionsManual.h"
    )
    shutil.copytree(unpacked / "torch/_decomp", root / "torch/_decomp")
    (root / "version.txt").write_text("2.13.0a0\n")
    return root


SOURCES = ("unpacked", "wheel", "checkout")


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_has_the_same_facts(kind: str, request: pytest.FixtureRequest) -> None:
    source, installed = TorchSource(request.getfixturevalue(kind)), installed_source()
    assert source.is_checkout is (kind == "checkout")
    assert source.version == installed.version == "2.13.0"
    assert source.generators == installed.generators
    for name in ("native_functions", "tags", "derivatives", "functions_manual"):
        mine, theirs = getattr(source, name), getattr(installed, name)
        assert mine.text == theirs.text, name


@pytest.mark.parametrize("kind", [*SOURCES, "installed"])
def test_an_index_is_built_of_every_kind(kind: str, request: pytest.FixtureRequest, tool: Run, here: Path) -> None:
    path = kind if kind == "installed" else str(request.getfixturevalue(kind))
    outcome = tool("index", "build", "--torch", path, "--out", "index.json")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == "wrote index.json: 2,584 operators and 13 lists of its generators of PyTorch 2.13.0\n"
    natives = read_index((here / "index.json").read_bytes(), "test")
    assert natives.generator_lists is not None
    assert natives.generator_lists.keys() == {*TOPICS, DECOMPOSED}
    assert natives.generator_lists == extract(installed_source().generators).lists


def test_the_bundled_files_are_made_of_an_index(tool: Run, here: Path, wheel: Path) -> None:
    tool("index", "build", "--torch", str(wheel), "--out", "index.json")
    outcome = tool("index", "bundle", "index.json", "--out", "data")
    assert (outcome.status, outcome.err) == (0, "")
    assert sorted(path.name for path in (here / "data").iterdir()) == [
        *("entries.txt", "generators.txt", "history.json.zlib", "index-2.13.0.json")
    ]
    bundled = Path(str(import_module("derivlint.schema").__file__)).parent / "data" / "index-2.13.0.json"
    assert (here / "data" / "index-2.13.0.json").read_bytes() == bundled.read_bytes()


def test_what_cannot_be_bundled(tool: Run, here: Path) -> None:
    (here / "bad.json").write_text("[]")
    (here / "file").write_text("")
    assert tool("index", "bundle", "bad.json", "--out", "data").err == 'derivlint: "bad.json": not an operator index\n'
    outcome = tool("index", "bundle", "bad.json", "--out", "file")
    assert outcome.status == 2


def test_a_list_that_is_not_understood_is_a_warning(tool: Run, here: Path, checkout: Path) -> None:
    shutil.copytree(checkout, here / "own")
    (here / "own/tools/autograd/gen_trace_type.py").write_text("MANUAL_AUTOGRAD = load()\n")
    outcome = tool("index", "build", "--torch", "own", "--out", "index.json")
    assert outcome.status == 0
    assert outcome.err == (
        'derivlint: gen_trace_type.py:1: the list "manual-autograd" cannot be read: "Call" is not understood here\n'
    )
    assert "12 lists" in outcome.out


# ---- what is not a PyTorch


def nothing(folder: Path) -> None:
    (folder / "torch").mkdir()


def text(folder: Path) -> None:
    (folder / "torch").write_text("not an archive")


def empty_wheel(folder: Path) -> None:
    with zipfile.ZipFile(folder / "torch", "w"):
        pass


def damaged_wheel(folder: Path) -> None:
    empty_wheel(folder)
    data = bytearray((folder / "torch").read_bytes())
    (folder / "torch").write_bytes(data[: len(data) // 2])


def absent(folder: Path) -> None:
    pass


@pytest.mark.parametrize("make", [nothing, text, empty_wheel, damaged_wheel, absent])
def test_what_is_not_a_pytorch_is_refused(make: Callable[[Path], None], here: Path, tool: Run) -> None:
    make(here)
    with pytest.raises(SourceProblem, match=r'^"torch" is not a '):
        TorchSource(Path("torch"))
    outcome = tool("index", "build", "--torch", "torch", "--out", "index.json")
    assert outcome.status == 2
    assert outcome.err.startswith('derivlint: "torch" is not a ')
    assert not (here / "index.json").exists()


def wheel_with(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {"torchgen/packaged/ATen/native/native_functions.yaml": ADD.encode(), **files}.items():
            archive.writestr(name, data)
    return path


def test_a_file_of_a_wheel_that_is_too_large_is_refused(here: Path, tool: Run) -> None:
    wheel_with(here / "big.whl", **{"torchgen/packaged/autograd/derivatives.yaml": b" " * (LARGEST + 1)})
    outcome = tool("index", "build", "--torch", "big.whl", "--version", "2.1", "--out", "index.json")
    assert outcome.status == 2
    assert outcome.err.endswith(f'derivatives.yaml" in "big.whl" has more than {LARGEST} bytes\n')


def test_a_damaged_file_of_a_wheel_is_refused(here: Path, tool: Run) -> None:
    path = wheel_with(here / "torch.whl")
    data = path.read_bytes()
    # the compressed bytes come after the name of the first file
    start = data.index(b"native_functions.yaml") + len(b"native_functions.yaml")
    path.write_bytes(data[:start] + b"\xff" * 8 + data[start + 8 :])
    outcome = tool("index", "build", "--torch", "torch.whl", "--version", "2.1", "--out", "index.json")
    assert outcome.status == 2
    assert outcome.err.startswith('derivlint: cannot read "torchgen/packaged/ATen/native/native_functions.yaml" in')


def test_a_pytorch_without_version_needs_one(here: Path, tool: Run) -> None:
    wheel_with(here / "torch.whl")
    outcome = tool("index", "build", "--torch", "torch.whl", "--out", "index.json")
    assert (outcome.status, outcome.err) == (*(2, "derivlint: name the PyTorch version of the index with --version\n"),)
    outcome = tool("index", "build", "--torch", "torch.whl", "--version", "2.1", "--out", "index.json")
    assert (outcome.status, outcome.out) == (0, "wrote index.json: 1 operator of PyTorch 2.1\n")


# ---- a checkout's own generators


def own_checkout(here: Path, checkout: Path, version: str, **changes: str) -> str:
    shutil.copytree(checkout, here / "pytorch")
    (here / "pytorch/version.txt").write_text(f"{version}\n")
    generator = here / "pytorch/tools/autograd/gen_variable_type.py"
    content = generator.read_text()
    for old, new in changes.items():
        content = content.replace(f'"{old}",\n', f'"{new}",\n')
    generator.write_text(content)
    derivatives = here / "pytorch/tools/autograd/derivatives.yaml"
    derivatives.write_text("- name: exp(Tensor self) -> Tensor\n  self: grad * result\n")
    return str(derivatives)


def rules_of(outcome: Any) -> set[str]:
    return {line.rpartition("[")[2].rstrip("]") for line in outcome.out.splitlines() if line.endswith("]")}


def test_a_checkouts_own_list_decides(run: Run, here: Path, checkout: Path) -> None:
    path = own_checkout(here, checkout, "2.16.0a0")
    arguments = ("check", path, "--no-config", "--output-format", "concise", "--select", "missing-conjugate")
    assert rules_of(run(*arguments)) == {"missing-conjugate"}
    shutil.rmtree(here / "pytorch")
    own_checkout(here, checkout, "2.16.0a0", exp="another")
    assert rules_of(run(*arguments)) == set()


def test_what_is_kept_of_a_check_depends_on_the_checkouts_list(
    run: Run, here: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", str(here / "cache"))
    path = own_checkout(here, checkout, "2.16.0a0")
    arguments = ("check", path, "--no-config", "--output-format", "concise", "--select", "missing-conjugate")
    assert rules_of(run(*arguments)) == rules_of(run(*arguments)) == {"missing-conjugate"}
    generator = here / "pytorch/tools/autograd/gen_variable_type.py"
    generator.write_text(generator.read_text().replace('"exp",\n', '"another",\n'))
    assert rules_of(run(*arguments)) == rules_of(run(*arguments)) == set()


def test_the_settings_say_where_facts_come_from(run: Run, here: Path, checkout: Path) -> None:
    path = own_checkout(here, checkout, "2.14.0a0")
    folder = here / "pytorch/tools/autograd"

    def shown() -> str:
        lines = run("check", path, "--no-config", "--show-settings").out.splitlines()
        return next(line for line in lines if line.startswith("  facts by release: "))

    assert shown() == f"  facts by release: the lists in {folder}"
    (folder / "gen_trace_type.py").write_text("MANUAL_AUTOGRAD = load()\n")
    rest = "PyTorch 2.14 for what cannot be read there: manual-autograd"
    assert shown() == f"  facts by release: the lists in {folder}; {rest}"
    assert run("check", path, "--no-config").status == 1


@pytest.mark.parametrize(("version", "own"), [("2.13.0", False), ("2.16.0", True), (None, True)])
def test_the_lists_of_an_installed_torch_count_where_its_release_is_not_bundled(
    version: str | None, own: bool, unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = unpacked / "torchgen/packaged/ATen/native"
    torch = InstalledTorch(version, native / "native_functions.yaml", native / "tags.yaml", None, None)
    monkeypatch.setattr("derivlint.project.operators.installed", lambda: torch)
    found = operators_for(unpacked, Settings().overridden(torch="installed"))
    assert len(found.generators) == (5 if own else 0)
    natives = load_operators(found, use_cache=False).natives
    expected = extract(TorchSource(unpacked).generators).lists if own else None
    assert natives.generator_lists == expected


def test_emission_follows_the_checkouts_own_list(run: Run, here: Path, checkout: Path) -> None:
    path = own_checkout(here, checkout, "2.13.0a0", exp="another")
    outcome = run("emit", "cpp", path, "--ops", "exp", "--allow-errors", "--out", "out", "--mode", "in-tree")
    assert outcome.status == 0, outcome.err
    emitted = "".join(file.read_text() for file in (here / "out").glob("VariableType*.cpp"))
    assert 'throw_error_for_complex_autograd(result, "exp");' in emitted


@pytest.mark.parametrize("version", bundled_versions())
def test_every_bundled_release_can_be_asked_for(version: str, run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text("- name: exp(Tensor self) -> Tensor\n  self: grad * result\n")
    outcome = run("check", "derivatives.yaml", "--torch", version, "--no-config", "--select", "missing-conjugate")
    assert outcome.status == 1
    assert "missing-conjugate" in outcome.out
    shown = run("check", "derivatives.yaml", "--torch", version, "--no-config", "--show-settings").out
    assert f"  facts by release: PyTorch {version.rpartition('.')[0]}\n" in shown
