"""The interpreters that ``.ci/pythons.py`` finds, and the versions that it considers the lowest."""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs are shell scripts")


@pytest.fixture(scope="module")
def pythons() -> ModuleType:
    spec = spec_from_file_location("pythons", ROOT / ".ci" / "pythons.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_pythons_are_those_of_the_path_and_then_of_pyenv_newest_first(pythons: ModuleType, tmp_path: Path) -> None:
    first = program(tmp_path / "a" / "python3.12", "")
    second = program(tmp_path / "b" / "python3.12", "")
    program(tmp_path / "b" / "python3.13", "")
    versions = ("3.12.9", "3.12.10", "3.12.1-debug", "3.1.2", "2.7.18")
    kept = {name: program(tmp_path / "pyenv" / "versions" / name / "bin" / "python", "") for name in versions}
    path = os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "missing"), str(tmp_path / "b")])
    found = list(pythons.candidates(12, path, tmp_path / "pyenv"))
    assert found == [first, second, kept["3.12.10"], kept["3.12.9"]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("echo 'pyenv: python3.12: command not found' >&2; echo more >&2; exit 127", "pyenv: python3.12: command not "),
        ("exit 3", "exit status 3"),
    ],
)
def test_a_python_that_fails_has_a_reason(pythons: ModuleType, tmp_path: Path, text: str, reason: str) -> None:
    broken = program(tmp_path / "python3.12", text)
    assert pythons.environment(broken, 12, tmp_path / "made").startswith(reason)


def test_a_python_of_another_version_or_none_at_all_has_a_reason(pythons: ModuleType, tmp_path: Path) -> None:
    other = sys.version_info.minor + 1
    assert pythons.environment(Path(sys.executable), other, tmp_path / "made") == "exit status 1"
    assert pythons.environment(tmp_path / "missing", other, tmp_path / "made") == "No such file or directory"
    assert not (tmp_path / "made").exists()


def test_the_lowest_versions_are_those_declared(pythons: ModuleType) -> None:
    text = """\
[project]
dependencies = ["a>=1.2", "b[x]>=3,<4 ; python_version < '3.11'", "c==5"]
optional-dependencies = { lsp = ["d~=6.1"], verify = ["e"] }
"""
    assert pythons.lowest(text) == ["a==1.2", 'b==3; python_version < "3.11"', "c==5", "d==6.1"]
    with pytest.raises(ValueError, match=r'^"a<2" does not declare one lowest version$'):
        pythons.lowest(text.replace("a>=1.2", "a<2"))


def test_every_dependency_of_derivlint_has_a_lowest_version(pythons: ModuleType) -> None:
    names = [pin.partition("==")[0] for pin in pythons.lowest((ROOT / "pyproject.toml").read_text(encoding="utf-8"))]
    assert names == ["click", "ruamel.yaml", "ruamel.yaml.clib", "msgspec", "lark", "rich", "tomli", "pygls"]
