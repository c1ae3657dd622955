"""What snippets print about tensors, and the list of all snippets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Snippet = Callable[[Any], Any]
SNIPPETS: dict[str, Snippet] = {}
#: The nodes that the running snippet showed.
SHOWN: list[Any] = []


def snippet(function: Snippet) -> Snippet:
    """Register a snippet; it is given the module ``torch``."""
    SNIPPETS[function.__name__] = function
    return function


def number(value: Any) -> Any:
    """A value for JSON in which all nan are equal; the last digits are the compiler's."""
    if isinstance(value, list):
        return [number(item) for item in value]
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    if isinstance(value, float):
        return f"{value + 0.0:.10g}"
    return value


def graph(node: Any, depth: int = 6) -> Any:
    """The nodes after one, with the output of each that the edge leads to."""
    if node is None:
        return None
    SHOWN.append(node)
    if depth == 0:
        return "..."
    return [node.name(), *([graph(following, depth - 1), place] for following, place in node.next_functions)]


def reported(value: Any) -> Any:
    """All about tensors that their user can ask for."""
    import torch

    if isinstance(value, torch.Tensor):
        facts: dict[str, Any] = {
            "shape": list(value.shape),
            "dtype": str(value.dtype),
            "requires_grad": value.requires_grad,
            "leaf": value.is_leaf,
            "view": value._is_view(),
            "graph": graph(value.grad_fn),
            "output": value.output_nr,
        }
        if not value.is_inference():
            facts["version"] = value._version
        plain = value.detach()
        if plain.layout == torch.strided and plain.device.type == "cpu" and not plain.is_nested:
            facts["stride"] = list(value.stride())
            facts["value"] = number(plain.resolve_conj().resolve_neg().tolist())
        return facts
    if isinstance(value, (list, tuple)):
        return [reported(item) for item in value]
    if isinstance(value, dict):
        return {str(key): reported(item) for key, item in value.items()}
    return number(value) if value is None or isinstance(value, (str, int, float, complex)) else repr(value)


def attempt(function: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, or its error."""
    try:
        return reported(function(*args))
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}


def gradient(torch: Any, value: Any, *inputs: Any) -> Any:
    """The gradients of the sum of a value, whose graph stays."""
    return torch.autograd.grad(value.sum(), inputs, retain_graph=True, allow_unused=True)


def real(torch: Any, *shape: int) -> Any:
    return (torch.rand(shape, dtype=torch.double) + 0.5).requires_grad_()


def cplx(torch: Any, *shape: int) -> Any:
    return torch.randn(shape, dtype=torch.cdouble).requires_grad_()
