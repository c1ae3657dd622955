"""The results of checks: failures by rule, counts of comparisons, and the forms of gradients and tangents.

The form of a tensor is its type, layout and sizes, and the tensors whose memory it shares.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field

from derivlint.verify.code.functions import FORWARD, FunctionSpec
from derivlint.verify.comparison.numeric import CallResult, OperatorAtPoint, tensors
from derivlint.verify.inputs.layouts import is_plain

#: Tensors by name.
Named = Iterable[tuple[str, Any]]
WRONG_VJP = "wrong-vjp"
WRONG_JVP = "wrong-jvp"
INCONSISTENT = "inconsistent-vjp-jvp"
WRONG_SECOND = "wrong-second-derivative"
WRONG_UNDEFINED = "wrong-undefined-gradient"
MASK_IGNORED = "mask-ignored"
WRONG_SHAPE = "wrong-gradient-shape"
CRASH = "crash"
OTHER_CONVENTION = "different-convention"
NOT_FINITE = "non-finite-number"
#: The number of characters to which error messages are truncated.
MAX_MESSAGE = 160
#: The rules about first derivatives.
FIRST_ORDER = (WRONG_VJP, WRONG_JVP, WRONG_SHAPE)
#: The rules that compare values of formulas with each other.
_OWN = (INCONSISTENT, WRONG_SECOND, WRONG_UNDEFINED, MASK_IGNORED)
#: The kind of function with the outputs of a forward formula, the rule, the target, the position in it, and the number
#: of the directions.
Place = tuple[str, str, str, int, int]


class Form(Struct, frozen=True):
    """The properties of a gradient or tangent other than its values.

    Attributes:
        kind: its layout and type.
        sizes: its sizes, None if components differ.
        shares: the names of the tensors with the same memory.
    """

    kind: str
    sizes: tuple[int, ...] | None
    shares: frozenset[str]

    def difference(self, earlier: Form) -> str:
        """Describe the difference from an earlier version, or return an empty string.

        Memory that is no longer shared is not reported: a copy is correct as well.
        """
        if self.kind != earlier.kind:
            return f"is {self.kind}, and {earlier.kind} before"
        if self.sizes != earlier.sizes and self.sizes is not None and earlier.sizes is not None:
            return f"has the sizes {list(self.sizes)}, and {list(earlier.sizes)} before"
        shared = sorted(self.shares - earlier.shares)
        return f"shares its memory with {' and '.join(shared)}, and did not before" if shared else ""


def form_of(tensor: Any, named_tensors: Named) -> Form:
    """The form of a gradient or tangent.

    Args:
        tensor: the tensor.
        named_tensors: the tensors that it may share memory with.
    """
    kind, layout = (str(property_).removeprefix("torch.") for property_ in (tensor.dtype, tensor.layout))
    place = _memory(tensor)
    shares = frozenset(name for name, tensor_there in named_tensors if place and _memory(tensor_there) == place)
    return Form(f"{layout} {kind}", None if tensor.is_nested else tuple(tensor.shape), shares)


def saved(subject: OperatorAtPoint, called: CallResult) -> Named:
    """The arguments and outputs of an operator."""
    spec = subject.spec
    named = [*zip(spec.arguments, called.values, strict=True)]
    own = [value for value in spec.returns if value.name not in {argument.name for argument in spec.arguments}]
    for value, content in [*named, *zip(own, called.returns, strict=True)]:
        yield from ((f'"{value.name}"', item) for item in tensors(content) if item is not None)


def _memory(tensor: Any) -> int:
    """The address of a tensor's data; 0 if there is none, or it cannot be written to."""
    if not is_plain(tensor) or not tensor.numel() or tensor._is_zerotensor():
        return 0
    return int(tensor.untyped_storage().data_ptr())


def place(of: FunctionSpec, rule: str, target: str, part: int, turn: int) -> Place:
    """Return the key of a number that is the same in all versions of a formula."""
    about = " ".join((of.kind, *of.targets)) if of.kind == FORWARD else of.kind
    return about, rule, target, part, turn


class Failure(Struct, frozen=True):
    """A check that failed.

    Attributes:
        function: the number of the function.
        rule: the violated rule.
        target: the argument or output concerned.
        expected: the value by differences, or by the other formula.
        actual: the value of the formula, or None.
        message: the text of a failure that is not about values.
        part: the position of the tensor where ``target`` is a list.
        turn: the number of the random directions that showed it.
    """

    function: int
    rule: str
    target: str
    expected: float | None = None
    actual: float | None = None
    message: str = ""
    part: int = 0
    turn: int = 0

    def place(self, of: FunctionSpec) -> Place:
        """Return the key of the corresponding value of another version of the formula.

        Args:
            of: the function.
        """
        return place(of, self.rule, self.target, self.part, self.turn)

    @property
    def number(self) -> float | None:
        """The value of the formula, or its error if two values of the formula are compared."""
        if self.expected is None or self.actual is None or self.rule not in _OWN:
            return self.actual
        return self.actual - self.expected


class Tally(Struct):
    """Counts of comparisons, and the values at the last point.

    Attributes:
        compared: the number of compared derivatives.
        unjudged: the number of comparisons that could not be made.
        functions: the functions whose derivative was compared at least once.
        nonzero: those with a nonzero derivative.
        judged: those whose derivative was compared at the last point.
        numbers: the values of formulas at the last point, right or wrong (:attr:`Failure.number`).
        forms: the forms of gradients and tangents at the last point, by the kind of function, the target and the
            position in it.
    """

    compared: int = 0
    unjudged: int = 0
    functions: set[int] = field(default_factory=set)
    nonzero: set[int] = field(default_factory=set)
    judged: set[int] = field(default_factory=set)
    numbers: dict[Place, float] = field(default_factory=dict)
    forms: dict[tuple[str, str, int], Form] = field(default_factory=dict)

    def forget(self) -> None:
        """Clear the values of the previous point."""
        self.judged.clear()
        self.numbers.clear()
        self.forms.clear()

    def count(self, function: int, expected: float, actual: float) -> None:
        """Count a comparison."""
        self.compared += 1
        self.functions.add(function)
        self.judged.add(function)
        if expected or actual:
            self.nonzero.add(function)


def first_line(error: Exception) -> str:
    """Return the first line of an error message, truncated to whole sentences."""
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return line if len(line) <= MAX_MESSAGE else line[:MAX_MESSAGE].rpartition(". ")[0] or f"{line[:MAX_MESSAGE]}..."
