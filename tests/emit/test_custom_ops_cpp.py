"""The example of an author of C++ operators, built in every way that it names, and builds with an author's C++."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import derivlint
from derivlint.cli.main import cli
from derivlint.emit.manifest import manifest_text
from derivlint.runtime import ManifestError, build, objects, read_manifest
from tests.running import runner

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(sys.platform != "linux", reason="hidden helpers are reached on Linux only"),
]
EXAMPLE = Path(derivlint.__file__).parents[2] / "examples" / "custom_ops_cpp"
GUIDE = Path(derivlint.__file__).parents[2] / "docs" / "guides" / "emission.md"
CHECKS = Path(__file__).with_name("custom_ops_checks.py")
PASSED = 68


def environment(*folders: Path, **more: str) -> dict[str, str]:
    path = [*map(str, folders), str(Path(derivlint.__file__).parents[1]), *sys.path]
    commands = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return {**os.environ, "PATH": os.pathsep.join(commands), "PYTHONPATH": os.pathsep.join(path), **more}


def run(command: list[str], folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def check(folder: Path, env: dict[str, str]) -> None:
    """Run the checks of the operators in a process of their own."""
    shutil.copy(CHECKS, folder / "test_operators.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_operators.py"]
    assert f"{PASSED} passed" in run(command, folder, env)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "custom_ops_cpp"))


def emit(project: Path, *more: str) -> str:
    """What is said where the example is emitted to ``generated``, in the folder of the example."""
    command = ["emit", "cpp", "derivatives.yaml", "--torch", "installed", "--isolated"]
    command += ["--native-functions", "my_ops.yaml", "--headers", "csrc/formulas.h", *more, "--out", "generated"]
    here = Path.cwd()
    os.chdir(project)
    try:
        done = runner().invoke(cli, command)
    finally:
        os.chdir(here)
    assert done.exit_code == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


SOURCES = ("--sources", "csrc/formulas.cpp", "--sources", "csrc/my_ops.cpp")


@pytest.mark.full
def test_every_kind_of_operator_works(project: Path, pytestconfig: pytest.Config) -> None:
    """Built by the runtime: gradients of all orders, tangents, views, writes, opcheck, torch.func, torch.compile."""
    assert emit(project, *SOURCES) == '11 operators and 11 nodes: 12 of 12 files written to "generated"\n'
    place = pytestconfig.cache.mkdir("custom_ops_cpp") if pytestconfig.cache is not None else project / "build"
    built = build(project / "generated", build_folder=place)
    check(project, environment(MY_OPS_LIBRARY=str(built.library)))


@pytest.mark.full
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
def test_built_by_cmake(project: Path) -> None:
    env = environment()
    found = run([sys.executable, "-c", "import torch; print(torch.utils.cmake_prefix_path)"], project, env).strip()
    python = f"-DPython_EXECUTABLE={sys.executable}"
    run(["cmake", "-B", "build", python, f"-DCMAKE_PREFIX_PATH={found}"], project, env)
    run(["cmake", "--build", "build", "-j", "2"], project, env)
    library = project / "build" / "generated" / "build" / "libmy_ops_autograd.so"
    check(project, environment(MY_OPS_LIBRARY=str(library)))


@pytest.mark.full
def test_built_by_cpp_extension(project: Path) -> None:
    run([sys.executable, "setup.py", "build_ext", "--inplace"], project, environment())
    check(project, environment(project))


def blocks(heading: str) -> list[tuple[str, str]]:
    """The blocks below a heading of the guide, with their languages."""
    section = GUIDE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


@pytest.mark.full
def test_the_guide_for_operators_of_ones_own(project: Path) -> None:
    (_, command), (_, script) = blocks("Operators of your own")
    assert run(["bash", "-ec", command], project, environment()).endswith('12 files written to "generated"\n')
    run([sys.executable, "-c", script], project, environment())


def test_the_guide_for_one_key(tmp_path: Path) -> None:
    (_, command), (_, printed) = blocks("Kernels for one autograd key")
    assert run(["bash", "-ec", command], tmp_path, environment()) == printed


def test_what_is_written_once_is_written_again(project: Path) -> None:
    """All files are known as ours, so that a change of the entries replaces them."""
    emit(project, *SOURCES)
    assert emit(project, *SOURCES) == '11 operators and 11 nodes: 0 of 12 files written to "generated"\n'
    assert emit(project, "--ops", "scaled") == '1 operator and 1 node: 8 of 9 files written to "generated"\n'
    assert sorted(path.name for path in (project / "generated").iterdir()) == [
        "CMakeLists.txt", "derivlint.json", "derivlint.map.json", "kernels_0.cpp", "loader.cpp", "nodes.h",
        "nodes_0.cpp", "operators.h", "python_nodes_0.cpp",
    ]  # fmt: skip


def test_the_authors_files_are_named_from_the_folder(project: Path) -> None:
    emit(project, *SOURCES)
    folder = project / "generated"
    lines = (folder / "nodes.h").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith('#include "')] == [
        '#include "../csrc/formulas.h"',
        '#include "operators.h"',
    ]
    assert read_manifest(folder).authors == ("../csrc/formulas.cpp", "../csrc/my_ops.cpp")
    listed = (folder / "CMakeLists.txt").read_text(encoding="utf-8")
    assert "  views.cpp\n  ../csrc/formulas.cpp\n  ../csrc/my_ops.cpp\n)" in listed


def test_operators_come_before_the_authors_functions(project: Path) -> None:
    """A formula means the operator, also where a header has a function of its name; all else is the author's."""
    emit(project, "--ops", "softplus2_twice")
    header = (project / "generated" / "operators.h").read_text(encoding="utf-8")
    assert re.findall(r"^(?:using )?namespace .*", header, re.MULTILINE) == [
        "namespace my_ops {}",
        "namespace derivlint_generated {",
        "namespace my_ops {",
        "using namespace ::my_ops;",
        "namespace {",
        "using namespace my_ops;",
        "namespace torch::autograd::derivlint_generated_kernels {",
        "namespace my_ops = ::derivlint_generated::my_ops;",
        "using namespace ::derivlint_generated::my_ops;",
        "namespace torch::autograd::derivlint_generated_inplace_or_view {",
        "namespace my_ops = ::derivlint_generated::my_ops;",
        "using namespace ::derivlint_generated::my_ops;",
    ]


def small(folder: Path, authors: object) -> Path:
    """A folder whose manifest names sources of the author alone."""
    place = folder / "generated"
    place.mkdir()
    content: dict[str, object] = {"mode": "extension", "namespace": "small", "operators": {}, "authors": authors}
    files = {"nodes.h": "#pragma once\n"}
    (place / "derivlint.json").write_text(manifest_text(content, files), encoding="utf-8")
    (place / "nodes.h").write_text(files["nodes.h"], encoding="utf-8")
    return place


def test_a_changed_header_of_the_author_is_compiled_again(tmp_path: Path) -> None:
    folder = small(tmp_path, ["../a.cpp", "../my ops/b.cpp"])
    (tmp_path / "my ops").mkdir()
    header = tmp_path / "my ops" / "b.h"
    header.write_text("inline int b() { return 1; }\n", encoding="utf-8")
    (tmp_path / "a.cpp").write_text("#include <nodes.h>\nint a() { return 1; }\n", encoding="utf-8")
    (tmp_path / "my ops" / "b.cpp").write_text('#include "b.h"\nint c() { return b(); }\n', encoding="utf-8")
    said: list[str] = []

    def compiled() -> list[str]:
        said.clear()
        made = objects(folder, progress=said.append)
        assert [Path(name).is_file() for name in made] == [True, True, True]
        return sorted(line[len("compiled ") : line.rindex(" in ")] for line in said if line.startswith("compiled "))

    assert compiled() == ["../a.cpp", "../my ops/b.cpp"]
    assert compiled() == []
    time.sleep(0.02)
    (folder / "nodes.h").touch()
    assert compiled() == []
    header.write_text("inline int b() { return 2; }\n", encoding="utf-8")
    assert compiled() == ["../my ops/b.cpp"]
    header.rename(tmp_path / "b.h")
    (tmp_path / "my ops" / "b.cpp").write_text('#include "../b.h"\nint c() { return b(); }\n', encoding="utf-8")
    assert compiled() == ["../my ops/b.cpp"]
    assert compiled() == []


@pytest.mark.parametrize("authors", ["a.cpp", [1], ["-fplugin=x"], ["a\nb.cpp"]])
def test_a_damaged_manifest(tmp_path: Path, authors: object) -> None:
    with pytest.raises(ManifestError, match="is damaged"):
        read_manifest(small(tmp_path, authors))
