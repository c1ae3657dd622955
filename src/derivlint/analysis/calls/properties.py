"""Sizes, strides, layouts and other properties of tensors that are passed for those of another kind or tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from derivlint.analysis.calls.argument_order import ArgumentMismatch, MismatchKind
from derivlint.analysis.interpretation.callee import CallArgument, CallFacts, callee_name, role_of
from derivlint.analysis.interpretation.facts import Dependence
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.cpp.cpp_type import TENSOR
from derivlint.cpp.declarations.declaration import Parameter
from derivlint.formula import Call, Name, unparenthesized
from derivlint.formula.vocabulary import words
from derivlint.operators.special import ParameterRole

#: The last words of parameters for properties of a tensor,
PROPERTIES = words("sizes strides layout")
#: of those that are for a property of the tensor before them,
OWNED = PROPERTIES | words("st dtype options blocksize geometry")
#: and of lists of sizes or strides.
KINDS = dict.fromkeys(words("size sizes shape"), "sizes") | dict.fromkeys(words("stride strides"), "strides")
#: The tensors before them that are the argument of the key, whatever its name is.
DIFFERENTIATED = ("self", "input")


def mixed_properties(interpretation: Interpretation) -> Iterator[ArgumentMismatch]:
    """The sizes, strides or layouts of different tensors that a call takes as those of one; one for each call."""
    formula = interpretation.formula
    for call in interpretation.calls:
        owners: dict[str, list[tuple[str, CallArgument]]] = {}
        for argument in call.arguments:
            prefix, _, property_name = (argument.parameter.name if argument.parameter else "").rpartition("_")
            read = interpretation.facts[argument.node].dependence
            if property_name in PROPERTIES and len(read) == 1 and Dependence.METADATA in read.values():
                owners.setdefault(prefix, []).append((next(iter(read)), argument))
        for pairs in owners.values():
            counts = Counter(owner for owner, _ in pairs)
            usual = counts.most_common(1)[0][0]
            blamed = next((argument for owner, argument in pairs if owner != usual), None)
            if blamed is not None:
                counterpart = next(argument for owner, argument in pairs if owner == usual)
                text = formula.source_of(counterpart.node)
                yield ArgumentMismatch(MismatchKind.OTHER_PROPERTY, formula, call, (blamed, counterpart), (text,))
                break


def mistaken_properties(interpretation: Interpretation) -> Iterator[ArgumentMismatch]:
    """The strides for sizes and vice versa, and the properties of other tensors than meant; one for each call."""
    for call in interpretation.calls:
        mismatches = (_mistaken_property(interpretation, call, argument) for argument in call.arguments)
        mismatch = next(filter(None, mismatches), None)
        if mismatch is not None:
            yield mismatch


def _mistaken_property(
    interpretation: Interpretation, call: CallFacts, argument: CallArgument
) -> ArgumentMismatch | None:
    formula = interpretation.formula
    prefix, _, last = (argument.parameter.name if argument.parameter else "").rpartition("_")
    kind, passed = KINDS.get(last), _property_of(interpretation, argument)
    if kind is not None and passed in set(KINDS.values()) - {kind}:
        return ArgumentMismatch(MismatchKind.SIZES_AND_STRIDES, formula, call, (argument,), (passed, kind))
    if last in OWNED and passed is not None and len(formula.names) == 1 and formula.is_backward:
        (owner,), (name,) = interpretation.facts[argument.node].dependence, formula.names
        # the input of a second derivative for the gradient is another tensor
        is_gradient = role_of(Parameter(TENSOR, name)) is ParameterRole.GRADIENT
        if prefix in (*DIFFERENTIATED, name) and owner not in (prefix, name) and not is_gradient:
            return ArgumentMismatch(MismatchKind.OTHER_OWNER, formula, call, (argument,), (owner, name))
    return None


def _property_of(interpretation: Interpretation, argument: CallArgument) -> str | None:
    """The property of a single tensor that an argument is: "sizes" for ``self.sym_sizes()``."""
    read, node = interpretation.facts[argument.node].dependence, unparenthesized(argument.node)
    if list(read.values()) != [Dependence.METADATA]:
        return None
    name = None
    if isinstance(node, Name) and node.simple is not None:
        # a saved property
        name = node.simple.removeprefix(f"{next(iter(read))}_").removesuffix("_opt")
    elif isinstance(node, Call):
        name = callee_name(node)
    return name.removeprefix("sym_") if name is not None else None
