"""The FunctionsManual.h of a checkout is the truth: a helper that it does not declare does not exist."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from derivlint.cpp.problem import TypeProblemKind
from derivlint.formula import Call, Name
from derivlint.formula.nodes import walk
from derivlint.model import Entry, Model, build_model
from derivlint.project.headers import HELPERS
from derivlint.project.operator_files import NATIVE_FUNCTIONS
from derivlint.project.operators import (
    FUNCTIONS_MANUAL,
    LoadedOperators,
    load_operators,
    operators_for,
)
from derivlint.project.settings import Settings
from derivlint.schema import installed_torch
from derivlint.source import SourceFile
from tests.cli.conftest import Run

TOOLS = Path("tools/autograd")

#: How a helper is reported that is not declared; the second where its twin with "_symint" is.
UNDECLARED = (TypeProblemKind.UNDECLARED_FUNCTION, TypeProblemKind.SUPERFLUOUS_SYMINT)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the installed PyTorch at the places where a checkout has them."""
    torch = installed_torch()
    assert torch is not None
    assert torch.functions_manual is not None
    assert torch.derivatives is not None
    assert torch.tags is not None
    root = tmp_path_factory.mktemp("pytorch")
    files = {
        NATIVE_FUNCTIONS: torch.native_functions,
        NATIVE_FUNCTIONS.with_name("tags.yaml"): torch.tags,
        FUNCTIONS_MANUAL: torch.functions_manual,
        TOOLS / "derivatives.yaml": torch.derivatives,
    }
    for name, path in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, root / name)
    return root


@pytest.fixture(scope="module")
def loaded(checkout: Path) -> LoadedOperators:
    return load_operators(operators_for(checkout / TOOLS, Settings()))


@pytest.fixture(scope="module")
def entries_by_helper(checkout: Path, loaded: LoadedOperators) -> dict[str, list[str]]:
    """The texts of the entries that call each helper of the header."""
    model = build_model(SourceFile.read(checkout / TOOLS / "derivatives.yaml"), loaded.natives)
    assert loaded.natives.declarations is not None
    texts: dict[str, list[str]] = {name: [] for name in loaded.natives.declarations["functions"][HELPERS]}
    for entry in model.entries:
        assert entry.mapping is not None
        for name in set(called_in(entry)) & texts.keys():
            texts[name].append(model.source.slice(entry.place(entry.mapping)) + "\n")
    return {name: found for name, found in texts.items() if found}


def called_in(entry: Entry) -> Iterator[str]:
    """The bare names that an entry's formulas call, once for each call."""
    for body in entry.bodies:
        for formula in body.formulas:
            tree = formula.parsed.tree
            for node in walk(tree) if tree is not None else ():
                if isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.simple is not None:
                    yield node.callee.simple


def undeclared_in(model: Model, helper: str) -> int:
    """How often a helper is reported as undeclared."""
    problems = [problem for entry in model.entries for problem in model.type_problems(entry)]
    places = {
        (problem.where.start, problem.where.end)
        for problem in problems
        if problem.problem.kind in UNDECLARED and problem.problem.name == helper
    }
    return len(places)


def without(loaded: LoadedOperators, helper: str) -> LoadedOperators:
    """The operators where the header lacks a helper."""
    declared = loaded.natives.declarations
    assert declared is not None
    functions = {name: value for name, value in declared["functions"][HELPERS].items() if name != helper}
    content = {**declared, "functions": {**declared["functions"], HELPERS: functions}}
    natives = loaded.natives.with_declarations(content, complete=False, in_checkout=True)
    return LoadedOperators(natives, loaded.sources)


def test_a_deleted_declaration_is_an_error_at_every_call(
    loaded: LoadedOperators, entries_by_helper: dict[str, list[str]]
) -> None:
    assert len(entries_by_helper) > 150
    silent = {}
    for helper, texts in entries_by_helper.items():
        model = build_model(SourceFile("derivatives.yaml", "".join(texts)), without(loaded, helper).natives)
        calls = [name for entry in model.entries for name in called_in(entry)].count(helper)
        if undeclared_in(model, helper) != calls:
            silent[helper] = (undeclared_in(model, helper), calls)
    assert silent == {}


@pytest.mark.parametrize("file", ["derivatives.yaml", "some.yaml"])
@pytest.mark.parametrize("call", ["maybe_multiply(grad, 2)", "maybe_multiply(grad, 2, 3, 4)", "maybe_multiply()"])
def test_the_command_reports_a_call_of_any_arity(
    checkout: Path, tmp_path: Path, run: Run, call: str, file: str
) -> None:
    root = tmp_path / "checkout"
    shutil.copytree(checkout, root)
    header = root / FUNCTIONS_MANUAL
    header.write_text(re.sub(r"(?m)^.*\bmaybe_multiply\(.*\n", "", header.read_text()))
    path = root / TOOLS / file
    path.write_text(f"- name: sinh(Tensor self) -> Tensor\n  self: {call}\n")
    outcome = run("check", str(path), "--output-format", "concise", "--no-cache")
    assert 'no function "maybe_multiply" is declared' in outcome.out
    assert outcome.status == 1


def test_a_manual_that_the_user_names_replaces_that_of_the_release(checkout: Path, here: Path, run: Run) -> None:
    text = (checkout / FUNCTIONS_MANUAL).read_text()
    Path("FunctionsManual.h").write_text(re.sub(r"(?m)^.*\bmaybe_multiply\(.*\n", "", text))
    Path("more.h").write_text("namespace mine { at::Tensor own(const at::Tensor& grad); }\n")
    Path("d.yaml").write_text("- name: sinh(Tensor self) -> Tensor\n  self: own(maybe_multiply(grad, 2))\n")
    headers = ("--headers", "more.h", "--headers", "FunctionsManual.h")
    outcome = run("check", "d.yaml", *headers, "--select", "undefined-function", "--output-format", "concise")
    assert outcome.out.count("is declared") == 1
    assert '"maybe_multiply"' in outcome.out
    # a header with another name adds to the release's
    assert run("check", "d.yaml", "--headers", "more.h", "--select", "undefined-function").status == 0


def test_the_released_file_calls_nothing_that_its_header_lacks(checkout: Path, loaded: LoadedOperators) -> None:
    model = build_model(SourceFile.read(checkout / TOOLS / "derivatives.yaml"), loaded.natives)
    problems = [problem.problem for entry in model.entries for problem in model.type_problems(entry)]
    assert [problem.name for problem in problems if problem.kind in UNDECLARED] == []


def test_a_constant_of_a_named_header_needs_no_namespace(here: Path, run: Run) -> None:
    """As a function needs none: the generated file imports the namespace."""
    classes = "struct Flags { static const int kOne; }; enum class Axis { row };"
    (here / "own.h").write_text(f"namespace own {{ constexpr double kHalf = 0.5; {classes} }}")
    formula = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj() * {}\n"
    for name, status in (("(2 * kHalf)", 0), ("kOne", 1), ("kHalves", 1)):
        (here / "d.yaml").write_text(formula.format(name))
        assert run("check", "d.yaml", "--headers", "own.h", "--select", "undefined-constant").status == status
    for name, status in (("Axis::row", 0), ("Axis::column", 1), ("Axes::row", 1)):
        (here / "d.yaml").write_text(formula.format(f"static_cast<int64_t>({name})"))
        assert run("check", "d.yaml", "--headers", "own.h", "--select", "undefined-namespace-member").status == status
