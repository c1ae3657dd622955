"""``derivlint rules``, ``rule``, ``index`` and ``model``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from derivlint.cpp.declarations.header import read_declarations
from derivlint.formats.machine.model_json import model_document
from derivlint.lint.option import GROUPS, Group
from derivlint.model import build_model, read_file
from derivlint.operators.extraction import extract
from derivlint.operators.sources import installed_source
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions, build_index, read_index
from derivlint.source import SourceFile
from tests.cli.conftest import ADD, COS, SIN, Run


def test_rules_are_listed_by_group(run: Run) -> None:
    listed: dict[str, list[str]] = {}
    for table in run("rules").out.split("\n\n"):
        title, *lines = table.splitlines()
        group, _, about = title.partition(": ")
        assert GROUPS[cast("Group", group)] == about
        listed[group] = [line.split()[0] for line in lines]
    assert list(listed) == [group for group in GROUPS if group != "numbers"]
    for group, names in listed.items():
        assert names == sorted(rule.name for rule in load_rules() if rule.meta.group == group)


def test_rules_are_listed_as_json(run: Run) -> None:
    document = json.loads(run("rules", "--output-format", "json").out)
    assert document["version"] == 1
    assert [item["name"] for item in document["rules"]] == [rule.name for rule in load_rules()]
    for item in document["rules"]:
        assert list(item) == [
            "name", "summary", "group", "severity", "confidence", "status", "since", "fixable", "checks",
        ]  # fmt: skip


@pytest.mark.parametrize("name", [rule.name for rule in load_rules()])
def test_every_rule_is_explained(run: Run, name: str) -> None:
    outcome = run("rule", name)
    assert outcome.status == 0
    for heading in (
        f"# {name}\n",
        "\n## What it detects\n",
        "\n## Why it is bad\n",
        "\n## Example\n",
        "\n## Instead\n",
    ):
        assert outcome.out.count(heading) == 1


def test_an_index_is_written_from_files(tool: Run, here: Path) -> None:
    (here / "native.yaml").write_text(ADD)
    (here / "manual.h").write_text("Tensor helper(Tensor a);")
    options = ("--native-functions", "native.yaml", "--headers", "manual.h", "--version", "9.9", "--out", "i.json")
    outcome = tool("index", "build", *options)
    assert (outcome.status, outcome.out) == (0, "wrote i.json: 1 operator of PyTorch 9.9\n")
    natives = read_index((here / "i.json").read_bytes(), "x")
    assert [f.func_text for f in natives.written] == ["add_one(Tensor self) -> Tensor"]
    assert natives.version == "9.9"
    assert natives.declarations == read_declarations("Tensor helper(Tensor a);").declarations.to_json()


def test_an_index_of_the_installed_torch_is_its_facts(
    tool: Run, here: Path, installed_natives: NativeFunctions, native_functions_path: Path, derivatives_path: Path
) -> None:
    assert tool("index", "build", "--torch", "installed", "--version", "9.9", "--out", "i.json").status == 0
    entries = read_file(SourceFile.read(derivatives_path))
    names = {
        str(entry.operator): [name.text for body in entry.bodies for formula in body.formulas for name in formula.names]
        for entry in entries
    }
    natives = installed_natives.with_derivatives({operator: list(dict.fromkeys(of)) for operator, of in names.items()})
    header = native_functions_path.parents[4] / "torch/include/torch/csrc/autograd/FunctionsManual.h"
    declarations = read_declarations(header.read_text()).declarations.to_json()
    natives = natives.with_generator_lists(extract(installed_source().generators).lists)
    assert (here / "i.json").read_bytes() == build_index(natives, "9.9", declarations)


def test_a_model_is_printed_as_one_document_for_each_file(
    run: Run, here: Path, bundled_natives: NativeFunctions
) -> None:
    expected = [
        json.dumps(model_document(build_model(SourceFile("x", text), bundled_natives)), indent=1) + "\n"
        for text in (SIN, COS)
    ]
    (here / "a.yaml").write_text(SIN)
    (here / "b.yaml").write_text(COS)
    assert run("model", "a.yaml").out == expected[0]
    assert run("model", "a.yaml", "b.yaml", "--output-format", "json").out == "".join(expected)
    assert run("model", "-", stdin=COS).out == expected[1]


def test_a_matched_model_has_the_functions(run: Run, here: Path) -> None:
    (here / "a.yaml").write_text(SIN)
    (here / "native.yaml").write_text("- func: sin(Tensor self) -> Tensor\n")
    document = json.loads(
        run("model", "a.yaml", "--matched", "--native-functions", "native.yaml", "--no-pytorch-operators").out
    )
    assert [(item["schema"], item["how"]) for item in document["functions"]] == [
        ("sin(Tensor self) -> Tensor", "exact")
    ]


def test_what_numbers_find_is_explained(run: Run) -> None:
    """Names that no rule has are explained by what they say, and by where more stands."""
    outcome = run("rule", "wrong-vjp")
    assert outcome.status == 0
    assert outcome.out.startswith("# wrong-vjp\n\nThe gradient differs from finite differences of the operator.\n")
    assert "docs/guides/verify.md" in outcome.out
    (item,) = json.loads(run("rule", "crash", "--output-format", "json").out)["rules"]
    assert item["summary"] == "Evaluating the formula raises an error or ends the process."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("build", "--out", "i"), "name a --native-functions file, or use --torch installed"),
        (
            ("build", "--native-functions", "native.yaml", "--out", "i"),
            "name the PyTorch version of the index with --version",
        ),
        (
            ("build", "--native-functions", "native.yaml", "--version", "1", "--out", "no/i"),
            'cannot write "no/i": No such file or directory',
        ),
        (
            ("build", "--native-functions", "broken.yaml", "--version", "1", "--out", "i"),
            'broken.yaml:3:15: "(" is never closed',
        ),
        (("relations", "--compiler", "none", "--out", "table.json"), 'cannot run the compiler "none"'),
        (("names", "--compiler", "none", "--out", "table.json"), 'cannot run the compiler "none"'),
    ],
    ids=" ".join,
)
def test_tables_need_operators_a_version_a_place_and_a_compiler(
    tool: Run, here: Path, arguments: tuple[str, ...], message: str
) -> None:
    native = "- func: add_one(Tensor self) -> Tensor\n  variants: function\n"
    (here / "native.yaml").write_text(native)
    (here / "broken.yaml").write_text(f"{native}- func: broken(\n")
    outcome = tool("index", *arguments)
    assert (outcome.status, outcome.out, outcome.err) == (2, "", f"derivlint: {message}\n")
