"""The decorator of checks, ``@judges(Entry, Model)``, which declares parameters by type.

The first type is the subject of the check, the others are further arguments: the model of the file, the options of the
rule. Type checkers compare the types with the function's parameters. This module imports the model; commands that need
none import only :mod:`derivlint.lint.rule`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar, overload

from derivlint.cpp.problem import TypeProblemKind
from derivlint.formula import Node
from derivlint.lint.diagnostic import Finding
from derivlint.lint.option import Options
from derivlint.lint.rule import Check, Target
from derivlint.lint.suppressions.suppressions_in_use import SuppressionsInUse
from derivlint.model import DerivativeFormula, DispatchBody, Entry, Model
from derivlint.model.generated.typing import FormulaProblem

Subject = TypeVar("Subject", Model, Entry, DispatchBody, DerivativeFormula, FormulaProblem, SuppressionsInUse)
NodeType = TypeVar("NodeType", bound=Node)

#: The targets of checks by type; any other type is a kind of syntax node.
_TARGETS: dict[type, Target] = {
    Model: "model",
    Entry: "entry",
    DispatchBody: "body",
    DerivativeFormula: "formula",
    FormulaProblem: "problem",
    SuppressionsInUse: "suppressions",
}
_NEEDS: dict[type, str] = {Model: "model", Options: "options"}


@overload
def judges(
    subject: type[Subject], /, *, kinds: Collection[TypeProblemKind] = ()
) -> Callable[[Callable[[Subject], Iterable[Finding]]], Check]: ...
@overload
def judges(
    subject: type[Subject], needs: type[Model], /
) -> Callable[[Callable[[Subject, Model], Iterable[Finding]]], Check]: ...
@overload
def judges(
    subject: type[Subject], needs: type[Options], /, *, kinds: Collection[TypeProblemKind] = ()
) -> Callable[[Callable[[Subject, Options], Iterable[Finding]]], Check]: ...
@overload
def judges(
    subject: type[Subject], needs: type[Model], more: type[Options], /
) -> Callable[[Callable[[Subject, Model, Options], Iterable[Finding]]], Check]: ...
@overload
def judges(
    subject: type[NodeType], where: type[DerivativeFormula], /
) -> Callable[[Callable[[NodeType, DerivativeFormula], Iterable[Finding]]], Check]: ...


def judges(
    subject: type[Any], /, *needs: type[Any], kinds: Collection[TypeProblemKind] = ()
) -> Callable[[Callable[..., Iterable[Finding]]], Check]:
    """Declare the subject of a check.

    Args:
        subject: the type of the first argument.
        needs: the types of the other arguments: ``Model``, ``Options``, and for nodes ``DerivativeFormula``.
        kinds: the kinds of type problems to check, in written formulas; by default all kinds, in generated formulas
            too.
    """
    target: Target = _TARGETS.get(subject, "node")
    subjects = (subject,) if target == "node" else tuple(kinds)
    return lambda find: Check(target, tuple(_NEEDS[need] for need in needs if need in _NEEDS), subjects, find)
