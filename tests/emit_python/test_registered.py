"""Operators of one's own of every kind, with the Functions of their entries as autograd kernels."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.own_operators import CHECKS, DERIVATIVES, FUNCTIONS, HELPERS, KERNELS, emit, run_checks
from tests.sampling import CAMPAIGN


@pytest.mark.torch
def test_every_kind_of_operator_is_differentiable(tmp_path: Path) -> None:
    """First and second order, tangents, opcheck, torch.func and torch.compile."""
    (tmp_path / "my_helpers.py").write_text(HELPERS, encoding="utf-8")
    (tmp_path / "kernels.py").write_text(KERNELS, encoding="utf-8")
    said = emit("python", tmp_path, "generated.py", "--register", "--helpers", str(tmp_path / "my_helpers.py"))
    assert "10 operators, 1 omitted" in said
    assert "tail is omitted: it returns a view of an argument: return a copy" in said
    run_checks(tmp_path, CHECKS, f"{60 if CAMPAIGN else 45} passed")


FAKES = """\
import generated as g
import kernels
import pytest
import torch
from derivlint.functional import CheckError, check
from torch._subclasses import FakeTensorMode
from torch.library import opcheck
from tests.sampling import sample

own = torch.ops.ops
x = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
y = torch.randn(2, 4, dtype=torch.double, requires_grad=True)
CASES = {
    "total": (lambda v: own.total(v, [1], True), (own.total.default, (x, [1], True))),
    "total of all": (lambda v: own.total(v), (own.total.default, (x,))),
    "joined": (lambda v: own.joined([v, v[:2]]), (own.joined.default, ([x, y],))),
    "scale_": (lambda v: own.scale_(v.clone(), 2.0), (own.scale_.default, (x.clone(), 2.0))),
    "softplus2": (own.softplus2, (own.softplus2.default, (x,))),
    "doubled": (own.doubled, (own.doubled.default, (x,))),
    "root": (own.root, (own.root.default, (x.exp(), y[:1].exp()))),
    "above": (own.above, (own.above.default, (x,))),
    "bent": (own.bent, (own.bent.default, (x,))),
    "cubed": (own.cubed, (own.cubed.default, (x,))),
    "_foreach_wave": (lambda v: own._foreach_wave([v, v], [v, v], 2)[1], (own._foreach_wave.List, ([x, y], [x, y]))),
}
CASES["root"] = (lambda v: own.root(v.exp(), v.exp()), CASES["root"][1])


@torch.library.register_fake("ops::split_sign")
def of_the_author(x):
    return torch.empty_like(x), torch.empty_like(x)


def test_without_data_where_no_autograd_kernel_runs():
    with torch.inference_mode():
        assert own.above(torch.ones(3, 2, device="meta")).shape == (3, 2)
        assert own.joined([torch.ones(2, 3, device="meta")] * 2).shape == (4, 3)
        assert own.everywhere(torch.ones(2, 3, device="meta")).shape == (3,)
        with FakeTensorMode():
            assert own.doubled(torch.ones(2, 3)).shape == (2, 3)


# what calls others comes first: nothing has been said of those then
@pytest.mark.parametrize("name", sample(["above", *CASES], 5, always=["above"]))
def test_compiled(name):
    function, checked = CASES[name]
    torch._dynamo.reset()
    found, wanted = torch.compile(function, fullgraph=True, backend="aot_eager")(x), function(x)
    torch.testing.assert_close(found, wanted)
    assert torch.allclose(*(torch.autograd.grad(each.sum(), x)[0] for each in (found, wanted)))
    opcheck(*checked)


def test_what_the_author_registers_counts():
    opcheck(own.split_sign.default, (x,))
    assert torch.compile(lambda v: own.split_sign(v)[0], fullgraph=True, backend="aot_eager")(x).shape == x.shape


def test_what_is_written_to_in_a_graph_is_written_to():
    written, wanted = x.detach().clone(), x.detach().clone()
    found = torch.compile(lambda v: own.scale_(v, 3.0) + 1, fullgraph=True, backend="aot_eager")(written)
    assert torch.equal(found, own.scale_(wanted, 3.0) + 1) and torch.equal(written, wanted)


def test_checks_pass():
    check(own.split_sign.default, (x,))
    check(own.total.default, (x, [1], True))
    check(own.joined.default, ([x, y],))
    check(own.scale_.default, (x, 2.0))
    check(own.weighted.default, ([x, y], 2.0))
    check(own._foreach_wave.List, ([x, y], [x.detach().clone(), y.detach().exp().requires_grad_()], 0.5))
    check(own.root.default, (x.detach().exp().requires_grad_(), y.detach()[:1].exp().requires_grad_()))
    with pytest.raises(ValueError, match="no module of derivlint has registered aten::neg"):
        check(torch.ops.aten.neg.default, (x,))


@pytest.mark.parametrize(
    ("operator", "arguments", "message"),
    [
        ("wrong", (x, y[:1]), 'derivatives.yaml:78: the gradient of "y" of ops::wrong is wrong\\nJacobian mismatch'),
        ("slow", (x,), 'derivatives.yaml:82: the tangent of output 0 of ops::slow is wrong in "x"\\nJacobian comp'),
        ("late", (x,), "derivatives.yaml:84: the second derivatives of ops::late are wrong\\n"),
        ("affine", (x,), "derivatives.yaml:18: opcheck refuses ops::affine\\nopcheck(op, ...): test_faketensor"),
    ],
)
def test_failures_name_formulas(operator, arguments, message):
    with pytest.raises(CheckError) as caught:
        check(getattr(own, operator).default, arguments)
    assert str(caught.value).startswith(message), str(caught.value)[:300]


def test_without_data():
    assert own.joined([torch.ones(2, 3, device="meta")] * 2).shape == (4, 3)


def test_a_tensor_of_a_list_whose_output_is_unused_has_no_gradient():
    found = torch.autograd.grad(own._foreach_wave([x, y], [x, y])[0].sum(), (x, y), allow_unused=True)
    assert found[1] is None and torch.allclose(found[0], x.cos() * x + x.sin())


def test_an_undefined_gradient_of_a_list_is_undefined():
    function = lambda v: own.weighted([v, v], 2.0)
    assert torch.autograd.gradcheck(function, (x,), check_forward_ad=True)
"""
MORE_FUNCTIONS = """\
- func: ops::doubled(Tensor x) -> Tensor
- func: ops::root(Tensor x, Tensor y) -> Tensor
- func: ops::above(Tensor x) -> Tensor
- func: ops::picked(Tensor x, Tensor mask) -> Tensor
- func: ops::even(Tensor x) -> Tensor
- func: ops::odd(Tensor x) -> Tensor
- func: ops::weighted(Tensor[] parts, float by) -> Tensor
- func: ops::wrong(Tensor x, Tensor y) -> Tensor
- func: ops::slow(Tensor x) -> Tensor
- func: ops::late(Tensor x) -> Tensor
- func: ops::bent(Tensor x, str mode="it's") -> Tensor
- func: ops::bent_backward(Tensor grad_output, Tensor x, str mode) -> Tensor
- func: ops::everywhere(Tensor x) -> Tensor
- func: ops::cubed(Tensor x) -> Tensor
- func: ops::cubed_backward(Tensor? grad, Tensor x) -> Tensor
- func: ops::_foreach_wave.List(Tensor[] self, Tensor[] other, Scalar by=1) -> Tensor[]
- func: ops::_foreach_wave_(Tensor(a!)[] self) -> ()
- func: ops::swap_(Tensor(a!) self, Tensor(b!) other) -> (Tensor(a!), Tensor(b!))
"""
MORE_DERIVATIVES = """
- name: doubled(Tensor x) -> Tensor
  x: 2 * grad
  result: auto_linear

- name: root(Tensor x, Tensor y) -> Tensor
  x: grad * y / (2 * result)
  y: grad * x / (2 * result)
  result: (x_t * y_p + x_p * y_t) / (2 * result)

- name: above(Tensor x) -> Tensor
  x: grad * softplus2(x) * 2 * x.sigmoid()
  result: x_t * softplus2(x_p) * 2 * x_p.sigmoid()

- name: picked(Tensor x, Tensor mask) -> Tensor
  x: zeros_like(x).masked_scatter(mask, grad)
  mask: non_differentiable
  result: x_t.masked_select(mask)

- name: even(Tensor x) -> Tensor
  x: grad * odd(x)
  result: odd(x_p) * x_t

- name: odd(Tensor x) -> Tensor
  x: grad * even(x)
  result: even(x_p) * x_t

- name: weighted(Tensor[] parts, float by) -> Tensor
  parts: cat_tensors_backward(grad * by, to_args_sizes_symint(parts), to_args_scalartypes(parts), 0)
  result: cat_jvp(parts, 0) * by

- name: wrong(Tensor x, Tensor y) -> Tensor
  x: grad * y
  y: (grad * x).sum(0, true) * 2

- name: slow(Tensor x) -> Tensor
  x: grad * 3
  result: x_t * 2

- name: late(Tensor x) -> Tensor
  x: grad * 2 * x.detach()

- name: bent(Tensor x, str mode="it's") -> Tensor
  x: bent_backward(grad, x, mode)
  result: bent_backward(x_t, x_p, mode)

- name: bent_backward(Tensor grad_output, Tensor x, str mode) -> Tensor
  grad_output: bent_backward(grad, x, mode)
  x: grad * grad_output * 2
  result: bent_backward(grad_output_t, x_p, mode) + x_t * grad_output_p * 2

- name: everywhere(Tensor x) -> Tensor
  x: grad.expand_as(x)
  result: x_t.clone()

- name: cubed(Tensor x) -> Tensor
  x: cubed_backward(grad, x)
  result: cubed_backward(x_t, x_p)

- name: _foreach_wave.List(Tensor[] self, Tensor[] other, Scalar by=1) -> Tensor[]
  self: grads[i] * self[i].cos() * other[i] * by
  other: grads[i] * self[i].sin() * by
  result: (self_t * self_p.cos() * other_p + self_p.sin() * other_t) * by

- name: swap_(Tensor(a!) self, Tensor(b!) other) -> (Tensor(a!), Tensor(b!))
  self: grad
  other: grad
"""
MORE_KERNELS = """
@I("ops::doubled",K)
def doubled(x): return x*2
@I("ops::root",K)
def root(x,y): return (x*y).sqrt()
@I("ops::above",K)
def above(x): return torch.log1p(torch.exp(x))**2
@I("ops::weighted",K)
def weighted(parts,by): return torch.cat(parts)*by
@I("ops::wrong",K)
def wrong(x,y): return x*y
@I("ops::slow",K)
def slow(x): return x*3
@I("ops::late",K)
def late(x): return x*x
@I("ops::bent",K)
def bent(x,mode="it's"): return x*x if mode=="it's" else x*0
@I("ops::bent_backward",K)
def bent_backward(grad_output,x,mode): return grad_output*2*x
@I("ops::everywhere","CompositeExplicitAutograd")
def everywhere(x): return x.sum(0)
@I("ops::cubed",K)
def cubed(x): return x**3
@I("ops::cubed_backward",K)
def cubed_backward(grad,x): return grad*3*x**2
@I("ops::_foreach_wave.List",K)
def _foreach_wave(self,other,by=1): return [a.sin()*b*by for a,b in zip(self,other)]
"""


@pytest.mark.torch
def test_sizes_that_formulas_give_are_those_of_the_outputs(tmp_path: Path) -> None:
    """Kernels for one device run in torch.compile where a formula or the schema says what their outputs are like."""
    (tmp_path / "my_helpers.py").write_text(HELPERS, encoding="utf-8")
    kernels = KERNELS.replace("CompositeExplicitAutograd", "CPU") + MORE_KERNELS
    (tmp_path / "kernels.py").write_text(kernels, encoding="utf-8")
    helpers = str(tmp_path / "my_helpers.py")
    more = {"functions": FUNCTIONS + MORE_FUNCTIONS, "derivatives": DERIVATIVES + MORE_DERIVATIVES}
    said = emit("python", tmp_path, "generated.py", "--register", "--allow-errors", "--helpers", helpers, **more)
    reasons = {
        line.partition("no fake kernel for ")[2].partition(":")[0]: line.rpartition(" unknown: ")[2]
        for line in said.splitlines()
        if "no fake kernel" in line
    }
    assert reasons == {
        "scaled": "its forward formula calls the operator itself",
        "split_sign": '"sign" has no forward formula',
        "affine": '"result" has no forward formula',
        "halves": "its forward formula calls the operator itself",
        "turned": '"result" has no forward formula',
        "softplus2_twice": '"result" has no forward formula',
        "picked": 'its forward formula calls "masked_select", whose result has sizes that depend on data',
        "even": 'its forward formula calls "odd", whose own formulas do not give them',
        "late": '"result" has no forward formula',
        "wrong": '"result" has no forward formula',
        "odd": 'its forward formula calls "even", whose own formulas do not give them',
    }
    assert 'swap_ is omitted: it writes to "self" and "other", and has no gradient but as an operator in place' in said
    text = (tmp_path / "generated.py").read_text(encoding="utf-8")
    assert '# The formulas do not give the sizes of the outputs: "sign" has no forward formula.\n' in text
    assert '@F.fake("ops::above", "ops::softplus2")\ndef _(x: Tensor) -> Tensor:\n' in text
    run_checks(tmp_path, FAKES, f"{23 if CAMPAIGN else 16} passed")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("my_helpers.py", "def f(:\n", "is not Python"),
        ("my-helpers.py", "", "cannot be imported"),
        ("helpers.txt", "", "cannot be imported"),
    ],
)
def test_helpers_that_cannot_be_read_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert message in emit("python", tmp_path, "generated.py", "--register", "--helpers", str(tmp_path / name))
    assert not (tmp_path / "generated.py").exists()


def test_helpers_are_read_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "my_helpers.py").write_text(f"{HELPERS}\nraise SystemExit(7)\n", encoding="utf-8")
    assert "10 operators" in emit(
        "python", tmp_path, "generated.py", "--register", "--helpers", str(tmp_path / "my_helpers.py")
    )
    assert "import my_helpers\n" in (tmp_path / "generated.py").read_text(encoding="utf-8")


def test_helpers_beside_the_file_need_no_option(tmp_path: Path) -> None:
    (tmp_path / "my_helpers.py").write_text(f"{HELPERS}\nraise SystemExit(7)\n", encoding="utf-8")
    (tmp_path / "kernels.py").write_text("def scaled(): ...\n", encoding="utf-8")
    (tmp_path / "notes.py").write_text("def scaled_by(:\n", encoding="utf-8")
    said = emit("python", tmp_path, "generated.py", "--register")
    assert f'derivlint: reading called functions from "{os.path.relpath(tmp_path / "my_helpers.py")}"\n' in said
    text = (tmp_path / "generated.py").read_text(encoding="utf-8")
    assert "import my_helpers\n" in text
    assert "kernels" not in text
