"""Gradient checks on PyTorch's own samples, with an extension loaded or without; a script, run in its own process.

Arguments: the folder of the extension or ``-``, where it is built, the position of the first check. A line of JSON is
printed for each check, before it starts and when it is done, so that a crash or a hang costs one check.
"""

from __future__ import annotations

import json
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from derivlint.verify.inputs.samples import op_infos
from tests.emit.loading import load_with_classes
from tests.emit.more_calls import calls

#: Samples with more elements take too long.
LARGEST = 20_000
#: For each operator, as many samples of real numbers, from all over what PyTorch has, and fewer of the other kinds.
SAMPLES = 8
FEWER_SAMPLES = 3
#: These leave parts of their outputs as they find them in memory.
UNSTABLE = frozenset({"linalg.lstsq"})

RIGHT = "right"
NO_SAMPLE = "no sample with a gradient"
NO_AUTOGRAD = "not differentiable"


@dataclass(slots=True)
class Outcome:
    """What the checks of one operator said.

    Attributes:
        name: the operator, by OpInfo's names; after it what was checked of it, where that was not real numbers.
        result: ``RIGHT``, or why not.
        nodes: the generated nodes in the graphs of its outputs and of their gradients.
        ours: those of them that are the extension's.
        operators: the operators, by full name, that were called with the autograd kernels still to run.
        values: numbers that tell other outputs and gradients apart; sums differ in the last digits from run to run.
        said: the errors for what is not allowed.
    """

    name: str
    result: str
    nodes: list[str] = field(default_factory=list)
    ours: list[str] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


def tensors(value: Any) -> list[Any]:
    """The tensors in an argument."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    return [item for part in value for item in tensors(part)] if isinstance(value, (list, tuple)) else []


def rebuilt(value: Any, given: Iterator[Any]) -> Any:
    """An argument with other tensors in the place of those that require a gradient."""
    import torch

    if isinstance(value, torch.Tensor):
        return next(given) if value.requires_grad else value
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(rebuilt(part, given) for part in value)
    return value


@dataclass(frozen=True, slots=True)
class Case:
    """A call of an operator as a function of the tensors that require a gradient."""

    inputs: tuple[Any, ...]
    function: Callable[..., tuple[Any, ...]]
    sample: Any


def cases(operator: Any, dtype: Any, *, is_inplace: bool) -> list[Case]:
    """All calls that are small enough."""
    # lists are as long as they are for graphics cards and full of poles, where this is not said
    more = {"num_input_tensors": [4], "low": 0.1, "high": 0.9} if operator.name.startswith("_foreach_") else {}
    samples = operator.sample_inputs("cpu", dtype, requires_grad=True, **more)
    found = [case(operator, sample, is_inplace=is_inplace) for sample in samples]
    return [each for each in found if each is not None]


def case(operator: Any, sample: Any, *, is_inplace: bool) -> Case | None:
    parts = (sample.input, *sample.args, *sample.kwargs.values())
    inputs = tuple(item for part in parts for item in tensors(part) if item.requires_grad)
    if not inputs or sum(item.numel() for item in inputs) > LARGEST or not all(item.numel() for item in inputs):
        return None
    if is_inplace and sample.broadcasts_input:
        return None
    called = operator.inplace_variant if is_inplace else operator.op

    def function(*given: Any) -> tuple[Any, ...]:
        values = iter(given)
        first = rebuilt(sample.input, values)
        args = [rebuilt(part, values) for part in sample.args]
        keywords = {key: rebuilt(part, values) for key, part in sample.kwargs.items()}
        if is_inplace:
            first = [item.clone() for item in first] if isinstance(first, (list, tuple)) else first.clone()
        result = operator.gradcheck_wrapper(called, first, *args, **keywords)
        if is_inplace and result is None:
            result = first
        if sample.output_process_fn_grad is not None:
            result = sample.output_process_fn_grad(result)
        return tuple(item for item in tensors(result) if item.is_floating_point() or item.is_complex())

    return Case(inputs, function, sample)


def spread(items: list[Case], count: int) -> list[Case]:
    """As many items, from all over the list."""
    if len(items) <= count:
        return items
    return [items[index * (len(items) - 1) // max(count - 1, 1)] for index in range(count)]


def graph(outputs: Iterable[Any]) -> Iterator[Any]:
    """All generated nodes after the outputs: those that are not namespaced class written by hand."""
    todo = [item.grad_fn for item in outputs if item.grad_fn is not None]
    seen = set(todo)
    while todo:
        node = todo.pop()
        if "Backward" in node.name() and "::" not in node.name():
            yield node
        more = [following for following, _ in node.next_functions if following is not None and following not in seen]
        seen.update(more)
        todo.extend(more)


def numbers(values: Iterable[Any]) -> Iterator[float]:
    """For each tensor two sums that depend on all its elements, on the second one with their places."""
    import torch

    for value in values:
        if value is None:
            yield -1.0
            continue
        plain = value.detach().resolve_conj().resolve_neg()
        plain = (plain if plain.layout == torch.strided else plain.to_dense()).reshape(-1).to(torch.complex128)
        plain = torch.view_as_real(plain).nan_to_num(7.0, 8.0, 9.0)
        weights = torch.arange(1, plain.numel() + 1, dtype=plain.dtype).reshape(plain.shape).cos()
        yield float(plain.abs().sum())
        yield float((plain * weights).sum())


class Checks:
    """The checks of all operators.

    Args:
        classes: those of the loaded extension's nodes, none without one.
    """

    def __init__(self, classes: frozenset[type[Any]]) -> None:
        self._classes = classes

    def run(self, operator: Any, kind: str, outcome: Outcome) -> None:
        """Check one operator: ``""`` for real numbers, ``complex``, ``in-place`` or ``out``."""
        import torch

        torch.manual_seed(0)
        random.seed(0)
        dtype = torch.complex128 if kind == "complex" else torch.float64
        found = cases(operator, dtype, is_inplace=kind == "in-place")
        checked = 0
        for each in spread(found, FEWER_SAMPLES if kind else SAMPLES):
            if kind == "out":
                checked += self._check_out(operator, each, outcome)
                continue
            # before anything that may fail
            self._record_operators(operator, each, outcome)
            outputs = self._record_graph(operator, each, outcome)
            if any(item.requires_grad for item in outputs):
                self._check(operator, each, outcome)
                checked += 1
        outcome.result = RIGHT if checked else NO_SAMPLE

    def _record_operators(self, operator: Any, each: Case, outcome: Outcome) -> None:
        try:
            with recorder(outcome):
                evaluated(operator, each)
        except Exception as error:
            # some operators do not work in such a mode, in PyTorch either
            outcome.said.append(f"recording: {type(error).__name__}")

    def _record_graph(self, operator: Any, each: Case, outcome: Outcome) -> tuple[Any, ...]:
        outputs, gradients = evaluated(operator, each)
        if operator.name not in UNSTABLE:
            outcome.values.extend(numbers([*outputs, *gradients]))
        self._record_nodes([*outputs, *gradients], outcome)
        return outputs

    def _record_nodes(self, values: Sequence[Any], outcome: Outcome) -> None:
        nodes = list(graph(item for item in values if item is not None))
        outcome.nodes = sorted({*outcome.nodes, *(node.name() for node in nodes)})
        outcome.ours = sorted({*outcome.ours, *(node.name() for node in nodes if type(node) in self._classes)})

    def run_without_derivatives(self, operator: Any, outcome: Outcome) -> None:
        """What an operator says that PyTorch does not differentiate."""
        import torch

        torch.manual_seed(0)
        random.seed(0)
        if torch.float64 not in operator.dtypes:
            return
        calls = [operator.op, *filter(None, [operator.inplace_variant])]
        for sample in list(operator.sample_inputs("cpu", torch.float64))[:FEWER_SAMPLES]:
            for called in calls:
                outcome.said.append(self._said_without(called, sample, outcome))

    def _said_without(self, called: Any, sample: Any, outcome: Outcome) -> str:
        import torch

        def wanting(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return value.detach().requires_grad_() * 1 if value.is_floating_point() else value
            return [wanting(item) for item in value] if isinstance(value, list) else value

        try:
            with recorder(outcome):
                result = called(wanting(sample.input), *map(wanting, sample.args), **sample.kwargs)
            found = [item for item in tensors(result) if item.requires_grad]
            self._record_nodes(found, outcome)
            said = " ".join(f"{item.grad_fn.name()} {item._version}" for item in found)
            sum(item.sum() for item in found).backward() if found else None
            return said
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    def _check(self, operator: Any, each: Case, outcome: Outcome) -> None:
        import torch

        options: dict[str, Any] = {"fast_mode": True, "nondet_tol": operator.gradcheck_nondet_tol or 0.0}
        outcome.result = "gradcheck"
        torch.autograd.gradcheck(each.function, each.inputs, **options)
        if operator.supports_forward_ad:
            outcome.result = "forward"
            torch.autograd.gradcheck(
                each.function,
                each.inputs,
                check_forward_ad=True,
                check_backward_ad=False,
                check_undefined_grad=False,
                **options,
            )
        if operator.supports_gradgrad:
            outcome.result = "gradgradcheck"
            torch.autograd.gradgradcheck(each.function, each.inputs, **options)

    def _check_out(self, operator: Any, each: Case, outcome: Outcome) -> int:
        """The function with out arguments gives what the other gives, and refuses to be differentiated."""
        import torch

        sample = each.sample
        with torch.no_grad():
            expected = operator.op(sample.input, *sample.args, **sample.kwargs)
            targets = [torch.empty_like(item) for item in tensors(expected)]
            if not targets:
                return 0
            out = targets[0] if isinstance(expected, torch.Tensor) else tuple(targets)
            with recorder(outcome):
                operator.op(sample.input, *sample.args, **sample.kwargs, out=out)
        outcome.result = "out"
        for target, item in zip(targets, tensors(expected), strict=True):
            torch.testing.assert_close(target, item, equal_nan=True, msg="another result than without out")
        outcome.values.extend([*numbers(targets), *(item._version for item in targets)])
        try:
            operator.op(sample.input, *sample.args, **sample.kwargs, out=out)
            outcome.said.append("no error")
        except Exception as error:
            outcome.said.append(f"{type(error).__name__}: {error}")
        return 1


def evaluated(operator: Any, each: Case) -> tuple[tuple[Any, ...], Sequence[Any]]:
    """Outputs and gradients."""
    import torch

    outputs = each.function(*each.inputs)
    differentiable = tuple(item for item in outputs if item.requires_grad)
    if not differentiable:
        return outputs, ()
    ones = tuple(torch.ones_like(item) for item in differentiable)
    return outputs, torch.autograd.grad(
        differentiable, each.inputs, ones, allow_unused=True, create_graph=operator.supports_gradgrad
    )


def recorder(outcome: Outcome) -> Any:
    """A mode that takes down the operators that are called; it comes after the autograd kernels."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch gives it no types
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = function.name().removeprefix("aten::")
            if function.namespace == "aten" and name not in outcome.operators:
                outcome.operators.append(name)
            return function(*args, **(kwargs or {}))

    return Recorder()  # type: ignore[no-untyped-call]  # torch gives it no types


def foreign_kernels(operators: Iterable[str]) -> list[str]:
    """The operators whose autograd kernel comes from PyTorch's own files, although an extension overrides them."""
    import torch

    found = []
    for name in operators:
        table = torch._C._dispatch_dump_table(f"aten::{name}").splitlines()
        if not any(re.match(r"Autograd.*registered at (.*/)?kernels_\d+\.cpp:", row) for row in table):
            found.append(name)
    return found


def kinds(operator: Any) -> Iterator[str]:
    """What is checked of an operator."""
    import torch

    supported = operator.supported_backward_dtypes("cpu")
    if not operator.supports_autograd or not {torch.float64, torch.complex128} & supported:
        return
    if torch.float64 in supported:
        if operator.op is not operator.inplace_variant:
            yield ""
        if operator.inplace_variant is not None and operator.supports_inplace_autograd:
            yield "in-place"
        if operator.supports_out and not operator.name.startswith("_foreach_") and operator.name not in UNSTABLE:
            yield "out"
    if torch.complex128 in supported and operator.op is not operator.inplace_variant:
        yield "complex"


def main(folder: str, build_folder: str, start: int) -> None:
    """Run all checks from a position on."""
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    classes: frozenset[type[Any]] = frozenset()
    operators = [*op_infos(), *calls()]
    if folder != "-":
        extension, classes = load_with_classes(folder, build_folder)
        print(json.dumps(["kernels", foreign_kernels(extension.operators)]), flush=True)
    checks = Checks(classes)
    todo = [(operator, kind) for operator in operators for kind in (list(kinds(operator)) or ["none"])]
    for position in range(start, len(todo)):
        operator, kind = todo[position]
        name = " ".join(filter(None, (operator.name, operator.variant_test_name, kind if kind != "none" else "")))
        print(json.dumps([position, {"name": name}]), flush=True)
        outcome = Outcome(name, NO_AUTOGRAD)
        if kind == "none":
            checks.run_without_derivatives(operator, outcome)
        else:
            try:
                checks.run(operator, kind, outcome)
            except Exception as error:
                where = f" in {outcome.result}" if outcome.result != NO_AUTOGRAD else ""
                reason = (str(error).splitlines() or [""])[0]
                outcome.result = f"{type(error).__name__}{where}: {reason}"
        # C++ leaves the order in which operands are evaluated to the compiler
        outcome.operators.sort()
        print(json.dumps([position, asdict(outcome)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
