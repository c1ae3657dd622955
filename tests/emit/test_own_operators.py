"""Operators that are not PyTorch's: nodes and kernels for their namespace, built and loaded."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from derivlint.cli.main import cli
from derivlint.schema import available_versions
from tests import further_operators as further
from tests import once_operators as once
from tests.own_operators import DERIVATIVES, FUNCTIONS, emit, run_checks
from tests.running import runner

#: What the C++ calls is C++: no helper of the author's Python.
FORMULAS = DERIVATIVES.replace("scaled_by(grad, by)", "grad * by")
#: The operators by their names, once the extension is loaded.
GENERATED = """\
import sys
import torch
from derivlint.runtime import load

for line in open("ops.yaml"):
    name, _, rest = line.removeprefix("- func: NAMESPACE::").strip().partition("(")
    torch.library.define(f"NAMESPACE::{name}", f"({rest}")
load("cpp", build_folder=BUILD)
sys.modules[__name__] = torch.ops.NAMESPACE
"""


#: Lists, options, strings, words, sizes and types as arguments, several outputs, views, formulas for lists; gradients
#: that are operators without an entry: right once, also undefined ones, while a second derivative raises. Other kinds
#: are in the example of test_custom_ops_cpp.
KINDS = {
    "kept": (further, "25 operators and 23 nodes, 2 omitted: ", "89 passed"),
    "once": (once, "11 operators and 7 nodes: ", once.PASSED),
}


@pytest.mark.torch
@pytest.mark.skipif(sys.platform != "linux", reason="hidden helpers are reached on Linux only")
@pytest.mark.full
@pytest.mark.parametrize("namespace", KINDS)
def test_operators_are_differentiable(tmp_path: Path, pytestconfig: pytest.Config, namespace: str) -> None:
    """First and second order, tangents, opcheck, torch.func and torch.compile."""
    operators, written, passed = KINDS[namespace]
    (tmp_path / "formulas.h").write_text(further.HEADER, encoding="utf-8")
    more = ("--headers", str(tmp_path / "formulas.h")) if operators is further else ()
    said = emit("cpp", tmp_path, "cpp", *more, functions=operators.FUNCTIONS, derivatives=operators.DERIVATIVES)
    assert written in said
    build = pytestconfig.cache.mkdir(f"{namespace}_operators") if pytestconfig.cache is not None else tmp_path / "build"
    lines = (tmp_path / "ops.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "ops.yaml").write_text("".join(line for line in lines if "Dimname" not in line), encoding="utf-8")
    text = GENERATED.replace("BUILD", repr(str(build))).replace("NAMESPACE", namespace)
    (tmp_path / "generated.py").write_text(f"{text}torch.ops.{namespace}.IS_CPP = True\n", encoding="utf-8")
    (tmp_path / "kernels.py").write_text(operators.KERNELS, encoding="utf-8")
    run_checks(tmp_path, operators.CHECKS, passed)


def test_what_has_no_derivative_is_not_implemented(tmp_path: Path) -> None:
    """Kernels of operators without derivatives make backward an error, unless there is one elsewhere."""
    functions = (
        once.FUNCTIONS
        + "- func: once::mixed(Tensor x) -> Tensor\n  dispatch:\n    CompositeImplicitAutograd: mixed\n"
        + "- func: once::own(Tensor x) -> Tensor\n  dispatch:\n    CPU: own\n    Autograd: own_autograd\n"
        + "- func: once::odd(Tensor x) -> Tensor\n- func: once::unused(Tensor x) -> Tensor\n"
    )
    derivatives = f"{once.DERIVATIVES}\n- name: odd(Tensor x) -> Tensor\n  x: own(grad) + mixed(grad) + cubed(grad)\n"
    emit("cpp", tmp_path, "cpp", "--ops", "product,odd", functions=functions, derivatives=derivatives)
    text = (tmp_path / "cpp" / "kernels_0.cpp").read_text(encoding="utf-8")
    refused = [line.split('"')[1] for line in text.splitlines() if "autogradNotImplementedFallback()" in line]
    assert refused == ["cubed_backward", "product_backward", "rmsnorm_backward", "total_backward"]


def test_undefined_gradients_do_not_reach_formulas(tmp_path: Path) -> None:
    """Those of operators of one's own, for one argument, a list or several arguments."""
    said = emit("cpp", tmp_path, "cpp", functions=once.FUNCTIONS, derivatives=once.DERIVATIVES)
    assert said.count("[not-twice-differentiable]\n") == 4
    text = (tmp_path / "cpp" / "nodes_0.cpp").read_text(encoding="utf-8")
    assert text.count("const bool any_grad_defined = any_variable_defined(grads);") == 6
    assert text.count("if (any_grad_defined && (needs_input_grad[0] || needs_input_grad[1])) {") == 2
    assert text.count("if (any_grad_defined && needs_input_grad[0]) { // parts") == 1
    assert text.count("auto grad_result = any_grad_defined ? (") == 3


@pytest.mark.torch
@pytest.mark.full
def test_further_kinds_of_operators_are_differentiable_in_python(tmp_path: Path) -> None:
    """Lists, options, strings, words, sizes and types as arguments, several outputs, formulas for lists."""
    (tmp_path / "my_helpers.py").write_text(further.HELPERS, encoding="utf-8")
    (tmp_path / "kernels.py").write_text(further.KERNELS, encoding="utf-8")
    given = {"functions": further.FUNCTIONS, "derivatives": further.DERIVATIVES}
    said = emit("python", tmp_path, "generated.py", "--register", "--helpers", str(tmp_path / "my_helpers.py"), **given)
    assert "22 operators, 3 omitted" in said
    for reason in (
        'swap_ is omitted: it writes to "self" and "other", and has no gradient but as an operator in place',
        "diag_view is omitted: it returns a view of an argument: return a copy, or call an operator of PyTorch",
        'named_sum is omitted: no library can define it: only PyTorch\'s own operators have the type "Dimname"',
    ):
        assert f"derivlint: {reason}" in said
    with (tmp_path / "generated.py").open("a", encoding="utf-8") as file:
        file.write("\nIS_CPP = False\n")
    run_checks(tmp_path, further.CHECKS, "88 passed")


def test_a_build_of_pytorch_has_no_operators_of_ones_own(tmp_path: Path) -> None:
    said = emit("cpp", tmp_path, "cpp", "--mode", "in-tree", "--ops", "scaled", derivatives=FORMULAS)
    assert said == (
        'derivlint: no C++ is emitted for "ops::scaled": a build of PyTorch has operators of the namespace "aten" '
        "only; leave them out with --ops\n"
    )
    assert not (tmp_path / "cpp").exists()


def test_the_operators_are_called_through_the_dispatcher(tmp_path: Path) -> None:
    emit("cpp", tmp_path, "cpp", "--ops", "softplus2_twice,scaled", derivatives=FORMULAS)
    header = (tmp_path / "cpp" / "operators.h").read_text(encoding="utf-8")
    assert '.findSchemaOrThrow("ops::softplus2", "")\n      .typed<at::Tensor(const at::Tensor &)>();' in header
    assert "inline at::Tensor scaled(const at::Tensor & x, const at::Scalar & by = 2) {" in header
    kernels = (tmp_path / "cpp" / "kernels_0.cpp").read_text(encoding="utf-8")
    assert "TORCH_LIBRARY_IMPL(ops, Autograd, m) {" in kernels
    assert " ops::redispatch_softplus2_twice(ks & c10::after_autograd_keyset, x)" in kernels


MORE_FUNCTIONS = """\
- func: ops::root(Tensor x, float eps=0.5) -> Tensor
- func: ops::root_backward(Tensor grad_output, Tensor x, float eps) -> Tensor
- func: ops::powered(Tensor x, str mode="sq'u'are", ScalarType? dtype=float, MemoryFormat? form=None) -> Tensor
- func: ops::swap_(Tensor(a!) self, Tensor(b!) other) -> (Tensor(a!), Tensor(b!))
- func: ops::named(Dimname name, Tensor x) -> Tensor
- func: ops::spread(Tensor x, float[] by, Device where) -> Tensor
"""


def test_operators_of_ones_own_are_for_the_newest_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no option says for which one, whatever is installed; also in the folder of the file, without naming it."""
    (tmp_path / "ops.yaml").write_text("- func: ops::root(Tensor x) -> Tensor\n", encoding="utf-8")
    (tmp_path / "derivatives.yaml").write_text(
        "- name: root(Tensor x) -> Tensor\n  x: grad / (2 * result)\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    version = available_versions()[-1]
    assert runner().invoke(cli, ["emit", "cpp", "--out", "cpp"]).exit_code == 0
    assert json.loads((tmp_path / "cpp" / "derivlint.json").read_text(encoding="utf-8"))["torch"] == version
    assert runner().invoke(cli, ["emit", "python", "--register", "--out", "ops.py"]).exit_code == 0
    assert f"for PyTorch {version}.\n" in (tmp_path / "ops.py").read_text(encoding="utf-8")


def test_headers_beside_the_file_need_no_option(tmp_path: Path) -> None:
    """One that declares what formulas call, and that no operator and no header of PyTorch's declares."""
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "formulas.h").write_text("at::Tensor root_of(const at::Tensor& grad);\n", encoding="utf-8")
    (tmp_path / "other.h").write_text("at::Tensor sin(int x);\nint halves();\n# no C++ {\n", encoding="utf-8")
    entry = "- name: root(Tensor x, float eps=0.5) -> Tensor\n  x: root_of(grad) * x.sin()\n"
    given = {"functions": FUNCTIONS + MORE_FUNCTIONS, "derivatives": entry}
    said = emit("cpp", tmp_path, "cpp", **given)
    shown = os.path.relpath(tmp_path / "csrc" / "formulas.h")
    assert f'derivlint: reading called functions from "{shown}"\n' in said
    header = (tmp_path / "cpp" / "nodes.h").read_text(encoding="utf-8")
    assert "formulas.h" in header
    assert "other.h" not in header
    (tmp_path / "my.h").write_text("\n", encoding="utf-8")
    said = emit("cpp", tmp_path, "named", "--headers", str(tmp_path / "my.h"), **given)
    assert 'no function "root_of" is declared' in said


@pytest.mark.parametrize(
    ("formula", "place", "message"),
    [
        ("root_backward(grad, x)", 6, '"root_backward" takes 3 arguments, but 2 are given'),
        ("ops::root_backward(grad, eps, x)", 31, 'argument 2 ("x") of "root_backward" is of type "double"'),
        ("ops::halves(grad)", 6, 'the formula is of type "vector<Tensor>", expected "Tensor"'),
        ("ops::rot_backward(grad, x, eps)", 11, '"ops" has no member "rot_backward"'),
        ("rot_backward(grad, x, eps)", 6, 'no function "rot_backward" is declared'),
        ("at::root_backward(grad, x, eps)", 10, '"at" has no member "root_backward"'),
        ("::ops::root_backward(grad, x, eps)", 8, 'there is no namespace "ops"'),
        ("unheard_of(grad, x, eps)", 6, 'no function "unheard_of" is declared'),
    ],
)
def test_what_does_not_compile_is_an_error_at_its_place(tmp_path: Path, formula: str, place: int, message: str) -> None:
    """Formulas call operators with the types of their schemas, and nothing that no header declares."""
    entry = f"- name: root(Tensor x, float eps=0.5) -> Tensor\n  x: {formula}\n"
    said = emit("cpp", tmp_path, "cpp", functions=FUNCTIONS + MORE_FUNCTIONS, derivatives=entry)
    assert f"derivatives.yaml:2:{place}: error: {message}" in said
    assert "nothing is written: 1 error;" in said


@pytest.mark.parametrize(
    ("formula", "fixed"),
    [
        ("ops::rot_backward(grad, x, eps)", "ops::root_backward(grad, x, eps)"),
        ("at::root_backward(grad, x, eps)", "root_backward(grad, x, eps)"),
        ("::ops::root_backward(grad, x, eps)", "ops::root_backward(grad, x, eps)"),
    ],
)
def test_calls_of_operators_are_corrected(tmp_path: Path, formula: str, fixed: str) -> None:
    (tmp_path / "ops.yaml").write_text(FUNCTIONS + MORE_FUNCTIONS, encoding="utf-8")
    (tmp_path / "ops.h").write_text("void nothing();\n", encoding="utf-8")
    entry = "- name: root(Tensor x, float eps=0.5) -> Tensor\n  x: {}\n"
    file = tmp_path / "derivatives.yaml"
    file.write_text(entry.format(formula), encoding="utf-8")
    options = ["--native-functions", str(tmp_path / "ops.yaml"), "--headers", str(tmp_path / "ops.h")]
    done = runner().invoke(cli, ["check", "--fix", "--unsafe-fixes", *options, str(file)])
    assert done.exit_code == 0, done.output
    assert file.read_text(encoding="utf-8") == entry.format(fixed)


def test_functions_for_operators_have_the_defaults_of_schemas(tmp_path: Path) -> None:
    """Only those that are called are there; what is written to in two places has no gradient."""
    entries = """\
- name: powered(Tensor x, str mode="sq'u'are", ScalarType? dtype=float, MemoryFormat? form=None) -> Tensor
  x: grad * x

- name: swap_(Tensor(a!) self, Tensor(b!) other) -> (Tensor(a!), Tensor(b!))
  self: grad
  other: grad

- name: named(Dimname name, Tensor x) -> Tensor
  x: grad

- name: spread(Tensor x, float[] by, Device where) -> Tensor
  x: grad * by[0]
"""
    said = emit("cpp", tmp_path, "cpp", functions=FUNCTIONS + MORE_FUNCTIONS, derivatives=entries)
    assert (
        'derivlint: swap_ is omitted: it writes to "self" and "other", and has no gradient but as an operator in '
        'place, which writes to "self" alone\n'
    ) in said
    assert (
        'named is omitted: no library can define it: only PyTorch\'s own operators have the type "Dimname"\n'
    ) in said
    assert 'spread is omitted: its gradient needs "by", and a node cannot keep a value of type "float[]"\n' in said
    header = (tmp_path / "cpp" / "operators.h").read_text(encoding="utf-8")
    assert (
        "inline at::Tensor powered(const at::Tensor & x, c10::string_view mode = \"sq'u'are\", "
        "::std::optional<at::ScalarType> dtype = at::kFloat, ::std::optional<at::MemoryFormat> form = {}) {"
    ) in header
    assert "Dimname" not in header
    assert "halves" not in header


def test_operators_that_formulas_call_are_emitted_with_them(tmp_path: Path) -> None:
    """Second derivatives need their kernels, whether they are chosen or not, and those that these call."""
    functions = "".join(f"- func: chain::{name}(Tensor x) -> Tensor\n" for name in ("first", "second", "third", "last"))
    derivatives = """\
- name: first(Tensor x) -> Tensor
  x: second(grad)
- name: second(Tensor x) -> Tensor
  x: chain::third(grad)
- name: third(Tensor x) -> Tensor
  x: grad
- name: last(Tensor x) -> Tensor
  x: grad
"""
    said = emit("cpp", tmp_path, "cpp", "--ops", "first", functions=functions, derivatives=derivatives)
    assert "3 operators and 3 nodes: " in said
    manifest = json.loads((tmp_path / "cpp" / "derivlint.json").read_text(encoding="utf-8"))
    assert list(manifest["operators"]) == ["first", "second", "third"]
