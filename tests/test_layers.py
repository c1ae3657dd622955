"""The layers: packages import only packages below them, modules have no cycles, and ARCHITECTURE.md is current."""

from __future__ import annotations

import ast
import importlib
from collections import Counter
from pkgutil import walk_packages

import pytest

import derivlint
from tests.conftest import TORCH
from tests.layers import ARCHITECTURE, REPOSITORY, ROOT, folder_of, imports, levels, module_imports, nodes, with_picture


def test_the_layers_are_those_of_the_architecture() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    assert text == with_picture(text), "what packages import has changed: python -m tests.layers"


def test_modules_have_no_cycles() -> None:
    """Not even by imports for type checkers only."""
    assert levels(module_imports())


def test_what_is_shipped_imports_no_tools() -> None:
    """Shipped modules import neither tools nor tests, which the wheel lacks."""
    paths = (*ROOT.glob("**/*.py"), *(REPOSITORY / "grammar").glob("*.py"), *(REPOSITORY / "rules").glob("*.py"))
    wrong = [
        f"{path.relative_to(REPOSITORY)}:{line} imports {module}"
        for path in paths
        for line, module in imports(path)
        if module.partition(".")[0] in ("tools", "tests", "fuzz", "benchmarks")
    ]
    assert wrong == []


def test_every_package_is_shipped() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    found = {".".join(("derivlint", *path.relative_to(ROOT).parent.parts)) for path in ROOT.glob("**/__init__.py")}
    assert sorted(name for name in found if f'  "{name}",\n' not in text) == []


def test_no_class_has_the_name_of_another() -> None:
    """Generated modules also use ``Entry``, as a name of ``derivlint.functional``."""
    names = Counter(
        node.name
        for folder in (ROOT, REPOSITORY / "rules")
        for path in folder.glob("**/*.py")
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in names.items() if count > 1} == {"Entry"}


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


def test_every_exported_name_exists(pytestconfig: pytest.Config) -> None:
    """Lazy exports are resolved on use, so a moved module could leave its name behind."""
    modules = []
    for item in walk_packages(derivlint.__path__, "derivlint."):
        if "__main__" in item.name:
            continue
        try:
            modules.append(importlib.import_module(item.name))
        except ModuleNotFoundError as error:
            if not pytestconfig.getoption("light") or (error.name or "").partition(".")[0] not in TORCH:
                raise
    missing = [
        f"{module.__name__}.{name}"
        for module in modules
        for name in getattr(module, "__all__", ())
        if not hasattr(module, name)
    ]
    assert len(modules) > 500
    assert missing == []
