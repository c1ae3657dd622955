"""The bundled operator index, and where the facts of an index come from."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import asdict

from derivlint.cpp.declarations.header import read_declarations
from derivlint.schema import (
    IndexFormatError,
    InstalledTorch,
    NativeFunctions,
    available_versions,
    build_index,
    installed_torch,
    load_index,
    read_index,
)

#: As large as the index may get.
MAX_INDEX_BYTES = 450_000


def facts(natives: NativeFunctions) -> list[dict[str, object]]:
    return [asdict(f) | {"source": None} for f in natives.written]


@pytest.fixture(scope="module")
def declarations(installed: InstalledTorch) -> Any:
    assert installed.functions_manual is not None
    return read_declarations(installed.functions_manual.read_text(encoding="utf-8")).declarations.to_json()


def test_the_bundled_index_is_the_installed_pytorch(
    natives: NativeFunctions, installed: InstalledTorch, declarations: Any
) -> None:
    assert installed.release == "2.13.0"
    index = load_index("2.13.0")
    assert facts(index) == facts(natives)
    assert (index.version, index.declarations, index.known_tags) == ("2.13.0", declarations, natives.known_tags)
    assert index.autograd_keys == natives.autograd_keys
    assert index.problems == ()
    assert index.origin == "the bundled operator index of PyTorch 2.13.0"
    assert [str(f.schema) for f in index.functions] == [str(f.schema) for f in natives.functions]


def test_building_is_deterministic(natives: NativeFunctions, declarations: Any) -> None:
    data = build_index(natives.with_derivatives(load_index("2.13.0").derivatives), "2.13.0", declarations)
    path = Path(sys.modules[build_index.__module__].__file__ or "").parent / "data" / "index-2.13.0.json"
    assert data == path.read_bytes()
    assert build_index(load_index("2.13.0"), "2.13.0", declarations) == data
    assert len(data) < MAX_INDEX_BYTES


@pytest.mark.torch
def test_the_index_names_what_pytorchs_derivatives_have_formulas_for() -> None:
    """Read by PyYAML, as torchgen reads the file."""
    root = Path(str(import_module("torchgen").__file__)).parent
    entries = yaml.safe_load((root / "packaged/autograd/derivatives.yaml").read_text())
    expected = {}
    for entry in entries:
        name = entry.pop("name").partition("(")[0]
        entry.pop("output_differentiability", None)
        bodies = entry["dispatch"].values() if "dispatch" in entry else [entry]
        names = [name.strip() for body in bodies for key in body for name in key.split(",")]
        expected[name] = list(dict.fromkeys(names))
    assert load_index("2.13.0").derivatives == expected


def test_the_newest_index_is_the_default() -> None:
    assert load_index().version == available_versions()[-1]


def test_unknown_versions_name_the_known_ones() -> None:
    known = ", ".join(available_versions())
    with pytest.raises(LookupError, match=f'^no operator index of PyTorch "1.0" is bundled, only of {known}$'):
        load_index("1.0")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an operator index"),
        (b"\xff\x00", "not an operator index"),
        (b"[]", "not an operator index"),
        (b'{"format":4}', "not an operator index"),
        (b'{"format":99}', "the operator index has format 99, expected 4"),
        (
            json.dumps({"format": 4, "profiles": [{"nonsense": 1}], "functions": [["f() -> ()", 0]]}).encode(),
            "not an operator index",
        ),
    ],
)
def test_what_is_no_index_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(IndexFormatError, match=f"^{message}$"):
        read_index(data, "test")


def test_installed_pytorch_is_found_without_importing_it(installed: InstalledTorch) -> None:
    assert installed.version is not None
    assert installed.version.startswith("2.13.0")
    paths = (installed.native_functions, installed.tags, installed.derivatives, installed.functions_manual)
    assert [path.name for path in paths if path is not None and path.is_file()] == [
        *("native_functions.yaml", "tags.yaml", "derivatives.yaml", "FunctionsManual.h")
    ]


def fake(root: Path, *, version: str | None = None) -> None:
    native = root / "torchgen" / "packaged" / "ATen" / "native"
    native.mkdir(parents=True)
    (root / "torchgen" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (native / "native_functions.yaml").write_text("[]\n")
    if version is not None:
        (root / "torch").mkdir()
        (root / "torch" / "__init__.py").write_text("raise RuntimeError('imported')\n")
        (root / "torch" / "version.py").write_text(version)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("__version__ = '2.9.1'\n", ("2.9.1", "2.9.1")),
        ('debug = False\n__version__: str = "2.9.1+cu126"\n', ("2.9.1+cu126", "2.9.1")),
        ("nothing\n", (None, None)),
        (None, (None, None)),
    ],
)
def test_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, expected: tuple[str | None, str | None]
) -> None:
    fake(tmp_path, version=version)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for name in [name for name in sys.modules if name.partition(".")[0] in ("torch", "torchgen")]:
        monkeypatch.delitem(sys.modules, name)
    found = installed_torch()
    assert found is not None
    assert (found.version, found.release) == expected
    assert (found.tags, found.derivatives, found.functions_manual) == (None, None, None)


def test_no_installed_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for name in [name for name in sys.modules if name.partition(".")[0] in ("torch", "torchgen")]:
        monkeypatch.delitem(sys.modules, name)
    assert installed_torch() is None
