"""What the check of a rule looks at, said with types: ``@judges(Entry, Model)``.

The decorator tells the engine what to ask the check about, and what it takes beside: the model of the file, the values
of the rule's options. The type checker holds both against the parameters of the function.
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

#: What a check may look at, and how the engine calls that: the file, an entry, the formulas of a dispatch key, a key
#: with its formula, something that C++ refuses, and the comments that silence findings, when all others have spoken;
#: anything else is a kind of nodes.
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
    """Say what a check looks at.

    Args:
        subject: what it is asked about; a kind of nodes of syntax trees, with the formula that has them.
        needs: what it takes beside: ``Model``, ``Options``, and for nodes ``DerivativeFormula``.
        kinds: of what C++ refuses, the kinds that it is asked about, in formulas as they are written; all, in whatever
            PyTorch makes of formulas, where none is named.
    """
    target: Target = _TARGETS.get(subject, "node")
    asked = (subject,) if target == "node" else tuple(kinds)
    return lambda find: Check(target, tuple(_NEEDS[each] for each in needs if each in _NEEDS), asked, find)
