"""The sizes that derivlint computes are those of PyTorch's operators, on PyTorch's samples and on its own cases."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from derivlint.analysis.shapes.cases import legal_cases
from derivlint.operators.history import bundled_versions, load_release
from derivlint.operators.reference.definitions import DefinitionError, DefinitionKind, definitions
from derivlint.operators.shapes.size_cases import size_cases
from derivlint.operators.shapes.size_values import OPAQUE, UNKNOWN, IllegalSizesError, Sizes, Value
from derivlint.operators.shapes.sizes import (
    FAILURES,
    SizeFunction,
    derived_sizes,
    read_shapes,
    sizes_named,
    written_sizes,
)
from derivlint.schema import Argument, NativeFunction, NativeFunctions
from tests.sampling import CAMPAIGN, sample

pytestmark = pytest.mark.long

#: So many samples of each operator are run.
SAMPLES = 4
#: Operators that show what lines of sizes say and definitions do not.
TELLING = (
    *("linalg.lstsq", "linalg.inv", "native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update"),
    *("nn.functional.rrelu", "nn.functional.multi_margin_loss", "nn.functional.binary_cross_entropy"),
)


class Recorded(NamedTuple):
    """A call of an operator: sizes of tensors by the names of arguments, and the sizes of what it gives."""

    base: str
    arguments: Mapping[str, Value]
    first: str
    outputs: Value


def value(item: Any, *, in_list: bool = False) -> Value:
    """An argument as its sizes; masks among indices take several dimensions, which sizes do not tell."""
    if isinstance(item, torch.Tensor):
        is_mask = in_list and item.dtype in (torch.bool, torch.uint8)
        return UNKNOWN if item.is_nested or is_mask else Sizes(item.shape)
    if isinstance(item, (list, tuple)):
        return tuple(value(each, in_list=True) for each in item)
    return item if item is None or isinstance(item, (bool, int, float, complex, str)) else OPAQUE


def has_no_elements(item: Value) -> bool:
    return 0 in item if type(item) is Sizes else type(item) is tuple and any(map(has_no_elements, item))


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Writes down every call of an operator of PyTorch."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[Recorded] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        schema = func._schema
        given = {**dict(zip((each.name for each in schema.arguments), args, strict=False)), **(kwargs or {})}
        names = [each.name for each in schema.arguments]
        # in-place operators change sizes
        sizes = {name: value(given[name]) if name in given else None for name in names}
        for each in schema.arguments:
            if each.name not in given and each.has_default_value():
                sizes[each.name] = value(each.default_value)
        found = func(*args, **(kwargs or {}))
        base = schema.name.removeprefix("aten::")
        if not any(each.is_out for each in schema.arguments) and not any(map(has_no_elements, sizes.values())):
            outputs = value(found)
            base = base[:-1] if base.endswith("_") and not base.endswith("__") else base
            self.calls.append(Recorded(base, sizes, names[0] if names else "", outputs))
        return found


def run_samples() -> Iterator[Recorded]:
    """What is called for PyTorch's own samples of its operators, and for their gradients."""
    # its import takes seconds, in every process that collects tests
    from torch.testing._internal.common_methods_invocations import op_db

    operators: list[Any] = op_db
    for info in sample(operators, 70, always=[each for each in operators if each.name in TELLING]):
        try:
            samples = list(itertools.islice(info.sample_inputs("cpu", torch.float64, requires_grad=True), 20))
        except (RuntimeError, ValueError, NotImplementedError, AssertionError, TypeError):
            # it does not take such numbers
            continue
        for each in samples[:: max(1, len(samples) // SAMPLES)]:
            recorder = Recorder()
            try:
                with recorder:
                    differentiate(info(each.input, *each.args, **each.kwargs), each.input)
            except (RuntimeError, ValueError, NotImplementedError, TypeError, AssertionError):
                # refused halfway; what was called before counts
                pass
            yield from recorder.calls


def differentiate(found: Any, inputs: Any) -> None:
    outputs = found if isinstance(found, (list, tuple)) else [found]
    outputs = [each for each in outputs if isinstance(each, torch.Tensor) and each.requires_grad]
    tensors = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    tensors = [each for each in tensors if isinstance(each, torch.Tensor) and each.requires_grad]
    if outputs and tensors:
        total = sum((each.abs() if each.is_complex() else each).sum() for each in outputs)
        torch.autograd.grad(total, tensors, allow_unused=True)


@pytest.fixture(scope="module")
def recorded() -> list[Recorded]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list({repr(each): each for each in run_samples()}.values())


def computed(sizes: SizeFunction, call: Recorded) -> Value:
    """The sizes of a call, UNKNOWN where nothing is known about them."""
    given = {name: each for name, each in call.arguments.items() if name in sizes.parameters}
    if sizes.parameters and call.first not in given and sizes.parameters[0] not in given:
        given[sizes.parameters[0]] = call.arguments[call.first]
    try:
        return sizes.run(given)
    except IllegalSizesError:
        raise
    except FAILURES:
        return UNKNOWN


def agree(found: Value, wanted: Value) -> bool | None:
    """Whether sizes are equal; None where nothing is said of them."""
    if type(wanted) is tuple:
        if type(found) is not tuple:
            return None if found is UNKNOWN else False
        answers = {agree(one, other) for one, other in zip(found, wanted, strict=False)}
        return False if False in answers else True if True in answers else None
    # a number stands for a tensor that says how a kernel went
    if type(wanted) is not Sizes or found is UNKNOWN or found is None or isinstance(found, (int, float)):
        return None
    return bool(found == wanted and type(found) is Sizes)


def wrong(call: Recorded, sizes: SizeFunction) -> str:
    """What is wrong with the sizes of a call; empty where nothing is."""
    try:
        found = computed(sizes, call)
    except IllegalSizesError as error:
        return f"{call}: {error}"
    return f"{call}: {found}" if agree(found, call.outputs) is False else ""


def test_sizes_are_those_of_pytorch(recorded: list[Recorded]) -> None:
    """Of each operator that the samples reach, and of the kernels of its gradients."""
    known = set()
    problems: dict[str, str] = {}
    for call in recorded:
        sizes = sizes_named(call.base)
        if sizes is None:
            continue
        problem = wrong(call, sizes)
        if problem:
            problems.setdefault(call.base, problem)
        elif agree(computed(sizes, call), call.outputs):
            known.add(call.base)
    assert problems == {}
    assert len(known) >= (420 if CAMPAIGN else 100)


def tensors(item: Value, argument: Argument) -> Any:
    """Sizes as real tensors."""
    if type(item) is Sizes:
        name = argument.name
        if any(part in name for part in ("ind", "target", "offset", "zero_point", "pivots")):
            return torch.zeros(item, dtype=torch.int32 if "ivots" in name or "zero" in name else torch.int64)
        if "mask" in name:
            return torch.zeros(item, dtype=torch.bool)
        return torch.rand(item, dtype=torch.float64) + 0.5
    if type(item) is tuple:
        return [tensors(each, argument) for each in item]
    return None if item is OPAQUE or item is UNKNOWN else item


@pytest.fixture(scope="module")
def called_on_cases(installed_natives: NativeFunctions) -> dict[str, tuple[NativeFunction, Recorded]]:
    """Operators that the CPU runs on the arguments of ``data/size_cases.txt``, with what they give."""
    found = {}
    for function in installed_natives.functions:
        name = function.name
        if function.schema.is_out or function.namespace != "aten" or not size_cases(name.base, name.overload):
            continue
        packet = getattr(torch.ops.aten, name.name_without_overload, None)
        overload = getattr(packet, name.overload or "default", None)
        arguments = function.schema.arguments.flat_non_out
        keywords = {each.name for each in arguments} - {each.name for each in function.schema.arguments.flat_positional}
        for number, (case, _) in enumerate(legal_cases(function)):
            values = {each.name: tensors(case[each.name], each) for each in arguments}
            positional = [each for key, each in values.items() if key not in keywords]
            try:
                outputs = overload(*positional, **{key: values[key] for key in keywords})  # type: ignore[misc]
            except (RuntimeError, NotImplementedError, TypeError, IndexError):
                # on other devices, in other layouts, of other numbers
                continue
            call = Recorded(name.base, case, arguments[0].name, value(outputs))
            found[f"{name} {number}"] = (function, call)
    return found


def test_sizes_are_those_of_pytorch_on_our_own_cases(
    called_on_cases: dict[str, tuple[NativeFunction, Recorded]],
) -> None:
    problems = {}
    for name, (_, call) in called_on_cases.items():
        sizes = sizes_named(call.base)
        assert sizes is not None
        problem = wrong(call, sizes)
        if problem:
            problems[name] = problem
    assert problems == {}
    assert len(called_on_cases) >= 200


def test_nothing_is_written_that_follows_from_a_definition(
    recorded: list[Recorded], called_on_cases: dict[str, tuple[NativeFunction, Recorded]]
) -> None:
    """Where a line stands although there is a definition, the definition says something else, or nothing, somewhere.

    What a line refuses and a definition takes is in no sample.
    """
    calls: dict[str, list[Recorded]] = {}
    for call in (*recorded, *(call for _, call in called_on_cases.values())):
        calls.setdefault(call.base, []).append(call)
    superfluous = []
    for name, line in written_sizes().items():
        definition = definitions().get(name)
        if definition is None or definition.kind not in (DefinitionKind.HELPER, DefinitionKind.OPERATOR):
            continue
        if line.formulas[-1][1].startswith(("checked(", "expanding(")):
            continue
        derived = derived_sizes(name)
        if derived is not None and all(is_derived(call, derived) for call in calls.get(name, ())):
            superfluous.append(name)
    assert superfluous == []


def is_derived(call: Recorded, derived: SizeFunction) -> bool:
    """Whether a definition gives all sizes of a call."""
    try:
        found = computed(derived, call)
    except IllegalSizesError:
        return False
    outputs = call.outputs if type(call.outputs) is tuple else (call.outputs,)
    items = found if type(found) is tuple else (found,)
    return all(one == other for one, other in zip(items, outputs, strict=False)) and len(items) == len(outputs)


def test_every_line_is_of_an_operator_or_a_helper() -> None:
    """Of any bundled release; operators with the parameters of their schemas."""
    parameters: dict[str, set[str]] = {}
    helpers: set[str] = set()
    for version in bundled_versions():
        natives = load_release(version)
        for function in natives.functions:
            own = {each.name for each in function.schema.arguments.flat_non_out}
            parameters.setdefault(function.name.base, set()).update(own)
            parameters.setdefault(function.name.name_without_overload, set()).update(own)
        assert natives.declarations is not None
        helpers |= natives.declarations["functions"]["torch::autograd::generated::details"].keys()
    lines = written_sizes().values()
    assert [each.name for each in lines if each.kind is DefinitionKind.OPERATOR and each.name not in parameters] == []
    assert [each.name for each in lines if each.kind is DefinitionKind.HELPER and each.name not in helpers] == []
    foreign = {
        each.name: sorted({*each.parameters[1:]} - parameters[each.name])
        for each in lines
        if each.kind is DefinitionKind.OPERATOR and not {*each.parameters[1:]} <= parameters[each.name]
    }
    assert foreign == {}


X = Sizes((2, 3, 5))
#: Operators with arguments that PyTorch refuses.
ILLEGAL: tuple[tuple[str, dict[str, Value]], ...] = (
    ("add", {"self": X, "other": Sizes((2,))}),
    ("mm", {"self": Sizes((2, 3)), "mat2": Sizes((2, 3))}),
    ("mm", {"self": Sizes((2, 3)), "mat2": Sizes((3,))}),
    ("bmm", {"self": X, "mat2": Sizes((3, 5, 2))}),
    ("mv", {"self": Sizes((2, 3)), "vec": Sizes((2,))}),
    ("dot", {"self": Sizes((2,)), "tensor": Sizes((3,))}),
    ("matmul", {"self": X, "other": Sizes((3, 5))}),
    ("addmm", {"self": Sizes((3, 5)), "mat1": Sizes((2, 3)), "mat2": Sizes((3, 5))}),
    ("sum", {"self": X, "dim": (3,), "keepdim": False}),
    ("sum", {"self": X, "dim": (1, 1), "keepdim": False}),
    ("t", {"self": X}),
    ("transpose", {"self": X, "dim0": 0, "dim1": 3}),
    ("permute", {"self": X, "dims": (0, 1)}),
    ("expand", {"self": X, "size": (2, 3)}),
    ("expand", {"self": X, "size": (2, 2, 5)}),
    ("view", {"self": X, "size": (7, 5)}),
    ("view", {"self": X, "size": (7, -1)}),
    ("unsqueeze", {"self": X, "dim": 4}),
    ("squeeze", {"self": X, "dim": 3}),
    ("select", {"self": X, "dim": 3, "index": 0}),
    ("select", {"self": Sizes(), "dim": 0, "index": 0}),
    ("diagonal", {"self": X, "offset": 0, "dim1": 1, "dim2": 1}),
    ("unfold", {"self": X, "dimension": 1, "size": 4, "step": 1}),
    ("cat", {"tensors": (X, Sizes((2, 3))), "dim": 0}),
    ("cat", {"tensors": (X, Sizes((3, 3, 5))), "dim": 1}),
    ("stack", {"tensors": (X, Sizes((2, 3, 7))), "dim": 0}),
    ("split_with_sizes", {"self": X, "split_sizes": (1, 3), "dim": 1}),
    ("repeat", {"self": X, "repeats": (2, 3)}),
    ("gather", {"self": X, "dim": 1, "index": Sizes((3, 1, 5))}),
    ("gather", {"self": X, "dim": 1, "index": Sizes((2,))}),
    ("index_add", {"self": X, "dim": 1, "index": Sizes((2,)), "source": Sizes((2, 3, 5))}),
    ("avg_pool2d", {"self": Sizes((2, 3, 2, 2)), "kernel_size": (3, 3), "stride": ()}),
    ("linalg_cholesky_ex", {"self": X}),
    ("select_scatter", {"self": X, "src": Sizes((2, 3)), "dim": 1, "index": 0}),
    ("slice_scatter", {"self": X, "src": X, "dim": 1, "start": 0, "end": 2, "step": 1}),
)


@pytest.mark.parametrize(("name", "arguments"), ILLEGAL, ids=[f"{name}-{i}" for i, (name, _) in enumerate(ILLEGAL)])
def test_what_is_illegal_is_refused_by_pytorch_too(name: str, arguments: dict[str, Value]) -> None:
    sizes = sizes_named(name)
    assert sizes is not None
    with pytest.raises(IllegalSizesError):
        sizes.run(arguments)

    def real(key: str, item: Value) -> Any:
        if type(item) is Sizes:
            return torch.zeros(item, dtype=torch.int64 if key == "index" else torch.float64)
        return [real(key, each) for each in item] if type(item) is tuple else item

    with pytest.raises((RuntimeError, IndexError)):
        getattr(torch.ops.aten, name)(**{key: real(key, item) for key, item in arguments.items()})


@pytest.mark.parametrize("text", ["mm(self): product(self", "mm: self", "mm(self) self"])
def test_what_is_not_a_line_is_refused(text: str) -> None:
    with pytest.raises(DefinitionError):
        list(map(attrgetter("trees"), read_shapes(text)))
