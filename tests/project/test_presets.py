"""Files of back ends: below a key, for several versions, with native functions of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derivlint.model import Layout, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.cli.conftest import Run

DERIVATIVES = """\
all_version: [v2.1, v2.2, v2.3]
backward:
- name: npu_scale(Tensor self, Scalar by) -> Tensor
  self: grad * by
  version: [v2.1, v2.2]

- name: npu_scale(Tensor self, Scalar by) -> Tensor
  self: grad * byy
  version: v2.3

- name: inverse(Tensor self) -> Tensor
  self: -at::matmul(result.mH(), at::matmul(grad, result.mH()))
  version: all_version
"""
FUNCTIONS = """\
all_version: [v2.1, v2.2, v2.3]
official:
  - func: inverse(Tensor self) -> Tensor
    acl_op: all_version
  - func: inverse.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
    acl_op: all_version
custom:
  - func: npu_scale(Tensor self, Scalar by) -> Tensor
    op_api: all_version
"""


@pytest.fixture
def backend(here: Path) -> Path:
    (here / "derivatives.yaml").write_text(DERIVATIVES)
    (here / "op_plugin_functions.yaml").write_text(FUNCTIONS)
    (here / "derivlint.toml").write_text('preset = "torch_npu"\n')
    return here


def found(run: Run, *arguments: str) -> list[tuple[str, str, int]]:
    diagnostics = json.loads(run("check", "--output-format", "json", *arguments).out)["diagnostics"]
    return [(item["rule"], item["entry"], item["start"]["line"]) for item in diagnostics]


def test_foreach_operators_may_share_no_formulas(bundled_natives: NativeFunctions) -> None:
    text = "- name: maximum(Tensor self, Tensor other) -> Tensor\n  self: grad.clone()\n  other: grad.clone()\n"
    served = {}
    for foreach in (True, False):
        model = build_model(SourceFile("derivatives.yaml", text), bundled_natives, Layout(foreach=foreach))
        served[foreach] = {str(match.function.name) for match in model.functions_of(model.entries[0])}
    assert served[True] - served[False] == {"_foreach_maximum.List", "_foreach_maximum_.List"}
    assert "maximum" in served[False]


@pytest.mark.parametrize(
    ("key", "found_there"), [("CPU", []), ("CompositeExplicitAutograd", [("trailing-semicolon", "abs", 2)])]
)
def test_a_semicolon_is_harmless_in_an_old_file(
    run: Run, here: Path, key: str, found_there: list[tuple[str, str, int]]
) -> None:
    """PyTorch wrote formulas as statements of their own before 1.8, which has the first composite keys."""
    functions = ["- func: abs(Tensor self) -> Tensor\n  variants: function, method\n"]
    functions += [f"- func: op{i}(Tensor self) -> Tensor\n  dispatch:\n    {key}: op{i}\n" for i in range(1000)]
    (here / "native_functions.yaml").write_text("".join(functions))
    (here / "derivatives.yaml").write_text("- name: abs(Tensor self) -> Tensor\n  self: grad * self.sign();\n")
    arguments = ("--native-functions", "native_functions.yaml", "--select", "trailing-semicolon", "derivatives.yaml")
    assert found(run, *arguments) == found_there


@pytest.mark.torch
def test_operators_of_a_projects_own_groups_are_in_its_namespace(run: Run, backend: Path) -> None:
    """Their schemas do not say so, and no option has to: with any release that is named, too."""
    (backend / "derivlint.toml").unlink()
    (backend / "derivatives.yaml").write_text(
        "all_version: [v2.13]\nbackward:\n"
        "- name: npu_scale(Tensor self, Scalar by) -> Tensor\n  self: npu_scale(grad, by)\n"
        "- name: inverse(Tensor self) -> Tensor\n  self: -at::matmul(result.mH(), at::matmul(grad, result.mH()))\n"
    )
    (backend / "op_plugin_functions.yaml").write_text(FUNCTIONS.replace("v2.1, v2.2, v2.3", "v2.13"))
    for release in ((), ("--torch", "2.13.0"), ("--torch", "installed")):
        out = run(
            "emit",
            "cpp",
            "derivatives.yaml",
            *release,
            "--key",
            "AutogradPrivateUse1",
            "--out",
            "cpp",
            "--allow-errors",
        ).out
        assert "3 operators" in out
        kernels = (backend / "cpp" / "kernels_0.cpp").read_text()
        assert 'TORCH_LIBRARY_IMPL(npu, AutogradPrivateUse1, m) {\n  m.impl("npu_scale"' in kernels
        assert 'TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {\n  m.impl("inverse' in kernels
        out = run("emit", "python", "derivatives.yaml", *release, "--register", "--out", "own.py").out
        assert out.startswith("1 operator")
        assert 'F.define("npu::npu_scale", "(Tensor self, Scalar by) -> Tensor")' in (backend / "own.py").read_text()
