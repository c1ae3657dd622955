"""Inputs of operators, recorded below autograd while PyTorch's own samples run.

Every OpInfo is run forward, backward, backward again and in forward mode, so that the operators that only formulas call
have inputs as well. Runs in a process of its own: some samples need much memory, and test modules change settings.
"""

from __future__ import annotations

import random
import sys
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

#: The maximum number of elements of recorded inputs: larger ones show no more mistakes.
MAX_ELEMENTS = 800
#: The maximum number of recorded inputs per operator.
MAX_INPUTS = 16
#: The maximum number of further inputs per operator with a rare string, flag or absence.
MAX_RARE_INPUTS = 16
#: The number of inputs up to which such a property is rare.
RARE_COUNT = 3
#: The maximum number of samples that are run per OpInfo.
MAX_SAMPLES = 24


def op_infos() -> list[Any]:
    """Import and return PyTorch's OpInfos."""
    if "expecttest" not in sys.modules:
        # PyTorch's tests compare strings with it, and samples only import it
        try:
            import expecttest  # noqa: F401  # is it there?
        except ImportError:
            stand_in: Any = types.ModuleType("expecttest")
            stand_in.TestCase = unittest.TestCase
            sys.modules["expecttest"] = stand_in
    from torch.testing._internal import common_methods_invocations as samples

    infos = list(samples.op_db)
    for kind in ("unary", "binary", "pointwise", "reduce", "other"):
        infos += getattr(samples, f"foreach_{kind}_op_db", [])
    return infos


def bound_arguments(schema: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """All arguments of a call in the order of the schema."""
    values = list(args)
    values += [kwargs.get(argument.name, argument.default_value) for argument in schema.arguments[len(args) :]]
    return values


def storable(value: Any) -> Any:
    """Copy a value for recording: tensors are copied, generators of random numbers are left out.

    Raises:
        ValueError: the value cannot be recorded.
    """
    import torch

    if isinstance(value, torch.Tensor):
        if type(value) is not torch.Tensor or value.layout != torch.strided or value.device.type != "cpu":
            raise ValueError("no plain tensor")
        if value.dtype in (torch.float16, torch.bfloat16, torch.complex32):
            raise ValueError("numbers too rough for differences")
        return value.detach().resolve_conj().resolve_neg().clone()
    if isinstance(value, (list, tuple)):
        return [storable(item) for item in value]
    if isinstance(value, torch.Generator):
        return None
    plain_types = (bool, int, float, complex, str, torch.dtype, torch.layout, torch.device, torch.memory_format)
    if value is None or isinstance(value, plain_types):
        return value
    raise ValueError("a value of another kind")


def shape_of(value: Any) -> Any:
    """Return the key that distinguishes inputs: shapes and dtypes of tensors, and all other values."""
    import torch

    if isinstance(value, torch.Tensor):
        return (*value.shape, str(value.dtype), value.is_contiguous())
    if isinstance(value, list):
        return tuple(shape_of(item) for item in value)
    return repr(value)


def elements(value: Any) -> int:
    """The number of elements of all tensors in a value."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.numel()
    return sum(map(elements, value)) if isinstance(value, list) else 0


def stem(base: str) -> str:
    """Return the stem of an operator's name, shared by its in-place, copying and internal forms."""
    return base.strip("_").removesuffix("_copy")


class Recording:
    """The recorded inputs so far; an interrupted recording resumes with them.

    Args:
        inputs: the inputs of an earlier recording.
        done: the number of OpInfos that it had run.

    Attributes:
        inputs: argument lists by the names of operators, ``add.Tensor``, those of in-place operators under their own.
        done: the number of OpInfos that have run.
    """

    def __init__(self, inputs: Mapping[str, list[list[Any]]] | None = None, done: int = 0) -> None:
        self.inputs: dict[str, list[list[Any]]] = {}
        self.done = done
        self._shapes: dict[str, set[Any]] = {}
        self._kinds: Counter[tuple[str, ...]] = Counter()
        for name, lists in (inputs or {}).items():
            for values in lists:
                self.add(name, values)

    def is_full(self, name: str) -> bool:
        """Whether the recording of an operator is complete."""
        return len(self._shapes.get(name, ())) >= MAX_INPUTS + MAX_RARE_INPUTS

    def add(self, name: str, values: list[Any]) -> None:
        """Record arguments that are small and differ from the recorded ones."""
        if not 0 < elements(values) <= MAX_ELEMENTS:
            return
        shapes = self._shapes.setdefault(name, set())
        shape = tuple(map(shape_of, values))
        kind = (name, *(repr(value) for value in values if value is None or isinstance(value, (bool, str))))
        if shape not in shapes and (len(shapes) < MAX_INPUTS or self._kinds[kind] < RARE_COUNT):
            shapes.add(shape)
            self._kinds[kind] += 1
            self.inputs.setdefault(name, []).append(values)


def record(
    dtype_name: str,
    operators: Iterable[str],
    recording: Recording,
    progress: Callable[[int, int], None],
    sources: Collection[str] | None = None,
) -> None:
    """Record inputs of operators.

    Args:
        dtype_name: the dtype of the samples, ``float64`` or ``complex128``.
        operators: the names of operators without overload.
        recording: the recording to continue; modified.
        progress: called with the number of finished OpInfos and their total.
        sources: the names of the OpInfos to run, None for all.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    names = {stem(name) for name in operators}

    class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch gives it no types
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if function.namespace == "aten":
                name = function.name().removeprefix("aten::")
                base = name.partition(".")[0]
                if stem(base) in names:
                    take(name, function._schema, args, kwargs)
            return function(*args, **kwargs)

    def take(name: str, schema: Any, args: Any, kwargs: Any) -> None:
        if recording.is_full(name):
            return
        try:
            values = [storable(value) for value in bound_arguments(schema, args, kwargs)]
        except ValueError:
            return
        recording.add(name, values)

    dtype = getattr(torch, dtype_name)
    infos = op_infos()
    with _without_traces():
        for number in range(recording.done, len(infos)):
            info = infos[number]
            if dtype not in info.dtypes or (sources is not None and info.full_name not in sources):
                continue
            recording.done = number
            progress(number, len(infos))
            torch.manual_seed(number)
            random.seed(number)
            differentiable = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
            try:
                more = {"num_input_tensors": [2], "low": 0.1, "high": 0.9} if info.name.startswith("_foreach_") else {}
                samples = info.sample_inputs("cpu", dtype, requires_grad=differentiable, **more)
                for sample in islice(samples, MAX_SAMPLES):
                    _run(info, sample, differentiable, Recorder)
            except MemoryError:
                raise
            except Exception:
                # a sample that fails here is skipped
                continue


@contextmanager
def _without_traces() -> Iterator[None]:
    """Disable the stack traces that PyTorch takes for its tests, which cost two thirds of the time.

    Seeding an absent device formats a stack, and each sample searches one for the current test.
    """
    import torch
    from torch.testing._internal.opinfo import core

    tests: Any = core
    before = torch.manual_seed, tests.extract_test_fn
    torch.manual_seed = torch.default_generator.manual_seed
    tests.extract_test_fn = lambda: None
    try:
        yield
    finally:
        torch.manual_seed, tests.extract_test_fn = before


def _tensors(value: Any) -> list[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    return [item for part in value for item in _tensors(part)] if isinstance(value, (list, tuple)) else []


def _run(info: Any, sample: Any, differentiable: bool, recorder: Any) -> None:
    """Run one sample in all modes of differentiation."""
    import torch

    parts = (sample.input, *sample.args, *sample.kwargs.values())
    everything = [item for part in parts for item in _tensors(part)]
    if sum(item.numel() for item in everything) > 4 * MAX_ELEMENTS:
        return
    inputs = [item for item in everything if item.requires_grad]
    with recorder():
        outputs = _tensors(info.op(sample.input, *sample.args, **sample.kwargs))
        outputs = [item for item in outputs if item.requires_grad]
        if info.inplace_variant is not None and isinstance(sample.input, torch.Tensor):
            _run_in_place(info, sample)
        if not differentiable or not outputs:
            return
        seeds = [torch.rand_like(item).requires_grad_() for item in outputs]
        try:
            gradients = torch.autograd.grad(outputs, inputs, seeds, allow_unused=True, create_graph=True)
            again = [item for item in gradients if item is not None and item.requires_grad]
            if again:
                torch.autograd.grad(again, [*inputs, *seeds], list(map(torch.rand_like, again)), allow_unused=True)
        except MemoryError:
            raise
        except Exception:
            # recorded up to the error
            pass
        if info.supports_forward_ad:
            _run_forward(info, sample)


def _run_forward(info: Any, sample: Any) -> None:
    import torch
    from torch.autograd import forward_ad

    make_dual: Any = forward_ad.make_dual

    def dual(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return make_dual(value.detach(), torch.rand_like(value)) if value.requires_grad else value
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(dual(item) for item in value)
        return value

    try:
        with forward_ad.dual_level():
            keywords = {key: dual(value) for key, value in sample.kwargs.items()}
            info.op(dual(sample.input), *map(dual, sample.args), **keywords)
    except MemoryError:
        raise
    except Exception:
        # not every sample supports forward mode
        pass


def _run_in_place(info: Any, sample: Any) -> None:
    import torch

    try:
        with torch.no_grad():
            info.inplace_variant(sample.input.clone(), *sample.args, **sample.kwargs)
    except MemoryError:
        raise
    except Exception:
        # not every sample can be modified in place
        pass


# ---- the OpInfos of operators


PATH = Path(__file__).parent.parent / "data" / "sample_sources.txt"


def table_text(version: str, sources: Mapping[str, Iterable[str]]) -> str:
    """The table: the version of PyTorch, and a line for each stem of operators."""
    lines = (f"{operator}: {' '.join(infos)}\n" for operator, infos in sorted(sources.items()))
    return "".join((f"# PyTorch {version}, by python -m tools.sample_sources\n", *lines))


@cache
def _table() -> tuple[str, dict[str, tuple[str, ...]]]:
    head, *lines = PATH.read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(": ") for line in lines)
    return head.split()[2].rstrip(","), {operator: tuple(infos.split()) for operator, _, infos in pairs}


def stems_with_samples() -> tuple[str, ...]:
    """The stems of operators that have inputs."""
    return tuple(_table()[1])


def sample_sources(stems: Iterable[str], version: str) -> set[str] | None:
    """Return the names of the OpInfos for stems of operators, or None if only a recording of all of them tells.

    Args:
        stems: the operators (:func:`derivlint.verify.inputs.samples.stem`).
        version: of the installed PyTorch; operators without OpInfos in the table's PyTorch may have some in another.
    """
    written, table = _table()
    stems = set(stems)
    if version != written and not stems <= table.keys():
        return None
    return {info for name in stems for info in table.get(name, ())}
