"""Where the operators for a derivatives file come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derivlint.project.operator_files import MAX_OWN_BYTES, MAX_YAML_FILES
from derivlint.project.operators import (
    INSTALLED,
    Operators,
    load_operators,
    operators_for,
)
from derivlint.project.settings import Settings
from derivlint.schema import NativeFunctions, available_versions
from tests.cli.conftest import ADD, SIN, Run


def helper_names(natives: NativeFunctions) -> set[str]:
    """The functions of the headers that belong to the operators."""
    assert natives.declarations is not None
    return {name for names in natives.declarations["functions"].values() for name in names}


@pytest.fixture
def checkout(here: Path) -> Path:
    """A PyTorch checkout with the files that derivlint reads."""
    for name, text in (
        ("aten/src/ATen/native/native_functions.yaml", ADD),
        ("aten/src/ATen/native/tags.yaml", "- tag: core\n  desc: x\n"),
        ("torch/csrc/autograd/FunctionsManual.h", "namespace x { Tensor helper(Tensor a); }"),
        ("tools/autograd/derivatives.yaml", SIN),
    ):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)
    return here


def test_a_checkout_around_the_file_has_everything(checkout: Path) -> None:
    found = operators_for(checkout / "tools" / "autograd", Settings())
    assert found == Operators(
        f"the PyTorch checkout {checkout}",
        (checkout / "aten/src/ATen/native/native_functions.yaml",),
        checkout / "aten/src/ATen/native/tags.yaml",
        checkout / "torch/csrc/autograd/FunctionsManual.h",
        in_checkout=True,
    )
    natives = load_operators(found).natives
    assert [f.func_text for f in natives.written] == ["add_one(Tensor self) -> Tensor"]
    assert helper_names(natives) == {"helper"}
    assert natives.known_tags == frozenset({"core"})


def test_the_bodies_of_helpers_are_those_beside_the_header_or_those_that_are_named(checkout: Path) -> None:
    tools = checkout / "tools" / "autograd"
    assert load_operators(operators_for(tools, Settings())).natives.bodies is None
    beside = checkout / "torch/csrc/autograd/FunctionsManual.cpp"
    beside.write_text("Tensor helper(Tensor a) { return a; }\n")
    found = operators_for(tools, Settings())
    assert found.bodies == beside
    assert beside in found.files
    bodies = load_operators(found, use_cache=False).natives.bodies
    assert bodies is not None
    assert (bodies.source.path, list(bodies.functions), bodies.is_shown) == (str(beside), ["helper"], True)
    named = checkout / "mine.cpp"
    named.write_text("Tensor other(Tensor a) { return a; }\n")
    bodies = load_operators(operators_for(tools, Settings(helper_bodies=named))).natives.bodies
    assert bodies is not None
    assert list(bodies.functions) == ["other"]


@pytest.mark.parametrize(("text", "version"), [("2.14.0a0\n", "2.14.0"), ("v1", None), ("", None)])
def test_a_checkout_knows_which_release_it_becomes(checkout: Path, text: str, version: str | None) -> None:
    (checkout / "version.txt").write_text(text)
    assert operators_for(checkout / "tools" / "autograd", Settings()).version == version


def test_files_that_are_named_come_before_the_checkout(checkout: Path) -> None:
    other = checkout / "other.yaml"
    other.write_text(ADD)
    settings = Settings().overridden(native_functions=(other,))
    reason = "named by the command line"
    added = f"{reason}; not a complete native_functions.yaml, so it extends PyTorch's"
    assert operators_for(checkout, settings) == Operators(added, (other,), bundled=True, standalone=True)
    alone = settings.overridden(pytorch_operators=False)
    assert operators_for(checkout, alone) == Operators(reason, (other,))
    other.write_text(ADD * 1000)
    assert operators_for(checkout, settings) == Operators(reason, (other,))


def test_files_of_a_checkout_bring_their_tags_and_header(checkout: Path) -> None:
    native = checkout / "aten/src/ATen/native/native_functions.yaml"
    found = operators_for(Path("/"), Settings().overridden(native_functions=(native,)))
    assert found.tags == checkout / "aten/src/ATen/native/tags.yaml"
    assert found.functions_manual == checkout / "torch/csrc/autograd/FunctionsManual.h"


def test_tags_that_are_named_come_before_those_beside(checkout: Path) -> None:
    tags = checkout / "my-tags.yaml"
    assert operators_for(checkout, Settings(tags=tags)).tags == tags


def test_without_anything_the_newest_bundled_index_is_taken(here: Path) -> None:
    found = operators_for(here, Settings())
    assert found == Operators("no PyTorch checkout around the file", bundled=True, standalone=True)
    assert load_operators(found).natives.version == available_versions()[-1]


def test_the_installed_torch_is_taken_when_asked_for(here: Path, native_functions_path: Path, tags_path: Path) -> None:
    found = operators_for(here, Settings().overridden(torch=INSTALLED))
    assert found.native_functions == (native_functions_path,)
    assert found.tags == tags_path
    assert found.reason == "the installed torch, requested by the command line"
    assert "_cudnn_ctc_loss_backward" in helper_names(load_operators(found).natives)


def test_files_add_to_the_operators_of_a_torch(here: Path, native_functions_path: Path) -> None:
    extra = here / "extra.yaml"
    extra.write_text(f"{ADD}- func: sin(Tensor self) -> Tensor\n")
    version = available_versions()[-1]
    settings = Settings().overridden(torch=version, native_functions=(extra,))
    natives = load_operators(operators_for(here, settings)).natives
    assert [f.func_text for f in natives.named("add_one")] == ["add_one(Tensor self) -> Tensor"]
    assert [f.structured_delegate for f in natives.written if f.func_text == "sin(Tensor self) -> Tensor"] == [
        "sin.out"
    ]
    assert natives.version == version
    assert helper_names(natives)
    installed = operators_for(here, Settings().overridden(torch=INSTALLED, native_functions=(extra,)))
    assert installed.native_functions == (native_functions_path, extra)


def test_the_file_of_standard_input_has_the_operators_around_its_name(checkout: Path, run: Run) -> None:
    outcome = run("check", "-", "--stdin-filename", "tools/autograd/derivatives.yaml", "--show-settings")
    assert f"(the PyTorch checkout {checkout})" in outcome.out


def test_settings_are_shown_with_their_reasons(checkout: Path, run: Run) -> None:
    (checkout / "derivlint.toml").write_text('fail-level = "error"\n')
    outcome = run("check", "tools", "--select", "", "--min-confidence", "low", "--show-settings")
    shown, _, _ = outcome.out.partition("  settings:")
    assert outcome.status == 0
    assert (
        shown
        == f"""\
file: tools/autograd/derivatives.yaml
  configuration: {checkout}/derivlint.toml
  operators: {checkout}/aten/src/ATen/native/native_functions.yaml (the PyTorch checkout {checkout})
  tags: {checkout}/aten/src/ATen/native/tags.yaml
  C++ functions: {checkout}/torch/csrc/autograd/FunctionsManual.h
  headers: none
  bodies of C++ functions: unknown
  facts by release: PyTorch 2.13, since the release of the operators is unknown
"""
    )


# ---- the release of a lone file

#: Up to PyTorch 2.9 an int is taken here, since then a SymInt.
OF_2_9 = "- name: triu(Tensor self, int diagonal=0) -> Tensor\n  self: grad.triu(diagonal)\n"


def test_every_command_reads_a_lone_file_alike(here: Path, run: Run) -> None:
    (here / "derivatives.yaml").write_text(OF_2_9)
    assert [info["name"] for info in json.loads(run("model", "--no-config").out)["infos"]] == ["triu"]
    assert "PyTorch 2.9.1" in run("check", "--show-settings", "--no-config").out


def test_a_whole_file_beside_counts_where_no_release_has_the_schemas(here: Path, run: Run) -> None:
    """An old or a private PyTorch whose two files are kept in one folder; a release stays what it is."""
    old = "".join(f"- func: old_{number}(Tensor self) -> Tensor\n" for number in range(1000))
    (here / "native_functions.yaml").write_text(f"{old}- func: add(Tensor self, int times) -> Tensor\n")
    file = here / "derivatives.yaml"
    file.write_text("- name: old_7(Tensor self) -> Tensor\n  self: grad\n")
    assert run("check", "derivatives.yaml").status == 0
    assert "native_functions.yaml (next to the file" in run("check", "--show-settings", "derivatives.yaml").out
    file.write_text(SIN)
    assert "bundled operator index" in run("check", "--show-settings", "derivatives.yaml").out


def test_a_file_of_a_release_may_have_operators_that_are_declared_beside_it(here: Path, run: Run) -> None:
    """What is known of the others is that of the release."""
    names = ("sin", "cos", "tan", "exp", "log", "abs", "neg", "sinh", "cosh", "tanh", "asin", "acos", "atan", "sqrt")
    more = ("rsqrt", "ceil", "floor", "round", "trunc", "frac", "erf", "erfc", "relu", "sgn")
    known = "".join(f"- name: {name}(Tensor self) -> Tensor\n  self: grad\n" for name in names + more)
    own = "".join(f"- func: my_own{number or ''}(Tensor self) -> Tensor\n" for number in range(1000))
    (here / "native_functions.yaml").write_text(own)
    (here / "derivatives.yaml").write_text(f"{OF_2_9}{known}- name: my_own(Tensor self) -> Tensor\n  self: grad\n")
    settings = run("check", "--show-settings", "--no-config").out
    assert "bundled operator index of PyTorch 2.9.1" in settings
    assert "native_functions.yaml (no PyTorch checkout around the file; 25 of its 26 schemas" in settings
    assert "unknown-schema" not in run("check", "--no-config").out


OWN = "- func: my_own(Tensor self) -> Tensor\n  dispatch:\n    CompositeExplicitAutograd: my_own\n"


def test_links_and_large_files_declare_nothing(here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What an unknown repository holds leads nowhere else, and costs little."""
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "native.yaml"
    elsewhere.write_text(OWN)
    (here / "link.yaml").symlink_to(elsewhere)
    (here / "folder.yaml").mkdir()
    (here / "large.yaml").write_text(OWN + "#" * MAX_OWN_BYTES)
    assert operators_for(here, Settings()).native_functions == ()
    (here / "own.yaml").write_text(OWN)
    assert operators_for(here, Settings()).native_functions == (here / "own.yaml",)
    for number in range(MAX_YAML_FILES):
        (here / f"{number}.yaml").write_text("")
    assert operators_for(here, Settings()).native_functions == ()


def test_an_operator_of_ones_own_is_not_pytorchs_with_the_same_schema(here: Path, run: Run) -> None:
    """No fact about PyTorch's operators applies: neither lists, nor values, nor other forms."""
    schemas = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", "sin(Tensor self) -> Tensor"
    (here / "own.yaml").write_text("".join(f"- func: fast::{schema}\n" for schema in schemas))
    (here / "derivatives.yaml").write_text(f"""\
- name: {schemas[0]}
  input: grad.matmul(weight)
  weight: grad.flatten(0, -2).t().mm(input.flatten(0, -2))
  bias: grad.flatten(0, -2).sum(0)
- name: {schemas[1]}
  self: grad * 2
  result: auto_linear
""")
    natives = load_operators(operators_for(here, Settings())).natives
    functions = [natives.by_schema(schema) for schema in schemas]
    assert [function and function.namespace for function in functions] == ["fast", "fast"]
    assert "no findings" in run("check", "--no-config").out
    (here / "own.yaml").unlink()
    assert {"missing-conjugate", "wrong-gradient"} <= set(run("check", "--no-config").out.replace("]", "[").split("["))


def test_what_is_declared_of_an_operator_of_ones_own_is_meant(here: Path, run: Run) -> None:
    """Quantized weights and tables are constants by contract, and noise is drawn."""
    (here / "own.yaml").write_text(
        "- func: my::rotate(Tensor x, Tensor table) -> Tensor\n- func: my::skip(Tensor x) -> (Tensor y, Tensor noise)\n"
    )
    (here / "derivatives.yaml").write_text("""\
- name: rotate(Tensor x, Tensor table) -> Tensor
  x: grad * table
  table: non_differentiable
- name: skip(Tensor x) -> (Tensor y, Tensor noise)
  output_differentiability: [True, False]
  x: grad * noise
  y: x_t * noise
""")
    assert "no findings" in run("check", "--no-config").out
    assert "missing-argument-derivative" in run("check", "--no-config", "--min-confidence", "medium").out
