"""Kernels for one autograd key: on PyTorch's own nodes, without anything else, and on a device of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from derivlint.cli.main import cli
from tests.emit.compiling import run_script
from tests.running import runner

DEVICE = Path(__file__).with_name("toy_device.cpp")
KEY = "AutogradPrivateUse1"
#: Of a gradient that ends in an operator of PyTorch without a derivative.
AGAIN = (
    "derivlint: {file}:2: the gradient cannot be differentiated again: "
    '"matmul_backward" has no derivative (matmul: self, other) [not-twice-differentiable]'
)
#: The entries of matmul and mul are those of PyTorch, those of tanh and sigmoid are not; relu has one for another key.
DERIVATIVES = """\
- name: matmul(Tensor self, Tensor other) -> Tensor
  self, other: matmul_backward(grad, self, other, grad_input_mask)

- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
  result: other_t * self_p + self_t * other_p

- name: tanh(Tensor self) -> Tensor
  self: grad * (1 - result * result).conj()
  result: auto_element_wise

- name: sigmoid(Tensor self) -> Tensor
  dispatch:
    Default:
      self: sigmoid_backward(grad, result)
    AutogradPrivateUse1:
      self: grad * ((1 - result) * result).conj()

- name: relu(Tensor self) -> Tensor
  dispatch:
    AutogradXLA:
      self: threshold_backward(grad, result, 0)
"""
#: The distance from 1 to the next float.
FLOAT_EPSILON = 2**-23
STEP = """\
import json
import sys
import types
import torch
from derivlint.runtime import load

torch.utils.rename_privateuse1_backend("toy")
toy = types.ModuleType("toy")
toy._lazy_init = lambda: None
toy._is_in_bad_fork = lambda: False
toy.manual_seed_all = lambda seed: None
torch._register_device_module("toy", toy)
extension = load(sys.argv[1], build_folder=sys.argv[2])


def step(device):
    torch.manual_seed(0)
    inputs, target = torch.randn(5, 3).to(device), torch.randn(5, 2).to(device)
    first, second, scale = (torch.randn(size).to(device).requires_grad_() for size in ((3, 4), (4, 2), (2,)))
    weights = [first, second, scale]
    hidden = torch.tanh(torch.matmul(inputs, first))
    found = torch.sigmoid(torch.matmul(hidden, second)) * scale
    loss = ((found - target) ** 2).mean()
    loss.backward()
    nodes = [each.grad_fn for each in (hidden, found)]
    nodes.append(nodes[0].next_functions[0][0])
    nodes.append(nodes[1].next_functions[0][0])
    with torch.no_grad():
        for each in weights:
            each -= 0.1 * each.grad
    numbers = [loss.item(), *(number for each in weights for number in each.detach().cpu().flatten().tolist())]
    stock = [type(node) is getattr(torch._C._functions, node.name(), None) for node in nodes]
    names = [f"{'stock' if is_stock else 'own'} {node.name()}" for node, is_stock in zip(nodes, stock)]
    return numbers, names


print(json.dumps([step("toy:0"), step("cpu")]))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "derivatives.yaml"
    path.write_text(DERIVATIVES, encoding="utf-8")
    return path


def emit(file: Path, *more: str) -> tuple[str, int]:
    """What the command says, and its exit status."""
    done = runner().invoke(cli, ["emit", "cpp", str(file), "--torch", "installed", "--isolated", *more])
    return done.stdout + done.stderr, done.exit_code


@pytest.mark.torch
def test_there_are_only_kernels_and_nodes_that_pytorch_lacks(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said, status = emit(file, "--key", KEY, "--out", str(out))
    assert (sorted(said.splitlines()), status) == (
        [
            f'19 operators and 3 nodes, 2 omitted: 8 of 8 files written to "{out}"',
            AGAIN.format(file=file),
            "derivlint: relu is omitted: the formulas are for AutogradXLA only",
            "derivlint: relu_ is omitted: the formulas are for AutogradXLA only",
        ],
        0,
    )
    assert sorted(path.name for path in out.iterdir()) == [
        "CMakeLists.txt",
        "derivlint.json",
        "derivlint.map.json",
        "kernels_0.cpp",
        "loader.cpp",
        "nodes.h",
        "nodes_0.cpp",
        "python_nodes_0.cpp",
    ]
    text = (out / "kernels_0.cpp").read_text(encoding="utf-8")
    assert "#include <torch/csrc/autograd/generated/Functions.h>\n" in text
    assert text[text.index("namespace nodes {") :].startswith(
        "namespace nodes {\n"
        "using ::torch::autograd::generated::ForeachMulBackward0List;\n"
        "using ::torch::autograd::generated::ForeachMulBackward0Tensor;\n"
        "using ::torch::autograd::generated::ForeachSigmoidBackward0;\n"
        "using ::derivlint_generated::ForeachTanhBackward0;\n"
        "using ::torch::autograd::generated::MatmulBackward0;\n"
        "using ::torch::autograd::generated::MulBackward0;\n"
        "using ::torch::autograd::generated::SigmoidBackward0;\n"
        "using ::derivlint_generated::SigmoidBackwardAutogradPrivateUse10;\n"
        "using ::derivlint_generated::TanhBackward0;\n"
        "}\n"
    )
    assert text[text.index("TORCH_LIBRARY_IMPL") :] == (
        "TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {\n"
        '  m.impl("_foreach_mul.List", TORCH_FN(_foreach_mul_List_kernel));\n'
        '  m.impl("_foreach_mul.Tensor", TORCH_FN(_foreach_mul_Tensor_kernel));\n'
        '  m.impl("_foreach_mul_.List", TORCH_FN(_foreach_mul__List_kernel));\n'
        '  m.impl("_foreach_mul_.Tensor", TORCH_FN(_foreach_mul__Tensor_kernel));\n'
        '  m.impl("_foreach_sigmoid", TORCH_FN(_foreach_sigmoid_kernel));\n'
        '  m.impl("_foreach_sigmoid_", TORCH_FN(_foreach_sigmoid__kernel));\n'
        '  m.impl("_foreach_tanh", TORCH_FN(_foreach_tanh_kernel));\n'
        '  m.impl("_foreach_tanh_", TORCH_FN(_foreach_tanh__kernel));\n'
        '  m.impl("matmul", TORCH_FN(matmul_kernel));\n'
        '  m.impl("matmul.out", TORCH_FN(matmul_out_out_kernel));\n'
        '  m.impl("mul.Tensor", TORCH_FN(mul_Tensor_kernel));\n'
        '  m.impl("mul.out", TORCH_FN(mul_out_out_kernel));\n'
        '  m.impl("mul_.Tensor", TORCH_FN(mul__Tensor_kernel));\n'
        '  m.impl("sigmoid", TORCH_FN(sigmoid_AutogradPrivateUse1_kernel));\n'
        '  m.impl("sigmoid.out", TORCH_FN(sigmoid_out_out_AutogradPrivateUse1_kernel));\n'
        '  m.impl("sigmoid_", TORCH_FN(sigmoid__AutogradPrivateUse1_kernel));\n'
        '  m.impl("tanh", TORCH_FN(tanh_kernel));\n'
        '  m.impl("tanh.out", TORCH_FN(tanh_out_out_kernel));\n'
        '  m.impl("tanh_", TORCH_FN(tanh__kernel));\n'
        "}\n\n"
        "} // namespace derivlint_generated_kernels\n"
        "} // namespace torch::autograd\n"
    )


@pytest.mark.torch
def test_on_pytorchs_nodes_alone(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said, status = emit(file, "--key", "AutogradMPS", "--ops", "matmul,mul.Tensor", "--out", str(out))
    written = f'3 operators and 0 nodes: 6 of 6 files written to "{out}"'
    assert (said.splitlines(), status) == ([written, AGAIN.format(file=file)], 0)
    manifest = json.loads((out / "derivlint.json").read_text(encoding="utf-8"))
    assert manifest["operators"] == {"matmul": "MatmulBackward0", "matmul.out": None, "mul.Tensor": "MulBackward0"}
    assert manifest["files"] == ["CMakeLists.txt", "derivlint.map.json", "kernels_0.cpp", "loader.cpp", "nodes.h"]
    assert "TORCH_LIBRARY_IMPL(aten, AutogradMPS, m) {" in (out / "kernels_0.cpp").read_text(encoding="utf-8")


def test_without_the_release_installed_all_nodes_are_ours(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["emit", "cpp", str(file), "--torch", "2.9", "--isolated", "--key", KEY, "--ops", "matmul"]
    done = runner().invoke(cli, [*arguments, "--out", str(out)])
    assert done.stdout == f'2 operators and 1 node: 8 of 8 files written to "{out}"\n'
    text = (out / "kernels_0.cpp").read_text(encoding="utf-8")
    assert "namespace nodes = ::derivlint_generated;\n" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--key", "AutogradXLE"], '"AutogradXLE" is not an autograd key; did you mean "AutogradXLA"?'),
        (["--key", "PrivateUse1"], '"PrivateUse1" is not an autograd key; did you mean "AutogradPrivateUse1"?'),
        (["--key", "CompositeExplicit"], '"CompositeExplicit" is not an autograd key'),
        (["--key", KEY, "--mode", "in-tree"], "--key needs --mode extension"),
        (
            ["--sources", str(DEVICE), "--mode", "in-tree"],
            "--sources needs --mode extension",
        ),
        (["--key", KEY, "--ops", "relu"], "relu, relu_ cannot be emitted: the formulas are for AutogradXLA only"),
        (["--key", KEY, "--ops", "cos"], 'no code for "cos": no entry applies to this operator'),
    ],
)
def test_what_is_refused(file: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = runner().invoke(cli, ["emit", "cpp", str(file), "--isolated", *arguments, "--out", str(tmp_path / "out")])
    assert done.stderr.splitlines()[0] == f"derivlint: {said}"
    assert done.exit_code == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.full
@pytest.mark.torch
@pytest.mark.skipif(sys.platform != "linux", reason="hidden helpers are reached on Linux only")
def test_a_device_of_its_own_is_trained_through_the_kernels(
    file: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """One step gives the numbers of the CPU, through nodes that only these kernels create."""
    said, status = emit(file, "--key", KEY, "--sources", str(DEVICE), "--out", str(tmp_path / "out"))
    assert status == 0, said
    build = pytestconfig.cache.mkdir("toy_device") if pytestconfig.cache is not None else tmp_path / "build"
    (numbers, nodes), (expected, nodes_of_cpu) = run_script(STEP, tmp_path / "out", build)
    assert nodes == [
        "own TanhBackward0",
        "stock MulBackward0",
        "stock MatmulBackward0",
        "own SigmoidBackwardAutogradPrivateUse10",
    ]
    assert nodes_of_cpu == [
        "stock TanhBackward0",
        "stock MulBackward0",
        "stock MmBackward0",
        "stock SigmoidBackward0",
    ]
    # the backward of matmul multiplies other matrices than that of mm, and some processors round those differently
    assert numbers == pytest.approx(expected, rel=4 * FLOAT_EPSILON)
