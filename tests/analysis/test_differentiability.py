"""Which operators have derivatives, and what can be differentiated again: compared with torchgen and with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch.nn import functional
from torchgen.packaged.autograd import gen_variable_type
from torchgen.packaged.autograd.load_derivatives import load_derivatives

from derivlint.analysis import analyses_of
from derivlint.analysis.differentiability.coverage import Aspect, Coverage, coverage_of
from derivlint.analysis.differentiability.flow import OuterMode
from derivlint.analysis.differentiability.operators import Answer, Way, derivatives_of
from derivlint.formula.nodes import MAX_DEPTH
from derivlint.lint import Confidence, run_rules
from derivlint.model import Model, build_model
from derivlint.operators import Book, book_of
from derivlint.rules import load_rule
from derivlint.schema import NativeFunctions, SchemaKind
from derivlint.source import SourceFile


@pytest.fixture(scope="module")
def installed(derivatives_path: Path, installed_natives: NativeFunctions) -> Model:
    return build_model(SourceFile.read(derivatives_path), installed_natives)


def coverage_row(model: Model, name: str) -> Coverage:
    function = model.natives.operator(name)
    assert function is not None
    return coverage_of(model).of(function)[0]


def answers(row: Coverage) -> list[str]:
    return [row.verdicts[aspect].answer.value for aspect in Aspect]


def reverse(text: str, natives: NativeFunctions) -> tuple[str, list[str]]:
    """Whether the first formula of a file can be differentiated again in reverse mode, and why not."""
    model = build_model(SourceFile("derivatives.yaml", text), natives)
    formula = analyses_of(model).formulas(model.entries[0])[0]
    verdict = coverage_of(model).flow.verdict(formula, OuterMode.REVERSE)
    return verdict.answer.value, [reason.text for reason in verdict.reasons]


# ---- lists


def test_the_complex_list_is_of_base_names(installed_natives: NativeFunctions) -> None:
    expected = {
        "mul.Tensor": True,
        "mul_.Tensor": True,
        "fill_.Scalar": True,
        "atan2": False,
        "_foreach_mul.List": False,
    }
    actual = {}
    for name in expected:
        function = installed_natives.operator(name)
        assert function is not None
        actual[name] = book_of(installed_natives).is_complex_differentiable(function)
    assert actual == expected


def test_a_part_of_a_file_knows_which_backward_operators_have_no_derivative(installed: Model) -> None:
    natives = installed.natives
    part = build_model(SourceFile("d.yaml", "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos()\n"), natives)
    of_part, of_whole = derivatives_of(part), derivatives_of(installed)
    backwards = [
        function
        for function in natives.functions
        if "backward" in function.name.base and function.schema.kind is SchemaKind.functional
    ]
    missing = {str(each.name) for each in backwards if of_part.of(each).way is Way.MISSING}
    assert missing == {
        str(each.name) for each in backwards if not installed.match(each).infos and of_whole.of(each).way is Way.MISSING
    }
    assert len(missing) > 40


def test_integral_operators_have_no_entry(installed: Model) -> None:
    for base in Book.by_hand("integral"):
        functions = installed.natives.named(base)
        assert functions, base
        assert all(not installed.match(function).infos for function in functions), base


# ---- operators


def test_what_has_a_backward_is_what_torchgen_has_derivatives_for(
    installed: Model, derivatives_path: Path, native_functions_path: Path, tags_path: Path
) -> None:
    """An entry has a gradient exactly where torchgen has a formula that is not just a refusal."""
    infos, _ = load_derivatives(str(derivatives_path), str(native_functions_path), str(tags_path))
    expected = {}
    for schema, by_key in infos.items():
        for key, info in by_key.items():
            real = [item for item in info.derivatives if not item.formula.startswith(("not_implemented", "error_for"))]
            expected[(str(schema), key)] = (
                bool(real) and schema.name.name.base not in gen_variable_type.DONT_REQUIRE_DERIVATIVE
            )
    derivatives = derivatives_of(installed)
    actual = {}
    for entry in installed.entries:
        assert entry.function is not None
        for body in entry.bodies:
            found = derivatives.of(entry.function.canonical, body.key)
            key = (str(entry.function.canonical.schema), body.key)
            actual[key] = found.way is Way.FORMULA and found.backward.answer is not Answer.NO
    different = {key for key, value in actual.items() if expected[key] != value}
    # a composite operator, whose entry PyTorch ignores
    assert {schema.partition("(")[0] for schema, _ in different} <= {"one_hot"}
    assert len(actual) > 600


@pytest.mark.parametrize(
    ("name", "way", "expected"),
    [
        ("sin", Way.FORMULA, ["yes", "yes", "yes", "yes", "yes"]),
        ("mul_.Tensor", Way.FORMULA, ["yes", "yes", "yes", "yes", "yes"]),
        ("_foreach_sin", Way.FORMULA, ["yes", "yes", "yes", "yes", "no"]),
        ("hardsigmoid", Way.FORMULA, ["yes", "yes", "no", "no", "no"]),
        ("igamma", Way.FORMULA, ["partial", "no", "yes", "no", "no"]),
        ("grid_sampler_2d", Way.FORMULA, ["yes", "no", "yes", "no", "no"]),
        ("matmul", Way.FORMULA, ["yes", "partial", "partial", "partial", "partial"]),
        # composite, and what it calls is not followed
        ("ctc_loss.Tensor", Way.DECOMPOSES, ["unknown"] * 5),
        ("square", Way.DECOMPOSES, ["yes", "yes", "yes", "yes", "unknown"]),
        ("zeros_like", Way.NON_DIFFERENTIABLE, ["no", "no", "no", "no", "no"]),
        ("eq.Tensor", Way.NON_DIFFERENTIABLE, ["no", "no", "no", "no", "no"]),
        ("hardsigmoid_backward", Way.MISSING, ["no", "no", "no", "no", "no"]),
        ("_thnn_fused_lstm_cell_backward", Way.MISSING, ["no", "no", "no", "no", "no"]),
        ("detach", Way.NON_DIFFERENTIABLE, ["no", "no", "no", "no", "no"]),
        ("copy_", Way.MANUAL, ["yes", "yes", "yes", "yes", "unknown"]),
    ],
)
def test_an_operator(installed: Model, name: str, way: Way, expected: list[str]) -> None:
    row = coverage_row(installed, name)
    assert (row.way, answers(row)) == (way, expected)


def test_a_part_of_a_file_says_nothing_of_operators_without_entry(bundled_natives: NativeFunctions) -> None:
    text = "- name: relu(Tensor self) -> Tensor\n  self: threshold_backward(grad, result, 0)\n"
    model = build_model(SourceFile("derivatives.yaml", text), bundled_natives)
    assert [row.name for row in coverage_of(model).rows()] == ["relu"]
    assert coverage_row(model, "threshold_backward").way is Way.UNKNOWN
    row = coverage_row(model, "relu")
    assert answers(row) == ["yes", "no", "unknown", "no", "no"]
    assert [reason.text for reason in row.verdicts[Aspect.DOUBLE_BACKWARD].reasons] == [
        'the file has no entry for "threshold_backward"'
    ]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("self_t * self.cos()", ("yes", [])),
        ("auto_element_wise", ("yes", [])),
        ('not_implemented("sin")', ("no", ['the forward formula of "sin" is not implemented'])),
    ],
)
def test_a_forward_formula_that_only_raises_is_none(
    formula: str, expected: tuple[str, list[str]], bundled_natives: NativeFunctions
) -> None:
    text = f"- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()\n  result: {formula}\n"
    verdict = coverage_row(build_model(SourceFile("derivatives.yaml", text), bundled_natives), "sin").verdicts[
        Aspect.FORWARD
    ]
    assert (verdict.answer.value, [reason.text for reason in verdict.reasons]) == expected


# ---- the flow through a formula

HARDSIGMOID = "- name: hardsigmoid(Tensor self) -> Tensor\n  self: "
NO_DERIVATIVE = '"hardsigmoid_backward" has no derivative'


@pytest.mark.parametrize(
    ("formula", "answer", "reasons"),
    [
        ("hardsigmoid_backward(grad, self)", "no", [NO_DERIVATIVE]),
        ("grad * hardsigmoid_backward(self, self)", "no", [NO_DERIVATIVE]),
        ("grad * hardsigmoid_backward(self.detach(), self.detach())", "yes", []),
        ("grad * at::hardsigmoid_backward(at::ones({2}), at::ones({2}))", "yes", []),
        ("GradMode::is_enabled() ? grad * self : hardsigmoid_backward(grad, self)", "yes", []),
        ("!GradMode::is_enabled() ? hardsigmoid_backward(grad, self) : grad * self", "yes", []),
        ("at::GradMode::is_enabled() || self.defined() ? grad : hardsigmoid_backward(grad, self)", "yes", []),
        ("GradMode::is_enabled() ? hardsigmoid_backward(grad, self) : grad", "no", [NO_DERIVATIVE]),
        ("self.defined() ? grad : hardsigmoid_backward(grad, self)", "partial", [NO_DERIVATIVE]),
        ("self.defined() ? hardsigmoid_backward(grad, self) : Tensor()", "no", [NO_DERIVATIVE]),
        ("grad * (self > 0)", "yes", []),
        ("grad * hardsigmoid_backward(self > 0, self > 1)", "yes", []),
        ('self.defined() ? not_implemented("x") : grad', "partial", ['"not_implemented" raises']),
        ("grad.masked_fill(self < 3, 0)", "yes", []),
    ],
)
def test_a_gradient_flows(formula: str, answer: str, reasons: list[str], bundled_natives: NativeFunctions) -> None:
    text = f"{HARDSIGMOID}{formula!r}\n" if '"' in formula else f'{HARDSIGMOID}"{formula}"\n'
    text += "- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor\n  self: grad * mask\n"
    actual, why = reverse(text, bundled_natives)
    if answer == "yes":
        # what another file may have an entry for is unknown, and nothing more
        assert actual in ("yes", "unknown")
        assert all(reason.startswith("the file has no entry") for reason in why)
    else:
        assert (actual, why) == (answer, reasons)


def test_nothing_flows_from_an_argument_that_cannot_be_differentiated(bundled_natives: NativeFunctions) -> None:
    text = (
        "- name: hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor\n"
        "  grad_output: grad * self\n"
        '  self: not_implemented("self")\n'
    )
    assert reverse(text, bundled_natives) == ("yes", [])


def test_an_argument_whose_derivative_is_not_implemented_is_named(bundled_natives: NativeFunctions) -> None:
    text = (
        "- name: _standard_gamma(Tensor self, Generator? generator=None) -> Tensor\n"
        "  self: grad * _standard_gamma_grad(self, result)\n"
        "- name: _standard_gamma_grad(Tensor self, Tensor output) -> Tensor\n"
        '  self: not_implemented("_standard_gamma_grad")\n'
    )
    reason = 'the derivative of "_standard_gamma_grad" for "self" is not implemented'
    assert reverse(text, bundled_natives) == ("no", [reason])


def test_a_formula_at_the_limit_of_nesting_is_judged(bundled_natives: NativeFunctions) -> None:
    text = f"{HARDSIGMOID}{'(' * (MAX_DEPTH - 2)}grad{')' * (MAX_DEPTH - 2)}\n"
    assert reverse(text, bundled_natives)[0] == "yes"


# ---- PyTorch itself


def values(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.rand(shape, dtype=torch.float64, generator=generator).add(0.1).requires_grad_() for shape in shapes]


Case = tuple[str, Callable[..., torch.Tensor], list[tuple[int, ...]]]
CASES: list[Case] = [
    ("silu", functional.silu, [(3,)]),
    ("hardsigmoid", functional.hardsigmoid, [(3,)]),
    ("_pdist_forward", lambda x: functional.pdist(x, 3.0), [(3, 2)]),
    ("_cdist_forward", lambda x, y: torch.cdist(x, y, 3.0), [(3, 2), (3, 2)]),
    ("_standard_gamma", torch._standard_gamma, [(3,)]),
    ("multi_margin_loss", lambda x: functional.multi_margin_loss(x, torch.tensor([0, 1])), [(2, 3)]),
    ("native_layer_norm", lambda x, w: functional.layer_norm(x, (3,), w), [(2, 3), (3,)]),
    ("native_group_norm", lambda x: functional.group_norm(x, 1), [(2, 3)]),
    ("native_batch_norm", lambda x: functional.batch_norm(x, None, None, training=True), [(4, 3)]),
    ("logit", lambda x: torch.logit(x / 3), [(3,)]),
    ("segment_reduce", lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([2, 1])), [(3,)]),
    ("kthvalue", lambda x: torch.kthvalue(x, 2)[0], [(3,)]),
    ("_linalg_svd", torch.linalg.svdvals, [(3, 2)]),
    ("nll_loss_forward", lambda x: functional.nll_loss(x, torch.tensor([0, 1])), [(2, 3)]),
    ("grid_sampler_2d", lambda x, g: functional.grid_sample(x, g, align_corners=False), [(1, 1, 3, 3), (1, 2, 2, 2)]),
    ("log_sigmoid_forward", functional.logsigmoid, [(3,)]),
]


def can_be_differentiated_twice(function: Callable[..., torch.Tensor], inputs: list[torch.Tensor]) -> bool:
    try:
        result = function(*inputs)
        first = torch.autograd.grad((result * result).sum(), inputs, create_graph=True)
        torch.autograd.grad(sum((each.sum() for each in first), torch.zeros(())), inputs, allow_unused=True)
    except (RuntimeError, NotImplementedError):
        return False
    return True


def dual_level() -> AbstractContextManager[None]:
    manager: AbstractContextManager[None] = import_module("torch.autograd.forward_ad").dual_level()
    return manager


def make_dual(primal: torch.Tensor) -> torch.Tensor:
    dual: torch.Tensor = import_module("torch.autograd.forward_ad").make_dual(primal, torch.ones_like(primal))
    return dual


def can_be_differentiated_along_a_tangent(function: Callable[..., torch.Tensor], inputs: list[torch.Tensor]) -> bool:
    try:
        with dual_level():
            duals = [make_dual(each.detach().clone().requires_grad_()) for each in inputs]
            result = function(*duals)
            torch.autograd.grad((result * result).sum(), duals, create_graph=True)
    except (RuntimeError, NotImplementedError):
        return False
    return True


# torch itself calls deprecated functions, and warns of prototypes (sparse and nested tensors)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize(("name", "function", "shapes"), CASES, ids=[case[0] for case in CASES])
def test_pytorch_agrees(
    name: str, function: Callable[..., torch.Tensor], shapes: list[tuple[int, ...]], installed: Model
) -> None:
    row = coverage_row(installed, name)
    predicted = [row.verdicts[aspect].answer for aspect in (Aspect.DOUBLE_BACKWARD, Aspect.FORWARD_OVER_REVERSE)]
    inputs = values(*shapes)
    actual = [
        can_be_differentiated_twice(function, inputs),
        can_be_differentiated_along_a_tangent(function, inputs),
    ]
    assert predicted == [Answer.YES if able else Answer.NO for able in actual]


# ---- the rule on the installed file


def test_a_fused_gradient_with_a_differentiable_form_is_reported_with_high_confidence(
    derivatives_path: Path, installed_natives: NativeFunctions
) -> None:
    """pytorch/pytorch#26660: the LSTM cell could not be differentiated twice."""
    source = SourceFile.read(derivatives_path)
    before = "GradMode::is_enabled() ? _thnn_differentiable_lstm_cell_backward("
    start = source.text.index(before)
    middle = source.text.index(" : ", start) + len(" : ")
    changed = SourceFile(source.path, source.text[:start] + source.text[middle:])
    rules = (load_rule("not-twice-differentiable"),)
    found = run_rules(build_model(changed, installed_natives), rules).diagnostics
    assert [(item.entry, item.help) for item in found if item.confidence is Confidence.HIGH] == [
        (
            "_thnn_fused_lstm_cell",
            '"_thnn_differentiable_lstm_cell_backward" can be differentiated again; '
            'choose it with "GradMode::is_enabled()"',
        )
    ]


def test_on_the_installed_file_no_finding_has_high_confidence(
    derivatives_path: Path, installed_natives: NativeFunctions
) -> None:
    model = build_model(SourceFile.read(derivatives_path), installed_natives)
    found = run_rules(model, (load_rule("not-twice-differentiable"),)).diagnostics
    assert {item.confidence for item in found} == {Confidence.MEDIUM}
    assert len(found) <= 45
