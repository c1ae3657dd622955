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


def test_a_preset_brings_layout_and_operators(run: Run, backend: Path) -> None:
    """The operator is the back end's own, and a composite of PyTorch has a kernel there."""
    assert found(run) == [("undefined-name", "npu_scale", 8)]
    assert 'the preset "torch_npu"' in run("check", "--show-settings").out


def test_a_preset_and_a_release(run: Run, backend: Path) -> None:
    """Which PyTorch counts does not change which operators the project has."""
    (backend / "derivlint.toml").write_text('preset = "torch_npu"\ntorch = "2.13.0"\n')
    assert found(run) == [("undefined-name", "npu_scale", 8)]


def test_one_version_can_be_checked(run: Run, backend: Path) -> None:
    assert found(run, "--config", 'version="v2.2"') == []
    assert found(run, "--config", 'version="v2.3"') == [("undefined-name", "npu_scale", 8)]


def test_a_version_that_the_file_lacks_is_2(run: Run, backend: Path) -> None:
    outcome = run("check", "--config", 'version="v22"')
    assert outcome.status == 2
    assert outcome.err == 'derivlint: "derivatives.yaml" has no version "v22"; did you mean "v2.2"?\n'


def test_entries_of_one_version_are_no_duplicates_of_those_of_another(run: Run, backend: Path) -> None:
    text = DERIVATIVES.replace("version: v2.3", "version: [v2.2, newest]").replace("byy", "by")
    (backend / "derivatives.yaml").write_text(text)
    outcome = json.loads(run("check", "--output-format", "json").out)
    assert [item["message"] for item in outcome["diagnostics"]] == [
        '"npu_scale" already has an entry, which this one for v2.2 replaces'
    ]
    assert outcome["summary"]["entries"] == 3


def test_the_files_of_a_project_are_known_by_their_names(run: Run, backend: Path) -> None:
    (backend / "derivlint.toml").unlink()
    assert found(run) == [("undefined-name", "npu_scale", 8)]
    assert "op_plugin_functions.yaml (the preset" in run("check", "--show-settings").out


def test_a_plain_list_is_a_file_of_the_preset_too(run: Run, backend: Path) -> None:
    """Older branches keep one folder for each PyTorch."""
    (backend / "derivatives.yaml").write_text(
        "- name: npu_scale(Tensor self, Scalar by) -> Tensor\n  self: grad * byy\n"
        "- name: neg(Tensor self) -> Tensor\n  self: grad.neg()\n"
    )
    assert found(run) == [("undefined-name", "npu_scale", 2), ("dropped-override-key", "neg", 3)]


def test_each_version_has_its_own_operators(run: Run, backend: Path) -> None:
    """An operator may be declared once for each version, and PyTorch's own operators are those of that release."""
    (backend / "derivatives.yaml").write_text(
        "all_version: [v2.1, v2.2, v2.3]\nbackward:\n"
        "- name: npu_scale(Tensor self, Scalar by) -> Tensor\n  self: npu_back(grad, by)\n"
        "  version: v2.1\n"
        "- name: npu_scale(Tensor self, Scalar by) -> Tensor\n  self: npu_back(grad, by, self.sym_sizes())\n"
        "  version: [v2.2, newest]\n"
        "- name: linalg_matrix_sqrth(Tensor self) -> Tensor\n  self: grad\n  version: all_version\n"
    )
    (backend / "op_plugin_functions.yaml").write_text(
        f"{FUNCTIONS}"
        "  - func: npu_back(Tensor grad, Scalar by) -> Tensor\n    acl_op: v2.1\n"
        "  - func: npu_back(Tensor grad, Scalar by, SymInt[] size) -> Tensor\n    acl_op: [v2.2, newest]\n"
    )
    assert [each for each in found(run) if each[1] == "npu_scale"] == []
    assert ("unknown-schema", "linalg_matrix_sqrth", 9) in found(run)
    settings = ("--config", 'version="v2.1"')
    assert [each for each in found(run, *settings) if each[1] == "npu_scale"] == []


def test_a_gradient_among_the_arguments_is_called_as_the_generator_calls_it(run: Run, backend: Path) -> None:
    (backend / "derivatives.yaml").write_text(
        "all_version: [v2.1]\nbackward:\n"
        "- name: npu_back(Tensor grad_out, Tensor self) -> Tensor\n  grad_out: grad * self\n  self: grad * grad_out\n"
    )
    (backend / "op_plugin_functions.yaml").write_text(
        "all_version: [v2.1]\ncustom:\n  - func: npu_back(Tensor grad, Tensor self) -> Tensor\n    acl_op: v2.1\n"
    )
    assert found(run) == []


def test_a_file_with_comments_only_holds_no_entries_yet(run: Run, backend: Path) -> None:
    (backend / "aclnn_derivatives.yaml").write_text("# for later\n")
    outcome = run("check", "aclnn_derivatives.yaml")
    assert (outcome.status, outcome.out) == (0, "no findings in 1 file (0 entries, 0 formulas)\n")


def test_further_files_are_found_in_folders(run: Run, backend: Path) -> None:
    (backend / "aclnn_derivatives.yaml").write_text(DERIVATIVES)
    names = {item["path"] for item in json.loads(run("check", ".", "--output-format", "json").out)["diagnostics"]}
    assert names == {"aclnn_derivatives.yaml", "derivatives.yaml"}
    # where nothing is named, the main one is meant
    assert found(run) == [("undefined-name", "npu_scale", 8)]


def test_entries_may_declare_their_operators(run: Run, here: Path) -> None:
    """Of a generator of its own, which takes schemas from the entries, and replaces composite operators."""
    (here / "derivatives.yaml").write_text(
        "- name: my_scale(Tensor self, Scalar by) -> Tensor\n"
        "  self: grad * by + slf\n  result: auto_linear\n  owner: me\n"
        "- name: softsign(Tensor input) -> Tensor\n  input: grad / (1 + input.abs()).pow(2) * my_other(grad)\n"
        "- name: mish_like(Tensor self) -> Tensor\n  self: grad * self * grad\n"
        "- name: silu(Tensor self) -> Tensor\n  self: 'infinitely_differentiable_silu_backward(grad, self)'\n"
        "- name: square(Tensor self) -> Tensor\n  self: 2 * grad * self.conj()\n"
    )
    (here / "derivlint.toml").write_text(
        'declares-operators = true\ncomposites = true\nignored-keys = ["owner"]\ntorch = "2.13.0"\n'
    )
    assert found(run) == [("undefined-name", "my_scale", 2), ("nonlinear-gradient", "mish_like", 8)]


def test_a_layout_of_ones_own(run: Run, backend: Path) -> None:
    """Any project can say what its files look like."""
    (backend / "derivlint.toml").write_text(
        'entries-key = "derivatives"\nignored-keys = ["owner"]\nnative-functions = ["native.yaml"]\ntorch = "2.13.0"\n'
    )
    (backend / "native.yaml").write_text("- func: mine(Tensor self) -> Tensor\n  dispatch:\n    CPU: mine\n")
    (backend / "derivatives.yaml").write_text(
        "about: our operators\nderivatives:\n- name: mine(Tensor self) -> Tensor\n  self: grad\n  owner: me\n"
    )
    assert found(run) == []


def test_the_model_of_a_version(run: Run, backend: Path) -> None:
    model = json.loads(run("model", "--config", 'version="v2.1"').out)
    assert [info["name"] for info in model["infos"]] == ["npu_scale", "inverse"]


def test_operators_of_another_repository_are_listed_once(run: Run, backend: Path) -> None:
    """The preset knows those of torch_npu itself; others are named in the configuration."""
    (backend / "derivatives.yaml").write_text(
        "all_version: [v2.1]\nbackward:\n"
        "- name: _npu_format_cast(Tensor self, int acl_format) -> Tensor\n  self: grad\n  version: all_version\n"
        "- name: far_off.one(Tensor self) -> Tensor\n  self: grad + slf\n  version: all_version\n"
    )
    assert found(run) == [("unknown-schema", "far_off.one", 6)]
    (backend / "derivlint.toml").write_text('preset = "torch_npu"\noperators-elsewhere = ["far_*"]\n')
    assert found(run) == [("undefined-name", "far_off.one", 7)]
    # without a preset the file shows what it is
    (backend / "derivlint.toml").write_text('operators-elsewhere = ["far_*"]\n')
    assert found(run) == [("undefined-name", "far_off.one", 7)]


def test_native_functions_may_be_patterns(run: Run, here: Path) -> None:
    """The operators of sister repositories."""
    for name in ("one", "two"):
        folder = here / "sisters" / name
        folder.mkdir(parents=True)
        (folder / f"{name}_functions.yaml").write_text(
            f"- func: of_{name}(Tensor self) -> Tensor\n  dispatch:\n    CPU: of_{name}\n"
        )
    (here / "derivatives.yaml").write_text(
        "- name: of_one(Tensor self) -> Tensor\n  self: grad\n- name: of_two(Tensor self) -> Tensor\n  self: grad\n"
    )
    assert found(run) == [("unknown-schema", "of_one", 1), ("unknown-schema", "of_two", 3)]
    (here / "derivlint.toml").write_text('native-functions = ["sisters/*/*_functions.yaml"]\n')
    assert found(run) == []
    (here / "derivlint.toml").write_text('native-functions = ["brothers/*/*.yaml"]\n')
    outcome = run("check")
    assert outcome.status == 2
    assert outcome.err == f'derivlint: no file matches "{here / "brothers/*/*.yaml"}"\n'


DIALECT = """\
- name: addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
  tensor1: handle_r_to_c(tensor1.scalar_type(), grad * (value / tensor2).conj())
  tensor2: handle_r_to_c(tensor2.scalar_type(), -grad * (value * tensor1 / (tensor2 * tensor2)).conj());
- name: selu_like(Tensor input) -> Tensor
  input: selu_like_backward(grad, my_scale(input))
  view_autograd: contiguous
- name: absolute(Tensor self) -> Tensor
  self: grad * self.sgn(1, 2)
"""


def test_a_generator_of_ones_own_is_described_by_switches(run: Run, here: Path) -> None:
    """The preset of a fork is the same as its switches; each counts for itself."""
    (here / "derivatives.yaml").write_text(DIALECT)
    switches = {
        "declares-operators = true": ("unknown-schema", "selu_like", 4),
        "composites = true": ("derivative-of-composite", "absolute", 8),
        "trailing-semicolons = true": ("trailing-semicolon", "addcdiv", 3),
        "formulas-in-cpp = false": ("wrong-argument-count", "absolute", 8),
        'ignored-keys = ["view_autograd"]': ("unknown-key", "selu_like", 6),
    }
    (here / "derivlint.toml").write_text("foreach = false\n" + "\n".join(switches))
    assert found(run) == []
    for left_out, finding in switches.items():
        kept = [switch for switch in switches if switch != left_out]
        (here / "derivlint.toml").write_text("foreach = false\n" + "\n".join(kept))
        assert finding in found(run)
    (here / "derivlint.toml").write_text('preset = "candle"\n')
    assert found(run) == []


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
            "--force",
        ).out
        assert "3 operators" in out
        kernels = (backend / "cpp" / "kernels_0.cpp").read_text()
        assert 'TORCH_LIBRARY_IMPL(npu, AutogradPrivateUse1, m) {\n  m.impl("npu_scale"' in kernels
        assert 'TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {\n  m.impl("inverse' in kernels
        out = run("emit", "python", "derivatives.yaml", *release, "--register", "--out", "own.py").out
        assert out.startswith("1 operator")
        assert 'F.define("npu::npu_scale", "(Tensor self, Scalar by) -> Tensor")' in (backend / "own.py").read_text()


def test_calls_of_a_projects_own_operators_are_typed(run: Run, backend: Path) -> None:
    text = DERIVATIVES.replace("grad * byy", "npu_scale(grad)").replace(
        "self: grad * by\n", "self: npu_scale(self, grad)\n"
    )
    (backend / "derivatives.yaml").write_text(text)
    rules = [("wrong-argument-type", "npu_scale", 4), ("wrong-argument-count", "npu_scale", 8)]
    assert [each for each in found(run) if each[0].startswith("wrong-argument")] == rules


def test_a_copy_for_a_generator_of_its_own_is_known_by_its_keys(run: Run, here: Path) -> None:
    """A key that only that generator knows; the next edit is judged in the same way."""
    file = here / "derivatives.yaml"
    text = (
        "- name: softsign(Tensor input) -> Tensor\n  input: grad / my_other(input);\n"
        "- name: abs(Tensor self) -> Tensor\n  self: grad * self.sgn()\n  view_autograd: true\n"
    )
    for line in ("", "- name: neg(Tensor self) -> Tensor\n  self: gard.neg()\n", "# no entry\n"):
        file.write_text(text + line)
        assert found(run) == ([("undefined-name", "neg", 7)] if "gard" in line else [])
    file.write_text(text.replace("  view_autograd: true\n", ""))
    assert found(run) == [("unknown-schema", "softsign", 1), ("trailing-semicolon", "softsign", 2)]


def test_what_a_configuration_says_is_asked_first(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text("- name: abs(Tensor self) -> Tensor\n  self: grad;\n  view_autograd: true\n")
    (here / "derivlint.toml").write_text("composites = true\n")
    assert [rule for rule, _, _ in found(run)] == ["trailing-semicolon", "unknown-key"]
