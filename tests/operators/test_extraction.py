"""The lists of operators in PyTorch's generators: those of the installed one are what torchgen has when it runs."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest
from torchgen.packaged.autograd import (
    gen_autograd_functions,
    gen_inplace_or_view_type,
    gen_trace_type,
    gen_variable_type,
)

from derivlint.operators.extraction import Extraction, extract
from derivlint.operators.sources import installed_source
from derivlint.operators.topics import DECOMPOSED, DECOMPOSITIONS, MODULES, TOPICS

FILES = {
    "gen_variable_type": gen_variable_type,
    "gen_trace_type": gen_trace_type,
    "gen_inplace_or_view_type": gen_inplace_or_view_type,
    "gen_autograd_functions": gen_autograd_functions,
}


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return installed_source().generators


@pytest.fixture(scope="module")
def installed(texts: dict[str, str]) -> Extraction:
    return extract(texts)


def test_every_module_is_read(texts: dict[str, str], installed: Extraction) -> None:
    assert texts.keys() == {*MODULES, DECOMPOSITIONS}
    assert installed.problems == ()
    assert installed.lists.keys() == {*TOPICS, DECOMPOSED}


@pytest.mark.parametrize("topic", TOPICS)
def test_a_list_is_torchgens(topic: str, installed: Extraction) -> None:
    module, name = TOPICS[topic]
    items = getattr(FILES[module], name)
    expected = {item if isinstance(item, str) else ".".join(filter(None, item)) for item in items}
    assert set(installed.lists[topic]) == expected
    assert installed.lists[topic] == sorted(installed.lists[topic])


def test_what_is_decomposed_for_tangents_is_what_torch_registers(installed: Extraction) -> None:
    source = Path(import_module("torch").__file__ or "").parent / "_decomp" / "decompositions_for_jvp.py"
    calls = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Call)]
    registered = {
        ast.unparse(call.args[0]).removeprefix("torch.ops.aten.").removesuffix(".default")
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "_register_jit_decomposition_for_jvp"
    }
    assert set(installed.lists[DECOMPOSED]) == registered


def test_a_checkouts_own_change_shows(texts: dict[str, str], installed: Extraction) -> None:
    head = "GRADIENT_IMPLEMENTED_FOR_COMPLEX = {\n"
    text = texts["gen_variable_type"].replace(head, head + '    "my_operator",\n')
    changed = extract({**texts, "gen_variable_type": text}).lists
    assert set(changed["complex"]) - set(installed.lists["complex"]) == {"my_operator"}
    assert {topic for topic in changed if changed[topic] != installed.lists[topic]} == {"complex"}


def test_a_list_that_is_not_understood_is_named_and_left_out(texts: dict[str, str]) -> None:
    head = "VIEW_FUNCTIONS = {\n"
    text = texts["gen_inplace_or_view_type"].replace(head, f"VIEW_FUNCTIONS = {{k: v for k, v in f()}}\nOLD_{head}")
    found = extract({**texts, "gen_inplace_or_view_type": text})
    # what is made of it is unknown, too
    unknown = {"view", "may-return-view", "untraceable"}
    assert found.lists.keys() == {*TOPICS, DECOMPOSED} - unknown
    assert {problem.topic for problem in found.problems} == unknown
    line = text[: text.index("VIEW_FUNCTIONS = {k")].count("\n") + 1
    assert f'{line}: the list "view" cannot be read: "DictComp" is not understood here' in str(found.problems[0])


def test_a_module_that_is_not_python_loses_its_lists_only(texts: dict[str, str]) -> None:
    found = extract({**texts, "gen_trace_type": "MANUAL_AUTOGRAD = {"})
    assert found.lists.keys() == {*TOPICS, DECOMPOSED} - {"manual-autograd"}
    assert [str(problem) for problem in found.problems] == [
        "gen_trace_type.py:1: the list \"manual-autograd\" cannot be read: not Python: '{' was never closed"
    ]


def test_modules_that_are_not_there_are_not_problems(texts: dict[str, str]) -> None:
    found = extract({"gen_trace_type": texts["gen_trace_type"]})
    assert set(found.lists) == {"manual-autograd"}
    assert found.problems == ()
    assert extract({}) == Extraction({}, ())


@pytest.mark.parametrize("element", ["('a', 'b', 'c')", "(('a', 'b'), 'c')", "('a',)"])
def test_an_element_that_is_not_a_name_makes_the_list_unknown(element: str) -> None:
    found = extract({"gen_trace_type": f"MANUAL_AUTOGRAD = {{'a', {element}}}"})
    assert found.lists == {}
    assert [problem.reason for problem in found.problems] == ["an element is not the name of an operator"]
