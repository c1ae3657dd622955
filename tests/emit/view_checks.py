"""What can be seen of views in a process, for a child process: ``python view_checks.py FOLDER``.

Everything is looked at twice: with PyTorch's own kernels, and after the extension in the folder was loaded. Prints one
JSON object: ``before`` and ``after``, what was seen by what was done; ``registered``, where the dispatcher has the
kernel of each operator from.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

#: Views of one tensor and of several, that always replay, that are not differentiable; in-place and out functions.
OPERATORS = (
    *("view", "select", "slice", "expand", "t", "transpose", "as_strided", "squeeze", "unsqueeze", "permute"),
    *("split", "split_with_sizes", "unbind", "view_as_real", "_conj", "_indices", "_values", "unfold", "diagonal"),
    *("_nested_view_from_jagged", "_nested_get_values"),
    *("mul", "add", "squeeze", "aminmax", "slice_inverse", "alias"),
)


def main(folder: str) -> None:
    """Look, load the extension, look again and print all of it."""
    from derivlint.runtime import load

    before = Observer().observe()
    extension = load(folder)
    after = Observer().observe()
    registered = {name: registration(name) for name in extension.operators}
    print(json.dumps({"before": before, "after": after, "registered": registered}))


def registration(operator: str) -> str:
    """The place where the kernel under ADInplaceOrView was registered."""
    import torch

    dump = torch._C._dispatch_dump(f"aten::{operator}")
    lines = [line for line in dump.splitlines() if line.startswith("ADInplaceOrView")]
    # the last registration is the first in the list
    return lines[0] if lines else ""


class Observer:
    """Collects what is seen."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}

    def see(self, what: str, *values: object) -> None:
        """Keep values as text; tensors as nested lists."""
        assert what not in self.seen, what
        self.seen[what] = " ".join(_text(value) for value in values)

    def fails(self, what: str, action: Callable[[], object]) -> None:
        """Keep the message of an error, or that there is none."""
        try:
            action()
        except RuntimeError as error:
            # the addresses of code are others in each process
            self.see(what, re.sub(r"0x[0-9a-f]+", "", str(error)).split("\nException raised")[0])
        else:
            self.see(what, "no error")

    def observe(self) -> dict[str, str]:
        """Everything there is to see."""
        import torch

        self._views(torch)
        self._replays(torch)
        self._gradients(torch)
        self._versions(torch)
        self._modes(torch)
        self._chains(torch)
        self._nested(torch)
        return self.seen

    def _views(self, torch: Any) -> None:
        for name, (base, make) in _cases(torch).items():
            views = make(base)
            for index, view in enumerate(views if isinstance(views, list | tuple) else [views]):
                what = name if view is views else f"{name} {index}"
                self.see(f"{what}: is view of base", view._is_view(), view._base is base)
                self.see(f"{what}: value", view.detach().clone().resolve_conj())
                self.see(f"{what}: node", view.grad_fn)

    def _replays(self, torch: Any) -> None:
        with torch.autograd._force_original_view_tracking(True):
            for name, (base, make) in _cases(torch).items():
                made = make(base)
                views = made if isinstance(made, list | tuple) else [made]
                for index, view in enumerate(views):
                    what = name if view is made else f"{name} {index}"
                    other = (base.detach() + 6).clone()
                    again = view._view_func_unsafe(other)
                    self.see(f"replay of {what}", again.resolve_conj().clone())
                    self.see(f"replay of {what} is view", again._is_view(), again._base is other)
                    back = view._rev_view_func_unsafe(again)
                    self.see(f"reverse of {what}", back.shape, back.resolve_conj().clone())
                    numbers: list[object] = []
                    view._view_func_unsafe(other, _collector(numbers))
                    self.see(f"numbers of {what}", numbers)
                    tensors: list[object] = []
                    view._view_func_unsafe(other, None, _collector(tensors))
                    self.see(f"tensors of {what}", tensors)
            base = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
            other = base.detach() + 6
            changed = base.select(0, 0)._view_func_unsafe(other, lambda number: 1 - number)
            self.see("replay of select.int with other index", changed)
            strided = base.as_strided((2,), (2,), 1)._view_func_unsafe(other, lambda number: number if number else 0)
            self.see("replay of as_strided with the same numbers", strided)

    def _gradients(self, torch: Any) -> None:
        leaf = torch.ones(2, 2, requires_grad=True)
        base = leaf * 1
        base.select(0, 0).mul_(3)
        base.sum().backward()
        self.see("in place on a view: grad of base", leaf.grad.flatten())
        self.see("in place on a view: node of base", base.grad_fn)
        with torch.autograd._force_original_view_tracking(True):
            leaf = torch.arange(6.0).view(2, 3).requires_grad_()
            base = leaf * 1
            base.t().select(0, 1).mul_(leaf[:, 0].detach() + 2)
            (base**2).sum().backward()
            self.see("in place on a replayed view of a view: grad of base", leaf.grad)
        leaf = torch.ones(3, dtype=torch.cfloat, requires_grad=True)
        base = leaf * 1
        torch.view_as_real(base).mul_(2)
        base.abs().sum().backward()
        self.see("in place on a real view: grad of base", leaf.grad)

        def written(x: Any) -> Any:
            x = x.clone()
            x.transpose(0, 1)[0].mul_(x.select(1, 1).unbind(0)[0] + 2)
            x.squeeze_().add_(x.t().clone())
            return x

        point = torch.rand(3, 3, dtype=torch.double, generator=torch.Generator().manual_seed(1)).requires_grad_()
        self.see("gradcheck", torch.autograd.gradcheck(written, (point,), check_forward_ad=True))
        leaf = torch.ones(2, requires_grad=True)
        self.fails("in place on a view of a leaf", lambda: leaf.view(2).mul_(2))
        self.fails("in place on a leaf", lambda: leaf.mul_(2))

    def _versions(self, torch: Any) -> None:
        base = torch.ones(2, 2)
        view = base.t()
        view.mul_(2)
        self.see("version: base and view", base._version, view._version)
        out = torch.empty(2)
        torch.add(torch.ones(2), torch.ones(2), out=out)
        self.see("version: out", out._version)
        low, high = torch.empty(()), torch.empty(())
        torch.aminmax(torch.arange(3.0), out=(low, high))
        self.see("version: several outs", low._version, high._version)
        for name, change in (("squeeze_", "squeeze_"), ("t_", "t_"), ("unsqueeze_", "unsqueeze_")):
            tensor = torch.ones(1, 2)
            getattr(tensor, change)(*((0,) if name == "unsqueeze_" else ()))
            self.see(f"version: {name}", tensor._version, tensor.shape)
        leaf = torch.ones(2, requires_grad=True)
        saved = leaf * 1
        product = saved * saved
        saved.mul_(2)
        self.fails("backward of what was changed", lambda: product.sum().backward())
        sparse = torch.eye(2).to_sparse().requires_grad_()
        indices, values = sparse._indices(), sparse._values()
        before = indices._version
        values.detach().mul_(2)
        self.see("_indices: requires grad, is view, version", indices.requires_grad, indices._is_view(), before == 0)
        self.see("_values: requires grad, is view, version", values.requires_grad, values._is_view(), values._version)

    def _modes(self, torch: Any) -> None:
        base = torch.ones(2, 2, requires_grad=True) * 1
        with torch.no_grad():
            silent = base.select(0, 0)
            silent.mul_(1)
        self.fails("in place on a view of no_grad", lambda: silent.mul_(2))
        parts = base.split(1)
        self.fails("in place on one of several views", lambda: parts[0].mul_(2))
        self.fails("in place on a view of one of several views", lambda: base.unbind(0)[1].view(2).mul_(2))
        with torch.inference_mode():
            inferred = base.t()
        self.see("view of inference mode", inferred.is_inference(), inferred._is_view(), inferred._base is base)
        self.fails("in place on a view of inference mode", lambda: inferred.mul_(2))
        with torch.inference_mode():
            tensor = torch.ones(2)
            tensor.mul_(2)
            self.see("inference tensor", tensor.is_inference(), tensor.view(1, 2)._is_view())
        self.see("view of an inference tensor", tensor.view(2, 1).is_inference(), tensor.view(2, 1)._is_view())
        self.fails("in place on an inference tensor", lambda: tensor.mul_(2))
        with torch.no_grad():
            parts = base.unbind(0)
        self.fails("in place on one of several views of no_grad", lambda: parts[0].mul_(2))

    def _chains(self, torch: Any) -> None:
        base = torch.arange(8.0).view(2, 2, 2).clone().requires_grad_()
        view = base.transpose(0, 2).select(0, 1)[1:].expand(3, 2)
        self.see("chain: view of base", view._base is base, view)
        self.see("chain: replay", view._view_func(base.detach() * 10))
        with torch.autograd.forward_ad.dual_level():
            tangent = torch.ones(2, 2)
            dual = torch.autograd.forward_ad.make_dual(torch.ones(2, 2), tangent)
            dual.select(0, 0).mul_(5)
            self.see("chain: tangent of what was changed", torch.autograd.forward_ad.unpack_dual(dual).tangent)
        compiled = torch.func.grad(lambda x: (x.t().select(0, 0).mul(2)).sum())(torch.ones(2, 2))
        self.see("chain: torch.func.grad", compiled)
        mapped = torch.func.vmap(lambda x: x.view(1, 2).squeeze(0).mul(2))(torch.ones(3, 2))
        self.see("chain: torch.func.vmap", mapped)

    def _nested(self, torch: Any) -> None:
        values = torch.arange(6.0).view(3, 2).requires_grad_()
        base = values * 1
        nested = torch.nested.nested_tensor_from_jagged(base, torch.tensor([0, 1, 3]))
        self.see("nested: is view of base", nested._is_view(), nested._base is base)
        shapes: list[object] = []
        again = nested._view_func_unsafe(base.detach() + 1, None, _collector(shapes))
        self.see("nested: tensors", shapes)
        self.see("nested: replay", again.values())
        (nested.values() * 2).sum().backward()
        self.see("nested: grad", values.grad)


def _collector(seen: list[object]) -> Callable[[Any], Any]:
    """A function that keeps numbers, and the shapes of tensors, and returns what it is given."""

    def visit(value: Any) -> Any:
        seen.append(value if isinstance(value, int) else value.shape)
        return value

    return visit


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | int | str | list):
        return str(value)
    if type(value).__name__ == "Tensor":
        return str(value.tolist())
    if type(value).__name__ == "Size":
        return str(list(value))
    return type(value).__name__


def _cases(torch: Any) -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """A base for each view operator, and how the view is made."""

    def base(*shape: int, dtype: Any = torch.float) -> Any:
        count = 1
        for size in shape:
            count *= size
        return torch.arange(1, count + 1).to(dtype).view(shape).clone().requires_grad_()

    return {
        "view": (base(2, 3), lambda x: x.view(3, 2)),
        "select.int": (base(2, 2), lambda x: x.select(0, 0)),
        "slice.Tensor": (base(4, 2), lambda x: x[1::2]),
        "expand": (base(2, 1), lambda x: x.expand(2, 3)),
        "t": (base(2, 3), lambda x: x.t()),
        "transpose.int": (base(2, 3, 1), lambda x: x.transpose(0, 1)),
        "as_strided": (base(2, 3), lambda x: x.as_strided((2, 2), (1, 2), 1)),
        "squeeze": (base(1, 2, 1), lambda x: x.squeeze()),
        "squeeze.dim": (base(1, 2, 1), lambda x: x.squeeze(0)),
        "squeeze.dims": (base(1, 2, 1), lambda x: x.squeeze((0, 2))),
        "unsqueeze": (base(2), lambda x: x.unsqueeze(1)),
        "permute": (base(2, 1, 3), lambda x: x.permute(2, 0, 1)),
        "split.Tensor": (base(3, 2), lambda x: x.split(2)),
        "split_with_sizes": (base(3, 2), lambda x: x.split_with_sizes([1, 2])),
        "unbind.int": (base(2, 3), lambda x: x.unbind(1)),
        "view_as_real": (base(2, dtype=torch.cfloat), torch.view_as_real),
        "_conj": (base(2, dtype=torch.cfloat), lambda x: x.conj()),
        "unfold": (base(5), lambda x: x.unfold(0, 2, 2)),
        "diagonal": (base(3, 3), lambda x: x.diagonal(1)),
        "alias": (base(2), torch.ops.aten.alias),
        "slice_inverse": (base(2), lambda x: torch.ops.aten.slice_inverse(x, x.detach().new_ones(2), 0, 0, 2, 1)),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
