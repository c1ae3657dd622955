"""How deep a rule looks into formulas, as it declares it, is what its module uses."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType

import pytest

from derivlint.lint import AnalysisDepth, Rule
from derivlint.rules import load_rules

#: What the parts of derivlint know of formulas.
PACKAGES = {
    "derivlint.analysis.scalar_evaluation": AnalysisDepth.VALUES,
    "derivlint.analysis": AnalysisDepth.SEMANTICS,
    "derivlint.lint.shared.degree_wording": AnalysisDepth.SEMANTICS,
    "derivlint.lint.shared.argument_order": AnalysisDepth.SEMANTICS,
    "derivlint.lint.shared.value_wording": AnalysisDepth.VALUES,
    "derivlint.lint.shared.type_wording": AnalysisDepth.TYPES,
    "derivlint.model.generated.typing": AnalysisDepth.TYPES,
    "derivlint.cpp": AnalysisDepth.TYPES,
}


def depth_of(module: str) -> AnalysisDepth:
    parts = module.split(".")
    names = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return next((PACKAGES[name] for name in names if name in PACKAGES), AnalysisDepth.FORM)


def used_depth(source: str, values: dict[str, object]) -> AnalysisDepth:
    """The depth of what a module uses of its imports, also in annotations."""
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    depth = AnalysisDepth.FORM
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
    assert used_depth(source, {"CppType": CppType}) is AnalysisDepth.FORM
    assert used_depth(f"{source}CppType\n", {"CppType": CppType}) is AnalysisDepth.TYPES
