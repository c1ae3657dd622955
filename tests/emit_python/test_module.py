"""The generated module: what is in it, what is left out, and its form."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from derivlint.emit.python.calls import helper_names
from derivlint.emit.python.module import PythonModule, python_module
from derivlint.emit.python.signature import CALLED_BUILTINS
from derivlint.model import Model

ADD = '''\
class AddScalar(torch.autograd.Function):
    """add.Scalar (derivatives.yaml:234)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(self: Tensor, other: Number, alpha: Number) -> Tensor:
        with F.below_autograd():
            return aten.add.Scalar(self, other, alpha)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        self, _, _ = inputs
        ctx.set_materialize_grads(False)
        ctx.self_scalar_type = self.dtype

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        self_scalar_type = ctx.self_scalar_type
        grad = grad_outputs[0]
        grad_self = None
        if grad is not None and ctx.needs_input_grad[0]:
            grad_self = F.handle_r_to_c(self_scalar_type, grad)
        return grad_self, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        self_t, _, _ = tangents
        result_t = None
        if self_t is not None:
            result_t = self_t.clone()
        return result_t


def add_Scalar(self: Tensor, other: Number, alpha: Number = 1) -> Tensor:
    """add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"""
    return AddScalar.apply(self, other, alpha)
'''

#: Operators whose functions are kept in files.
GOLDEN = (
    "cat", "max.dim", "clamp.Tensor", "fill_.Tensor", "transpose.int", "addmm", "split.Tensor", "native_layer_norm",
)  # fmt: skip


def text_of(module: PythonModule, operator: str) -> str:
    """The source of one operator."""
    return next(item.text for item in module.functions if item.operator == operator)


def test_a_function_is_readable(real_module: PythonModule) -> None:
    """A whole entry, word for word."""
    assert text_of(real_module, "add.Scalar") == ADD.rstrip("\n")


def test_enough_entries_become_functions(real_module: PythonModule) -> None:
    """Of the 579 entries with a formula that can be evaluated, at most these few are left out, each with a reason."""
    assert len(real_module.functions) + len(real_module.left_out) == 579
    assert len(real_module.functions) >= 563
    assert all(real_module.left_out.values())


def test_what_is_kept_in_place(real_module: PythonModule) -> None:
    """An operator that writes to its argument marks it."""
    text = text_of(real_module, "fill_.Tensor")
    assert "ctx.mark_dirty(self)" in text
    assert "generate_vmap_rule" not in text


def test_undifferentiable_outputs_are_marked(real_module: PythonModule) -> None:
    """Outputs that the entry declares undifferentiable are marked, and have no tangent."""
    text = text_of(real_module, "max.dim")
    assert "ctx.mark_non_differentiable(indices)" in text
    assert "return values_t, None" in text


def test_gradients_do_not_hide_arguments(real_module: PythonModule) -> None:
    """The gradient of "output" has another name than the argument "grad_output"."""
    text = text_of(real_module, "tanh_backward")
    assert "grad_of_output = grad.conj() * (-2 * output.conj() * grad_output)" in text


def test_lists_of_tensors_come_last(real_module: PythonModule) -> None:
    """A Function sees only tensors that are arguments of their own."""
    text = text_of(real_module, "cat")
    assert "def forward(dim: int, *tensors: Tensor) -> Tensor:" in text
    assert "return Cat.apply(dim, *tensors)" in text


#: The position and the reason of a gradient that raises.
REFUSALS = {
    # a formula that says so
    "igamma": (0, "igamma: input"),
    "special_zeta": (0, "zeta"),
    # no formula
    "native_batch_norm": (3, "native_batch_norm: running_mean"),
    "soft_margin_loss": (1, "soft_margin_loss: target"),
}


@pytest.mark.parametrize("operator", REFUSALS)
def test_a_missing_gradient_raises(operator: str, real_module: PythonModule) -> None:
    """It is None only where the file declares the argument constant."""
    position, reason = REFUSALS[operator]
    statement = f'if F.computes(ctx, {position}):\n            F.not_implemented("{reason}")\n'
    assert statement in text_of(real_module, operator)
    assert "not_implemented" not in text_of(real_module, "gather")


def test_only_gradients_that_are_needed_are_returned(real_module: PythonModule) -> None:
    """A formula of several arguments may compute more than its mask asks for."""
    text = text_of(real_module, "mkldnn_convolution")
    assert "F.needed(grad_input_mask, grad_self, grad_weight, grad_bias)" in text


def test_the_module_is_the_same_every_time(real_model: Model, real_module: PythonModule) -> None:
    """Two emissions are equal, and what is not chosen is not there."""
    assert python_module(real_model).text == real_module.text
    chosen = python_module(real_model, ("sigmoid",))
    assert [item.operator for item in chosen.functions] == ["sigmoid"]
    assert text_of(chosen, "sigmoid") == text_of(real_module, "sigmoid")


def test_the_module_is_python(real_module: PythonModule) -> None:
    """It compiles, every name is there once, and only helpers that exist are called."""
    tree = ast.parse(real_module.text)
    names = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    assert len(names) == len(set(names)) == 2 * len(real_module.functions)
    called = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "F"
    }
    assert called <= helper_names()


@pytest.mark.parametrize("operator", GOLDEN)
def test_functions_word_for_word(operator: str, real_module: PythonModule) -> None:
    """Lists, several outputs, in place, views, masks and undifferentiable outputs."""
    golden = (Path(__file__).parent / "golden" / f"{operator}.txt").read_text(encoding="utf-8")
    assert f"{text_of(real_module, operator)}\n" == golden


@pytest.mark.parametrize("command", [("check",), ("format", "--check", "--line-length", "120")])
def test_the_module_is_formatted_and_has_no_unused_names(command: tuple[str, ...], written: Path) -> None:
    """A linter and a formatter find nothing to do."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(written / "functions.py")],
        capture_output=True,
        text=True,
        check=False,
        # derivlint counts as first-party code in its own repository only
        cwd=written,
    )
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.full
def test_the_module_is_typed(real_model: Model, tmp_path: Path) -> None:
    """A type checker finds nothing in some functions of every form."""
    module = python_module(
        real_model, ("add", "cat", "max", "linalg_qr", "native_layer_norm", "fill_", "unbind", "lerp")
    )
    file = tmp_path / "typed_functions.py"
    file.write_text(module.text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.startswith("Success"), done.stdout


def test_no_name_hides_what_the_code_calls(real_module: PythonModule) -> None:
    """A function for "complex" does not take the name that is built in."""
    assert {item.function_name for item in real_module.functions} & CALLED_BUILTINS == set()
    assert next(item.function_name for item in real_module.functions if item.operator == "complex") == "complex_"
