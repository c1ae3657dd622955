"""``derivlint emit`` and ``derivlint show``: what is written, what is refused, and how it is reported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from derivlint.cli.compiled import messages_of
from derivlint.lint import Severity
from derivlint.model import build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.cli.conftest import COS, SIN, Run

FILES = [
    *("CMakeLists.txt", "derivlint.json", "derivlint.map.json", "kernels_0.cpp", "loader.cpp"),
    *("nodes.h", "nodes_0.cpp", "python_nodes_0.cpp"),
]
WRONG = SIN.replace("self.cos()", "self.coss()")


@pytest.fixture
def derivatives(here: Path) -> Path:
    path = here / "derivatives.yaml"
    path.write_text(SIN + COS)
    return path


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_an_extension_is_written_once(run: Run, here: Path, derivatives: Path) -> None:
    """A second run finds every file as it should be, and touches none."""
    first = run("emit", "cpp", "--out", "ext", "--ops", "sin")
    assert (first.status, first.out) == (0, '3 operators and 1 node: 8 of 8 files written to "ext"\n')
    assert names(here / "ext") == FILES
    times = {name: (here / "ext" / name).stat().st_mtime_ns for name in FILES}
    second = run("emit", "cpp", "--out", "ext", "--ops", "sin")
    assert (second.status, second.out) == (0, '3 operators and 1 node: 0 of 8 files written to "ext"\n')
    assert {name: (here / "ext" / name).stat().st_mtime_ns for name in FILES} == times


def test_only_changed_files_are_rewritten(run: Run, here: Path, derivatives: Path) -> None:
    """A changed backward formula changes the node and nothing else."""
    run("emit", "cpp", "--out", "ext", "--ops", "sin")
    derivatives.write_text((SIN + COS).replace("grad * self.cos().conj()", "grad * self.cos().conj() * 1", 1))
    reported = run("emit", "cpp", "--out", "ext", "--ops", "sin", "--check")
    stale = [line for line in reported.err.splitlines() if line.endswith("is stale")]
    # the forward formula is automatic and made of the backward one, so that the kernel changes with it
    assert (reported.status, stale) == (
        1,
        [f"derivlint: ext/{name} is stale" for name in ("derivlint.map.json", "kernels_0.cpp", "nodes_0.cpp")],
    )
    assert run("emit", "cpp", "--out", "ext", "--ops", "sin").status == 0
    assert run("emit", "cpp", "--out", "ext", "--ops", "sin", "--check").status == 0


def test_files_of_an_earlier_emission_are_removed(run: Run, here: Path, derivatives: Path) -> None:
    """With fewer shards the files that are no more are removed; files of others stay."""
    run("emit", "cpp", "--out", "ext", "--shards", "2")
    assert "nodes_1.cpp" in names(here / "ext")
    (here / "ext" / "mine.txt").write_text("mine")
    run("emit", "cpp", "--out", "ext", "--shards", "1")
    assert names(here / "ext") == sorted([*FILES, "mine.txt"])


def test_a_file_with_errors_is_refused(run: Run, here: Path, derivatives: Path) -> None:
    """The errors are printed and nothing is written, unless their rules are ignored or they do not matter."""
    derivatives.write_text(WRONG + COS)
    reported = run("emit", "cpp", "--out", "ext")
    assert reported.status == 1
    assert 'derivatives.yaml:2:21: error: "Tensor" has no member "coss"' in reported.out
    assert reported.err == "derivlint: nothing is written: 1 error; fix them, or use --ignore RULE or --allow-errors\n"
    assert not (here / "ext").exists()
    assert run("emit", "cpp", "--out", "ext", "--ignore", "undefined-member").status == 0
    assert run("emit", "cpp", "--out", "other", "--allow-errors").status == 0


def test_an_error_that_a_comment_silences_is_none(run: Run, here: Path, derivatives: Path) -> None:
    """What a check would not show does not keep the file from being written."""
    derivatives.write_text(WRONG.replace("- name", "# derivlint: ignore[undefined-member] of my fork\n- name", 1) + COS)
    assert run("check").status == 0
    assert run("emit", "cpp", "--out", "ext").status == 0


def test_errors_of_other_operators_do_not_matter(run: Run, here: Path, derivatives: Path) -> None:
    """Errors of an operator that is not emitted are not reported; errors of the file are."""
    derivatives.write_text(WRONG + COS)
    assert run("emit", "cpp", "--out", "ext", "--ops", "cos").status == 0
    assert run("emit", "cpp", "--out", "other", "--ops", "cos,sin_").status == 1
    derivatives.write_text(WRONG + COS + "- x\n")
    assert run("emit", "cpp", "--out", "other", "--ops", "cos").status == 1


def test_the_manifest_names_operators_and_nodes(run: Run, here: Path, derivatives: Path) -> None:
    """What is overridden is in the manifest, with the node of each kernel."""
    run("emit", "cpp", "--out", "ext", "--namespace", "mine::nodes", "--ops", "sin,cos")
    content = json.loads((here / "ext" / "derivlint.json").read_text())
    assert content["namespace"] == "mine::nodes"
    assert content["operators"] == {
        "cos": "CosBackward0",
        "cos.out": None,
        "cos_": "CosBackward0",
        "sin": "SinBackward0",
        "sin.out": None,
        "sin_": "SinBackward0",
    }
    assert sorted(content["files"]) == [name for name in FILES if name != "derivlint.json"]
    assert "namespace mine::nodes {" in (here / "ext" / "nodes.h").read_text()


def test_helpers_of_the_user_become_part_of_the_extension(run: Run, here: Path, derivatives: Path) -> None:
    """A FunctionsManual.cpp is copied, with the header that stands beside it."""
    (here / "FunctionsManual.cpp").write_text("// helpers\n")
    (here / "FunctionsManual.h").write_text("// declarations\n")
    assert run("emit", "cpp", "--out", "ext", "--helpers", "FunctionsManual.cpp").status == 0
    place = here / "ext" / "helpers" / "torch" / "csrc" / "autograd"
    assert (place / "FunctionsManual.cpp").read_text() == "// helpers\n"
    assert (place / "FunctionsManual.h").read_text() == "// declarations\n"


def test_without_bindings_python_has_no_classes_of_nodes(run: Run, here: Path, derivatives: Path) -> None:
    assert run("emit", "cpp", "--out", "ext", "--no-python-bindings").status == 0
    assert names(here / "ext") == [name for name in FILES if not name.startswith("python")]


def test_in_tree_files_are_those_that_pytorchs_build_names(run: Run, here: Path, derivatives: Path) -> None:
    """There is neither a loader nor a build file, and every file is there, also where few operators are chosen."""
    assert run("emit", "cpp", "--out", "tree", "--mode", "in-tree", "--ops", "sin").status == 0
    assert names(here / "tree") == sorted(
        [
            *("Functions.h", "Functions.cpp", "ViewFuncs.h", "ViewFuncs.cpp", "derivlint.json", "derivlint.map.json"),
            *("VariableType.h", *(f"VariableType_{index}.cpp" for index in range(10))),
            *(f"ADInplaceOrViewType_{index}.cpp" for index in range(2)),
            *("python_functions.h", *(f"python_functions_{index}.cpp" for index in range(5))),
        ]
    )
    assert "namespace torch::autograd::generated {" in (here / "tree" / "Functions.h").read_text()


def test_show_prints_node_and_kernels(run: Run, derivatives: Path) -> None:
    """The listing has the class, its apply and each kernel, with the place in the YAML and no line directives."""
    reported = run("show", "sin")
    assert reported.status == 0
    assert "#line" not in reported.out
    for text in (
        "derivatives.yaml:1: sin\n",
        "SinBackward0 : public TraceableFunction",
        "variable_list SinBackward0::apply(variable_list&& grads)",
        "grad * self.cos().conj()",
        'm.impl("sin", ',
        'm.impl("sin_", ',
        'm.impl("sin.out", ',
    ):
        assert text in reported.out
    assert "CosBackward0" not in reported.out


def test_show_of_one_function_has_only_its_kernel(run: Run, derivatives: Path) -> None:
    """A name with an overload, or of an in-place function, means that function."""
    reported = run("show", "sin_")
    assert 'm.impl("sin_", ' in reported.out
    assert 'm.impl("sin", ' not in reported.out


def test_messages_of_a_compiler_point_into_the_formula(bundled_natives: NativeFunctions) -> None:
    """The token at the place is underlined; an automatic formula only follows."""
    model = build_model(SourceFile.from_bytes("some/derivatives.yaml", (WRONG + COS).encode()), bundled_natives)
    output = (
        "some/derivatives.yaml:2:21: error: 'class at::Tensor' has no member named 'coss'; did you mean 'cos'?\n"
        "some/derivatives.yaml:3:11: error: 'class at::Tensor' has no member named 'coss'; did you mean 'cos'?\n"
        "derivatives.yaml:2:21: error: 'class at::Tensor' has no member named 'coss'; did you mean 'cos'?\n"
        "kernels_0.cpp:17:3: error: 'x' was not declared\n"
        "kernels_0.cpp:18:3: note: declared here\n"
    )
    found = messages_of(model, [output])
    assert found.unplaced == ["kernels_0.cpp:17:3: error: 'x' was not declared"]
    (item,) = found.diagnostics
    assert model.source.text[item.span.start : item.span.end] == "coss"
    assert (item.rule, item.severity, item.key) == ("compiler-error", Severity.ERROR, "self")


# ---- a function of its input

#: A run of the command in which no PyTorch can be found.
WITHOUT_TORCH = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = staticmethod(
    lambda name, *more: None if name.partition(".")[0] in ("torch", "torchgen") else find(name, *more)
)
from derivlint.__main__ import main
main()
"""


@pytest.mark.torch
@pytest.mark.parametrize(
    "options", [[], ["--torch", "2.1.2"], ["--torch", "2.6"], ["--torch", "2.15", "--mode", "in-tree"]]
)
def test_the_installed_pytorch_changes_nothing(run: Run, here: Path, derivatives: Path, options: list[str]) -> None:
    """The files are the same bytes where there is no PyTorch, and the manifest names the release."""
    arguments = ["emit", "cpp", "derivatives.yaml", "--isolated", *options, "--out"]
    assert run(*arguments, "with").status == 0
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH, *arguments, "without"], check=True, cwd=here)
    contents = [{path.name: path.read_bytes() for path in (here / name).iterdir()} for name in ("with", "without")]
    assert contents[0] == contents[1]
    release = (options or ["--torch", "2.13"])[1]
    assert json.loads(contents[0]["derivlint.json"])["torch"].startswith(release)
    if "in-tree" not in options:
        assert b"TORCH_VERSION_MINOR" in contents[0]["nodes.h"]


def test_emitted_headers_are_not_the_authors(run: Run, here: Path) -> None:
    """Folders with a manifest beside the file are not read for functions that formulas call."""
    (here / "derivatives.yaml").write_text(SIN.replace("grad * self.cos().conj()", "my_helper(grad, self)"))
    for folder in ("mine", "ext"):
        (here / folder).mkdir()
        (here / folder / "helpers.h").write_text(
            "namespace torch::autograd::generated::details {\n"
            "at::Tensor my_helper(const at::Tensor& grad, const at::Tensor& self);\n}\n"
        )
    (here / "ext" / "derivlint.json").write_text("{}")
    reported = run("emit", "cpp", "--out", "out")
    assert 'reading called functions from "mine/helpers.h"' in reported.err


def test_every_operator_is_a_star(run: Run, here: Path, derivatives: Path) -> None:
    """The name "all" is an operator of PyTorch."""
    reported = run("emit", "cpp", "--out", "ext", "--ops", "all")
    assert (reported.status, reported.err) == (2, 'derivlint: no code for "all": no entry applies to this operator\n')
    assert run("emit", "cpp", "--out", "ext", "--ops", "*").out.startswith("10 operators and 4 nodes: ")


def test_errors_of_entries_do_not_keep_a_build_of_pytorch_from_its_files(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(WRONG + COS)
    arguments = ("emit", "cpp", "--mode", "in-tree", "--out", "tree")
    refused = run(*arguments, "--strict")
    assert refused.status == 1
    assert not (here / "tree").exists()
    reported = run(*arguments)
    assert reported.status == 0
    assert 'derivatives.yaml:2:21: error: "Tensor" has no member "coss"' in reported.out
    assert "coss()" in (here / "tree" / "Functions.cpp").read_text()
