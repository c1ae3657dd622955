"""Cases for evaluating sizes: arguments of an operator with different primes as sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from derivlint.formula.vocabulary import words
from derivlint.operators.shapes.size_cases import size_cases
from derivlint.operators.shapes.size_values import OPAQUE, UNKNOWN, Sizes, Value
from derivlint.operators.shapes.sizes import FAILURES, SizeFunction, sizes_named, unsized
from derivlint.schema import Argument, NativeFunction
from derivlint.source.lazy import memoized

Values = Mapping[str, Value]

ATEN = "aten"
FOREACH = "_foreach_"
#: Names of arguments for one or several dimensions.
AXES = words("dim dims dimension axis")
KEEPDIM = "keepdim"
REDUCTION = "reduction"
#: The gradient argument of the backward operator of a loss.
OF_LOSS = "grad_output"
_X = Sizes((3, 2, 5))
#: The cases: sizes of the first tensor, sizes of the others, one dimension, several dimensions, and ``keepdim``.
_OF_ONE = ((_X, 1, (1,), False), (Sizes((3, 2, 5, 2)), -2, (0, -2), True), (Sizes((7,)), 0, (0,), False))
_WITHOUT_DIMS = ((_X, None, (), False), (_X, None, (), True))
_OF_MANY = (
    (_X, (_X,)),
    (_X, (Sizes((2, 1)), Sizes((5,)), Sizes())),
    (Sizes((2, 1)), (_X,)),
)
_DEFAULTS: Mapping[str, Value] = {"None": None, "True": True, "False": False, "[]": (), "Mean": 1}


class Case:
    """A generic case."""

    def __init__(self, number: int, tensors: tuple[Sizes, ...], dim: int | None, dims: tuple[int, ...], keepdim: bool):
        self.number = number
        self.tensors = tensors
        self.dim = dim
        self.dims = dims
        self.keepdim = keepdim

    def tensor(self, position: int) -> Sizes:
        """The sizes of a tensor, by its position among tensors."""
        return self.tensors[min(position, len(self.tensors) - 1)]


def size_function(function: NativeFunction) -> SizeFunction | None:
    """The function from argument sizes to output sizes of an operator, or None if unknown."""
    name = function.name
    base = name.name_without_overload if name.functional_overload else name.base.removeprefix(FOREACH)
    return sizes_named(base) if function.namespace == ATEN else None


@memoized
def legal_cases(function: NativeFunction) -> tuple[tuple[Values, Value], ...]:
    """The cases that an operator accepts, with the sizes of its outputs."""
    return tuple(_legal_cases(function))


def sample_cases(function: NativeFunction) -> Sequence[Values]:
    """The cases that an operator accepts; all of them if its output sizes depend on values."""
    if function.name.base in unsized():
        return tuple(_arguments(function))
    return [arguments for arguments, _ in legal_cases(function)]


def _legal_cases(function: NativeFunction) -> Iterator[tuple[Values, Value]]:
    if size_function(function) is None:
        return
    for arguments in _arguments(function):
        result = output_sizes(function, arguments)
        if result is not UNKNOWN:
            yield arguments, result


def output_sizes(function: NativeFunction, arguments: Values) -> Value:
    """The sizes of an operator's outputs; ``UNKNOWN`` if it does not accept the arguments, or has no size function."""
    sizes = size_function(function)
    if sizes is None:
        return UNKNOWN
    try:
        return sizes.run(_bound(function, sizes, arguments))
    except FAILURES:
        return UNKNOWN


def _bound(function: NativeFunction, sizes: SizeFunction, arguments: Values) -> Values:
    """Bind arguments to the parameters of a size function."""
    names = [argument.name for argument in function.schema.arguments.flat_non_out]
    if sizes.by_position:
        return {name: arguments[own] for name, own in zip(sizes.parameters, names, strict=False) if own in arguments}
    bound = {name: arguments[name] for name in sizes.parameters if name in arguments}
    if sizes.parameters and names and names[0] not in bound and sizes.parameters[0] not in bound:
        bound[sizes.parameters[0]] = arguments[names[0]]
    return bound


def _arguments(function: NativeFunction) -> Iterator[Values]:
    arguments = function.schema.arguments.flat_non_out
    recipes = size_cases(function.name.base.removeprefix(FOREACH), function.name.overload)
    for recipe in recipes:
        yield {item.name: recipe[item.name] if item.name in recipe else _plain(item) for item in arguments}
    if not recipes:
        yield from _made(arguments, is_foreach=function.name.is_foreach)


def _made(arguments: tuple[Argument, ...], *, is_foreach: bool) -> Iterator[Values]:
    tensors = [argument.name for argument in arguments if argument.type.is_tensor_like]
    for case in _cases(arguments, len(tensors)):
        values = {}
        for argument in arguments:
            if argument.type.is_tensor_like:
                value: Value = case.tensor(tensors.index(argument.name))
                if argument.type.is_list_like is not None and not is_foreach:
                    value = (value, value)
            elif is_foreach and argument.type.is_list_like is not None:
                value = 1.5
            else:
                value = _chosen(argument, case)
            values[argument.name] = value
        if values.get(REDUCTION) and OF_LOSS in values:
            values[OF_LOSS] = Sizes()
        yield values


def _cases(arguments: tuple[Argument, ...], tensors: int) -> Iterator[Case]:
    names = {argument.name for argument in arguments}
    if tensors > 1:
        for number, (first, further) in enumerate(_OF_MANY):
            yield Case(number, (first, *further), -1, (-1,), number == 1)
    elif names.isdisjoint(AXES):
        yield Case(0, (_X,), None, (), False)
    else:
        for number, (sizes, dim, dims, keepdim) in enumerate(_OF_ONE):
            yield Case(number, (sizes,), dim, dims, keepdim)
        if any(
            argument.name in AXES and (argument.type.is_nullable or argument.type.is_list_like)
            for argument in arguments
        ):
            for number, (sizes, none, empty, keepdim) in enumerate(_WITHOUT_DIMS):
                yield Case(number, (sizes,), none, empty, keepdim)


def _chosen(argument: Argument, case: Case) -> Value:
    name = argument.name
    if name in AXES:
        if argument.type.is_list_like is not None:
            return case.dims or (None if argument.type.is_nullable else ())
        return case.dim
    if name == KEEPDIM:
        return case.keepdim
    if name == REDUCTION:
        return case.number % 3
    return _plain(argument)


def _plain(argument: Argument) -> Value:
    """The default of an argument, or an arbitrary value."""
    default = argument.default
    if default is not None:
        return _DEFAULTS[default] if default in _DEFAULTS else _literal(default)
    if argument.type.is_nullable:
        return None
    base = str(argument.type.base)
    if argument.type.is_list_like is not None:
        return (True,) * (argument.type.is_list_like.size or 1) if base == "bool" else UNKNOWN
    if base == "bool":
        return False
    if base in ("int", "SymInt"):
        return 1
    return 1.5 if base in ("Scalar", "float") else OPAQUE if base != "Tensor" else UNKNOWN


def _literal(text: str) -> Value:
    if text[0] in "'\"":
        return text[1:-1]
    if text[0] == "[":
        return tuple(int(part) for part in text[1:-1].split(","))
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return OPAQUE
