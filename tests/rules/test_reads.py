"""How deep a rule looks into formulas, as it declares it, is what its module uses."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType

import pytest

from derivlint.lint import Reading, Rule
from derivlint.rules import load_rules

#: What the parts of derivlint know of formulas.
PACKAGES = {
    "derivlint.analysis.scalar_evaluation": Reading.VALUES,
    "derivlint.analysis": Reading.SEMANTICS,
    "derivlint.lint.shared.degree_wording": Reading.SEMANTICS,
    "derivlint.lint.shared.argument_order": Reading.SEMANTICS,
    "derivlint.lint.shared.value_wording": Reading.VALUES,
    "derivlint.lint.shared.type_wording": Reading.TYPES,
    "derivlint.model.generated.typing": Reading.TYPES,
    "derivlint.cpp": Reading.TYPES,
}


def depth_of(module: str) -> Reading:
    parts = module.split(".")
    names = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return next((PACKAGES[name] for name in names if name in PACKAGES), Reading.FORM)


def used_depth(source: str, values: dict[str, object]) -> Reading:
    """The depth of what a module uses of its imports, also in annotations."""
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    depth = Reading.FORM
    for name in used & values.keys():
        value = values[name]
        module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(module, str):
            depth = max(depth, depth_of(module))
    return depth


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.name)
def test_a_rule_declares_how_deep_it_reads(rule: Rule) -> None:
    module = inspect.getmodule(rule.check)
    assert module is not None
    assert rule.reads == rule.meta.reads == used_depth(inspect.getsource(module), vars(module))


def test_an_import_that_nothing_uses_changes_nothing() -> None:
    from derivlint.cpp.cpp_type import CppType

    source = "from derivlint.cpp.cpp_type import CppType\n"
    assert used_depth(source, {"CppType": CppType}) is Reading.FORM
    assert used_depth(f"{source}CppType\n", {"CppType": CppType}) is Reading.TYPES
