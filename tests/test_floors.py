"""The floors of the house: a package imports only packages below it, and there are no cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import derivlint

ROOT = Path(derivlint.__file__).parent
REPOSITORY = Path(__file__).parent.parent

_TEXTS = {"source", "yaml_reader", "formula", "schema"}
_MODEL = {*_TEXTS, "operators", "cpp", "model"}
_RULES = {*_MODEL, "meaning", "lint", "rules"}
#: What each package may import, besides itself.
ALLOWED: dict[str, set[str]] = {
    "source": set(),
    "grammar": set(),
    "yaml_reader": {"source"},
    "formula": {"source", "grammar"},
    "schema": {"source", "grammar", "yaml_reader"},
    "operators": {"source", "formula", "schema"},
    "cpp": {*_TEXTS, "grammar"},
    "model": {*_TEXTS, "operators", "cpp"},
    "meaning": _MODEL,
    "lint": {*_MODEL, "meaning"},
    "rules": {*_MODEL, "meaning", "lint"},
    "project": {"source", "schema", "operators", "cpp", "model", "lint", "rules"},
    "formats": _RULES,
    "lsp": {*_RULES, "project", "formats", "emit"},
    "emit": {*_MODEL, "meaning"},
    "functional": {"formula", "operators"},
    "graph": {*_MODEL, "grammar", "meaning"},
    "runtime": {"source", "compiler", "emit"},
    "compiler": {*_MODEL, "lint"},
    "verify": {*_RULES, "project", "compiler", "emit", "runtime", "functional"},
    "cli": {*_RULES, "grammar", "project", "formats", "compiler", "emit", "runtime", "lsp", "graph", "verify"},
}


def folder_of(package: str) -> Path:
    """Where a package's files are: grammars and rules stand at the top of the repository."""
    return REPOSITORY / package if package in ("grammar", "rules") else ROOT / package


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every import of the file, also inside functions: line and module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.lineno, node.module


def test_a_floor_imports_only_floors_below_it() -> None:
    wrong = []
    for package, allowed in ALLOWED.items():
        files = sorted(folder_of(package).glob("**/*.py"))
        assert files, f"{package} has no modules"
        for path in files:
            for line, module in imports(path):
                parts = module.split(".")
                if parts[0] != "derivlint" or len(parts) < 2:
                    continue
                if parts[1] != package and parts[1] not in allowed:
                    wrong.append(f"{path.relative_to(REPOSITORY)}:{line} imports {module}")
    assert wrong == []


def test_every_package_is_shipped() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    found = {".".join(("derivlint", *path.relative_to(ROOT).parent.parts)) for path in ROOT.glob("**/__init__.py")}
    assert sorted(name for name in found if f'  "{name}",\n' not in text) == []


def test_every_package_has_a_floor() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"grammar", "rules"}
    assert packages == set(ALLOWED)


def test_rules_do_not_import_each_other() -> None:
    wrong = [
        f"{path.name}:{line} imports {module}"
        for path in sorted((REPOSITORY / "rules").glob("*.py"))
        if path.name != "__init__.py"
        for line, module in imports(path)
        if module.startswith("derivlint.rules")
    ]
    assert wrong == []


def test_judgement_is_by_trees_not_by_regular_expressions() -> None:
    wrong = [
        f"{path.relative_to(REPOSITORY)}:{line}"
        for package in ("model", "rules")
        for path in sorted(folder_of(package).glob("**/*.py"))
        for line, module in imports(path)
        if module == "re"
    ]
    assert wrong == []


def runtime_imports(path: Path) -> Iterator[str]:
    """The modules that a file imports when it runs, also inside functions; not what only type checkers see."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and id(node) not in for_types:
            yield node.module


def test_modules_have_no_cycles() -> None:
    modules = {}
    for path in ROOT.glob("**/*.py"):
        parts = ("derivlint", *path.relative_to(ROOT).with_suffix("").parts)
        modules[".".join(parts).removesuffix(".__init__")] = path
    remaining = {name: {item for item in runtime_imports(path) if item in modules} for name, path in modules.items()}
    while free := [name for name, imported in remaining.items() if not imported & (remaining.keys() - {name})]:
        for name in free:
            del remaining[name]
    assert sorted(remaining) == []
