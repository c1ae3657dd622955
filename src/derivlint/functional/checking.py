"""Checks of operators in :mod:`torch.library` that attribute failures to formulas."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.gradcheck import GradcheckError

from derivlint.functional.library import Entry, entry_of

#: The positions in error messages of ``torch/autograd/gradcheck.py``.
_PLACE = re.compile(r"for output (\d+) with respect to input (\d+)")


class CheckError(AssertionError):
    """An operator fails a check; the message names the formula or entry and has PyTorch's error."""


def check(operator: Any, args: Sequence[Any], keywords: dict[str, Any] | None = None) -> None:
    """Run ``gradcheck``, with forward mode if there are forward formulas, ``gradgradcheck`` and ``opcheck``.

    Args:
        operator: an operator registered by a generated module, such as ``torch.ops.my_ops.twice.default``.
        args: its arguments; gradients are checked for double-precision tensors that require grad.
        keywords: its keyword arguments.

    Raises:
        CheckError: a check fails.
        ValueError: the operator was not registered by a generated module.
    """
    entry = entry_of(operator)
    keyword_arguments = keywords or {}
    names = [item.name for item in operator._schema.arguments if not item.kwarg_only]
    written = {item.name for item in operator._schema.arguments if item.is_write}
    values = {**dict(zip(names, args, strict=False)), **keyword_arguments}
    paths = [
        (name, index)
        for name, value in values.items()
        for index, item in enumerate(value if isinstance(value, (list, tuple)) else [value])
        if isinstance(item, Tensor) and item.requires_grad
    ]

    positions: list[int] | None = None

    def called(*tensors: Tensor) -> Any:
        filled = {name: list(value) if isinstance(value, (list, tuple)) else value for name, value in values.items()}
        for (name, index), tensor in zip(paths, tensors, strict=True):
            if isinstance(filled[name], list):
                filled[name][index] = tensor
            else:
                filled[name] = tensor.clone() if name in written else tensor
        outputs = operator(**filled)
        flat = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        return tuple(flat) if positions is None else tuple(flat[index] for index in positions)

    tensors = tuple(_item(values[name], index) for name, index in paths)
    name = operator.name()
    with_tangents = bool(entry.tangents)
    if tensors:
        positions = [index for index, item in enumerate(called(*tensors)) if item.requires_grad]
        one = len(operator._schema.returns) == 1
        outputs = [0 if one else index for index in positions]
        inputs = [name for name, _ in paths]
        _run(
            lambda: torch.autograd.gradcheck(called, tensors, check_forward_ad=with_tangents),
            lambda text: _formula(entry, name, text, inputs, outputs),
        )
        _run(
            lambda: torch.autograd.gradgradcheck(called, tensors),
            lambda text: (
                f"{entry.file}:{entry.line}: the second derivatives of {name} are "
                + ("not implemented" if text.endswith("not implemented.") else "wrong")
            ),
        )
    clones = [value.clone() if key in written else value for key, value in zip(names, args, strict=False)]
    _run(
        lambda: torch.library.opcheck(operator, tuple(clones), keyword_arguments),
        lambda _: f"{entry.file}:{entry.line}: opcheck refuses {name}",
    )


def _item(value: Any, index: int) -> Any:
    return value[index] if isinstance(value, (list, tuple)) else value


def _run(check: Callable[[], Any], describe: Callable[[str], str]) -> None:
    # torch.library.opcheck also imports this on call
    from torch.testing._internal.optests.generate_tests import OpCheckError

    try:
        check()
    except (GradcheckError, OpCheckError, NotImplementedError) as error:
        raise CheckError(f"{describe(str(error))}\n{error}") from error


def _formula(entry: Entry, name: str, text: str, inputs: Sequence[str], outputs: Sequence[int]) -> str:
    """Attribute an error of ``gradcheck`` to a formula."""
    place = _PLACE.search(text)
    if place is None:
        return f"{entry.file}:{entry.line}: gradcheck refuses {name}"
    output, argument = outputs[int(place[1])], inputs[int(place[2])]
    if "forward mode" in text:
        line = entry.tangents.get(output, entry.line)
        return f'{entry.file}:{line}: the tangent of output {output} of {name} is wrong in "{argument}"'
    line = entry.gradients.get(argument, entry.line)
    return f'{entry.file}:{line}: the gradient of "{argument}" of {name} is wrong'
