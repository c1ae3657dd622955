"""Formulas that are wrong in one regime only: no sample has it, and each is found."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.running import runner
from tests.sampling import sample

pytestmark = pytest.mark.torch


class Regime(NamedTuple):
    """A formula before and after a change that matters in one regime, and how it is found.

    Attributes:
        schema: the operator.
        key: the key of the formula.
        right: the formula.
        wrong: what is wrong in the regime only.
        rule: a rule that finds it.
        more: a further line of the entry.
    """

    schema: str
    key: str
    right: str
    wrong: str
    rule: str = "wrong-vjp"
    more: str = ""


LAYER_NORM = (
    "grad.defined() ? native_layer_norm_backward(GRAD, input, normalized_shape, result1, result2, weight, bias,"
    " grad_input_mask) : std::tuple<Tensor, Tensor, Tensor>()"
)
PAIR = "(Tensor self, Tensor other) -> Tensor"
REGIMES = {
    "NaN operands": Regime(
        f"fmax{PAIR}",
        "self",
        "grad.masked_fill((self >= other).logical_or_(other.isnan()).logical_not_(), 0)",
        "grad.masked_fill((self >= other).logical_not_(), 0)",
    ),
    "integer second operands": Regime(
        f"mul.Tensor{PAIR}", "self", "grad * other", "other.is_floating_point() ? grad * other : grad"
    ),
    "ties": Regime(
        f"maximum{PAIR}",
        "self",
        "at::where(self == other, grad / 2, grad).masked_fill_(self < other, 0)",
        "grad.masked_fill(self < other, 0)",
        "different-convention",
    ),
    "the bound itself": Regime(
        "relu(Tensor self) -> Tensor", "self", "grad * (self > 0)", "grad * (self >= 0)", "different-convention"
    ),
    "the other side of a bound": Regime(
        "hardswish(Tensor self) -> Tensor",
        "self",
        "at::where(self < -3, zeros_like(grad), at::where(self > 3, grad, grad * (self / 3 + 0.5)))",
        "at::where(self < -3, grad, at::where(self > 3, grad, grad * (self / 3 + 0.5)))",
    ),
    "sizes that coincide": Regime(
        "neg(Tensor self) -> Tensor",
        "self",
        "grad.neg()",
        "self.dim() == 2 && self.size(0) == self.size(1) ? grad : grad.neg()",
    ),
    "gradients that are accumulated": Regime(
        f"add.Tensor{PAIR}".replace("other)", "other, *, Scalar alpha=1)"),
        "self",
        "grad",
        "grad.view_symint(grad.sym_sizes())",
        more="  other: maybe_multiply(grad.view_symint(grad.sym_sizes()), alpha)\n",
    ),
    "an index smaller than its source": Regime(
        "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
        "self",
        "at::zeros_like(self).scatter_add(dim, index, grad)",
        "at::zeros_like(grad).scatter_add(dim, index, grad)",
        "wrong-gradient-shape",
    ),
    "zeros at second order": Regime(
        "exp(Tensor self) -> Tensor",
        "self",
        "grad * result.conj()",
        "grad * at::where(self == 0, at::ones_like(self), result).conj()",
        "wrong-second-derivative",
    ),
    "optional arguments that are absent": Regime(
        "logit(Tensor self, float? eps=None) -> Tensor",
        "self",
        "at::logit_backward(grad, self, eps)",
        "eps.has_value() ? at::logit_backward(grad, self, eps) : grad",
    ),
    "flags in the other state": Regime(
        "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
        "self",
        "grad.flip(dim).cumsum(dim).flip(dim)",
        "dim == 0 ? grad.flip(dim).cumsum(dim).flip(dim) : grad",
    ),
    "as many matrices as rows, and a single one": Regime(
        f"sub.Tensor{PAIR}".replace("other)", "other, *, Scalar alpha=1)"),
        "self",
        "grad",
        "self.dim() == 2 && other.dim() == 3 && other.size(0) == self.size(1) ? grad.transpose(0, 1) : grad",
    ),
    "modules without weight": Regime(
        "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps)"
        " -> (Tensor, Tensor, Tensor)",
        "input, weight, bias",
        LAYER_NORM.replace("GRAD", "grad"),
        LAYER_NORM.replace("GRAD", "weight.defined() ? grad : grad * 2"),
        more="  output_differentiability: [True, False, False]\n",
    ),
    "flags": Regime(
        "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "self",
        "sum_backward(grad, self.sym_sizes(), dim, keepdim)",
        "keepdim ? sum_backward(grad, self.sym_sizes(), dim, keepdim) * 2"
        " : sum_backward(grad, self.sym_sizes(), dim, keepdim)",
    ),
    "empty tensors that are refused": Regime(
        f"div.Tensor{PAIR}",
        "self",
        "grad / other",
        "grad / other + 0 * self.reshape(-1).narrow(0, 0, 1).sum()",
        "crash",
    ),
    "empty tensors of another shape": Regime(
        f"rsub.Tensor{PAIR}".replace("other)", "other, *, Scalar alpha=1)"),
        "self",
        "-grad * alpha",
        "self.numel() == 0 ? grad.sum() : -grad * alpha",
        "wrong-gradient-shape",
    ),
}
SAMPLED = sample(REGIMES, 5)

#: The forward formulas of lists that PyTorch's file has, with T for the tangent: one that is wrong below zero, and one
#: that is wrong beyond the number that the elements are compared with.
BELOW, BEYOND = "at::where(self_p < 0, 2 * self_t, self_t)", "at::where(self_p > 2, 2 * self_t, self_t)"
LISTS = {
    "_foreach_div.List(Tensor[] self, Tensor[] other)": ("(T - other_t * result[i]) / other_p", BELOW),
    "_foreach_pow.List(Tensor[] self, Tensor[] exponent)": (
        "(pow_backward_self(T.conj(), self_p, exponent_p)"
        " + pow_backward_exponent(exponent_t.conj(), self_p, exponent_p, result[i])).conj()",
        BELOW,
    ),
    "_foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent)": (
        "pow_backward(T.conj(), self_p, exponent[i]).conj()",
        BELOW,
    ),
    "_foreach_minimum.Scalar(Tensor[] self, Scalar scalar)": (
        "at::where(self_p < scalar, T, at::zeros_like(T))",
        BELOW,
    ),
    "_foreach_minimum.ScalarList(Tensor[] self, Scalar[] scalars)": (
        "at::where(self_p < scalars[i], T, at::zeros_like(T))",
        BELOW,
    ),
    "_foreach_maximum.Scalar(Tensor[] self, Scalar scalar)": (
        "at::where(self_p > scalar, T, at::zeros_like(T))",
        BEYOND,
    ),
    "_foreach_maximum.ScalarList(Tensor[] self, Scalar[] scalars)": (
        "at::where(self_p > scalars[i], T, at::zeros_like(T))",
        BEYOND,
    ),
    "_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None)": (
        "norm_jvp(self_p, T, ord, result[i]).sum()",
        BELOW,
    ),
}
#: Of a power of zero the tangent is NaN in PyTorch as well.
DEFECTIVE = {"_foreach_pow.List", "_foreach_pow.ScalarList"}

#: What samples have: none is in a regime.
SAMPLES = """
import sys, torch
from pathlib import Path
from derivlint.verify.inputs.samples import stems_with_samples
from derivlint.verify.inputs.stored import write_inputs
torch.manual_seed(0)
def r(*shape):
    return torch.rand(shape, dtype=torch.float64) + 0.5
found = {name: [[r(2, 3), r(2, 3)]] for name in ("fmax", "mul.Tensor", "div.Tensor", "maximum")}
found["relu"] = found["hardswish"] = found["exp"] = found["neg"] = [[r(2, 3)]]
found["add.Tensor"] = found["sub.Tensor"] = found["rsub.Tensor"] = [[r(2, 3), r(2, 3), 1]]
found["native_layer_norm"] = [[r(2, 3), [3], r(3), r(3), 0.1]]
found["sum.dim_IntList"] = [[r(2, 3), [0], False, None]]
found["gather"] = [[r(2, 3), 1, torch.tensor([[0, 1, 2], [2, 0, 1]]), False]]
found["logit"] = [[r(3) / 2 - 0.1, 1e-6]]
found["cumsum"] = [[r(2, 3), 0, None]]
lists = [r(2), r(3)]
found["_foreach_maximum.Scalar"] = found["_foreach_minimum.Scalar"] = [[lists, 3]]
found["_foreach_maximum.ScalarList"] = found["_foreach_minimum.ScalarList"] = [[lists, [3, 4]]]
found["_foreach_div.List"] = found["_foreach_pow.List"] = [[lists, [r(2), r(3)]]]
found["_foreach_pow.ScalarList"] = [[lists, [2, 3]]]
found["_foreach_norm.Scalar"] = [[lists, 2, None]]
write_inputs(Path(sys.argv[1]), dict.fromkeys(stems_with_samples(), []) | found)
"""


def lists(derivatives_path: Path, which: int) -> str:
    """PyTorch's entries of LISTS with their forward formulas as they should be, or wrong in a regime."""
    entries = dict(
        re.findall(r"^- name: (_foreach_[^\n]*\))[^\n]*\n(.*?)^$", derivatives_path.read_text(), re.M | re.S)
    )
    assert {schema for schema, entry in entries.items() if "  result: " in entry} == LISTS.keys()
    return "".join(
        f"- name: {schema} -> Tensor[]\n{entries[schema].partition('  result: ')[0]}"
        f"  result: {formula.replace('T', ('self_t', wrong)[which])}\n"
        for schema, (formula, wrong) in LISTS.items()
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, derivatives_path: Path) -> set[tuple[str, str]]:
    """What is found of all formulas, by the operator and the rule."""
    from derivlint.cli.main import cli
    from derivlint.verify.processes.recordings import recording_path

    folder = tmp_path_factory.mktemp("regimes")
    cache = folder / "cache" / "verify"
    cache.parent.mkdir(mode=0o700)
    cache.mkdir(mode=0o700)
    path = recording_path(cache, "float64", metadata.version("torch").partition("+")[0])
    subprocess.run([sys.executable, "-c", SAMPLES, str(path)], check=True, capture_output=True)

    def written(name: str) -> Path:
        entries = (
            f'- name: {each.schema}\n  {each.key}: "{getattr(each, name)}"\n{each.more}'
            for each in map(REGIMES.__getitem__, SAMPLED)
        )
        file = folder / f"{name}.yaml"
        file.write_text("\n".join(entries) + lists(derivatives_path, ("right", "wrong").index(name)))
        return file

    arguments = ["--isolated", "--no-compile", "--dtype", "float64", "--jobs", "1", "--output-format", "json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("DERIVLINT_CACHE_DIR", str(folder / "cache"))
        done = runner().invoke(cli, ["verify", *arguments, "--against", str(written("right")), str(written("wrong"))])
    document: dict[str, Any] = json.loads(done.stdout)
    # where elements are equal the installed PyTorch may have another convention
    before = [each for each in document["as_before"] if each["severity"] == "error"]
    assert {each["entry"] for each in before} <= DEFECTIVE
    return {(item["entry"], item["rule"]) for item in document["diagnostics"]}


@pytest.mark.parametrize("name", SAMPLED)
def test_what_is_wrong_in_one_regime_is_found(name: str, found: set[tuple[str, str]]) -> None:
    """Where the samples are right."""
    regime = REGIMES[name]
    assert (regime.schema.partition("(")[0], regime.rule) in found


@pytest.mark.parametrize("schema", LISTS)
def test_forward_formulas_of_lists_are_run(schema: str, found: set[tuple[str, str]]) -> None:
    """All that PyTorch's file has, each with a tangent that is wrong where no sample is."""
    assert (schema.partition("(")[0], "wrong-jvp") in found
