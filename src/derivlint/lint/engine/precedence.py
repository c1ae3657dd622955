"""Which findings follow from others: one slip is one diagnostic.

A rule declares what it yields to, ``META.yields_to``; no rule asks what another one says. A finding is dropped where a
finding of such a rule is at a range of the formula that overlaps with its own, in the same formula, or in the same
entry, as declared. A finding that rests on something else, the other formulas of its entry or another entry, is dropped
where those are wrong. What explains a finding is as severe and as certain as the finding itself, or becomes so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from itertools import chain
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.severity import Confidence, Severity
from derivlint.lint.wording import closest
from derivlint.source import Span


class Within(Enum):
    """Where a finding has to stand to explain another one."""

    #: at a range that overlaps, of the same entry
    RANGE = "range"
    #: anywhere at the same key and formula
    FORMULA = "formula"
    #: anywhere in the entry
    ENTRY = "entry"
    #: anywhere in the file
    FILE = "file"


class Yields(Struct, frozen=True):
    """What explains the findings of a rule.

    Attributes:
        rules: the names of the rules whose findings do.
        reason: why.
        within: where those findings have to stand.
        joins: whether they say the same more exactly: then they become as severe and as certain as the finding.
    """

    rules: tuple[str, ...]
    reason: str
    within: Within = Within.RANGE
    joins: bool = False


class Claim(Struct, frozen=True):
    """What a rule says, before it is known whether another one explains it.

    Attributes:
        diagnostic: the finding.
        about: the range that it is about, where that is not its place.
        rests_on: the operators of the entries that it rests on.
    """

    diagnostic: Diagnostic
    about: Span | None = None
    rests_on: tuple[str, ...] = ()


#: Rules that say that a formula cannot be read as it is meant.
UNREADABLE = (
    "assignment-in-formula",
    "comma-operator",
    "formula-for-non-tensor",
    "formula-too-large",
    "invalid-formula-syntax",
    "malformed-wrap-opt-if",
    "misspelt-keyword",
    "misused-auto-element-wise",
    "misused-auto-linear",
    "non-string-formula",
    "python-in-formula",
    "trailing-semicolon",
    "unknown-key",
)
#: Rules about names that mean nothing where they are.
UNNAMED = (
    "base-name-in-forward-formula",
    "grad-input-mask-of-single-argument",
    "grad-input-mask-out-of-range",
    "gradient-in-forward-formula",
    "grads-index-out-of-range",
    "mixed-grad-and-grads",
    "original-self-out-of-place",
    "overwritten-self-in-forward-formula",
    "primal-in-backward-formula",
    "uncalled-function",
    "undeclared-tangent",
    "undefined-constant",
    "undefined-function",
    "undefined-member",
    "undefined-name",
    "undefined-namespace-member",
)
#: Rules about types that C++ refuses.
UNTYPED = (
    "ambiguous-call",
    "ambiguous-name",
    "incompatible-branches",
    "missing-symint",
    "non-symint-size",
    "optional-without-value",
    "superfluous-symint",
    "wrong-argument-count",
    "wrong-argument-type",
    "wrong-construction",
    "wrong-index",
    "wrong-member-access",
    "wrong-operand-types",
    "wrong-result-type",
    "wrong-saved-expression",
)
#: Rules about what a formula gives, or what it is for: what rests on such a formula is not judged.
MISLEADING = frozenset(
    {
        *UNREADABLE,
        *UNNAMED,
        *UNTYPED,
        "affine-gradient",
        "affine-tangent",
        "argument-in-two-keys",
        "duplicate-yaml-key",
        "ignored-output-gradient",
        "missing-conjugate",
        "missing-grad-output",
        "mixed-key",
        "non-string-key",
        "nonlinear-gradient",
        "nonlinear-tangent",
        "only-first-of-grads",
        "mismatched-argument",
        "repeated-gradient",
        "repeated-name-in-key",
        "swapped-arguments",
        "unused-gradient",
        "unused-tangent",
        "wrong-gradient",
        "wrong-output-name",
        "wrong-tangent",
    }
)
#: Rules that say that entries may not be seen as such.
HIDING = frozenset(
    {"duplicate-yaml-key", "malformed-entry", "malformed-schema", "not-a-list-of-entries", "yaml-syntax-error"}
)
#: What explains that an operator has no entry.
WITHOUT_NAME = Yields(
    ("argument-in-two-keys", "unknown-key", "wrong-output-differentiability-length"),
    "the formulas of the entry may follow those of another one, without its name",
    Within.FILE,
)
CONFLICT = Yields(
    ("mixed-grad-and-grads", "mixed-named-gradient"), "it is not known which gradients are meant", Within.ENTRY
)
#: A key or formula that does not belong to the entry: those of the next one, where its name is missing.
JOINED_ENTRIES = Yields(
    ("argument-in-two-keys", "duplicate-yaml-key"),
    "the formulas of another entry may follow without its name",
    Within.ENTRY,
)
FOREIGN_KEY = Yields(
    ("argument-in-two-keys", "duplicate-yaml-key", "ignored-key-beside-dispatch", "unknown-key"),
    "the formulas of another entry may follow without its name",
    Within.ENTRY,
)
#: What explains anything in an entry.
SHADOWED = Yields(("reserved-argument-name",), "formulas do not see the argument that they name", Within.ENTRY)
UNNAMED_KEY = Yields(("non-string-key",), "the key may be meant to name an argument", Within.ENTRY)
EXCHANGED = Yields(("misspelt-keyword", "primal-in-backward-formula"), "formulas are exchanged", Within.ENTRY)
SYMBOLIC = Yields(("non-symint-size",), "the symbolic size has another type")
FULL_STOP = Yields(("uncalled-function", "undefined-member"), "a full stop stands for a comma", Within.FORMULA)
OTHER_VARIABLE = Yields(
    (
        "base-name-in-forward-formula",
        "gradient-in-forward-formula",
        "mixed-grad-and-grads",
        "primal-in-backward-formula",
    ),
    "another variable is meant",
    Within.FORMULA,
)
UNKNOWN_OUTPUTS = Yields(
    ("missing-forward-output",), "it is not known which outputs are meant to be differentiable", Within.ENTRY
)
BACKWARD_SIZES = Yields(
    ("illegal-operand-shapes", "wrong-gradient-shape"),
    "the backward formula that the automatic one is made of is wrong itself",
    Within.ENTRY,
)
UNREAD = Yields(
    # what comes before a semicolon at the end is read
    tuple(name for name in UNREADABLE if name != "trailing-semicolon"),
    "what cannot be read has neither names nor types",
    Within.FORMULA,
)
#: What explains that C++ cannot read a formula, or reads something else.
PYTHON = Yields(("python-in-formula",), "the formula is written in Python", Within.FORMULA)
UNCOMPILED = Yields((*UNREADABLE, *UNNAMED, *UNTYPED), "what does not compile has no meaning", Within.FORMULA)
UNCOMPILED_BESIDE = Yields(
    (*UNTYPED, *UNNAMED, "duplicate-yaml-key", "ignored-derivative", "mixed-key"),
    "the formulas of an entry are meant together, or none of them counts",
    Within.ENTRY,
)
UNNAMED_HERE = Yields((*UNREADABLE, *UNNAMED), "a name is reported where it comes first", Within.FORMULA)
UNCOMPILED_HERE = Yields((*UNREADABLE, *UNNAMED, *UNTYPED), "what does not compile has no meaning")

#: Rules that say where a formula stops being linear, which comes before its value.
NOT_LINEAR = (
    "affine-gradient",
    "affine-tangent",
    "nonlinear-gradient",
    "nonlinear-tangent",
    "unused-gradient",
    "unused-tangent",
)
WRONG_VALUE = Yields(
    (*NOT_LINEAR, "wrong-gradient", "wrong-tangent", "wrong-gradient-at-ties"),
    "the formula is wrong as a whole",
    Within.FORMULA,
)
#: What is wrong with every input comes before what is wrong with complex ones.
WRONG_SHAPE = Yields(
    ("illegal-operand-shapes", "wrong-gradient-shape", "wrong-tangent-shape"),
    "the formula is wrong as a whole",
    Within.FORMULA,
)
#: What makes a gradient of numbers that of indices, or asks for the tangents of indices.
OUTPUT_OF_INTEGERS = Yields(
    ("differentiable-integral-output",), "another output is meant to be differentiable", Within.ENTRY, joins=True
)
#: Rules that say which slip makes the value of a formula wrong.
SLIP = Yields(
    (
        "dropped-argument",
        "fewer-names-than-values",
        "functional-needs-self",
        "gradients-out-of-order",
        "identical-operands",
        "ignored-output-gradient",
        "integer-division",
        "miscast-gradient",
        "missing-grad-output",
        "mismatched-argument",
        "overwritten-tensor",
        "reordered-key",
        "repeated-gradient",
        "swapped-arguments",
    ),
    "the slip itself is known",
    Within.FORMULA,
    joins=True,
)
#: What explains that a formula is not linear.
NONLINEAR = (
    UNCOMPILED_HERE,
    SLIP,
    CONFLICT,
    UNNAMED_HERE,
    Yields(
        (
            "conflicting-non-differentiable",
            "duplicate-yaml-key",
            "formula-for-non-tensor",
            "grad-input-mask-of-single-argument",
            "grad-input-mask-out-of-range",
            "ignored-derivative",
            "unknown-key",
        ),
        "it is not known which arguments have a formula",
        Within.ENTRY,
    ),
)
WRONG_DEGREE = Yields(NOT_LINEAR, "what is not linear has no right value", Within.FORMULA)
#: What explains that a tangent is wrong.
WRONG_TANGENT = (
    UNCOMPILED,
    WRONG_DEGREE,
    SLIP,
    Yields(("aliased-tangent", "missing-tangent"), "the slip itself is known", Within.FORMULA, joins=True),
    UNCOMPILED_BESIDE,
)
#: What explains that the sizes of a formula cannot be right.
WRONG_SIZES = (
    UNCOMPILED,
    UNCOMPILED_BESIDE,
    WRONG_DEGREE,
    WRONG_VALUE,
    SLIP,
    Yields(
        ("aliased-tangent", "grads-index-out-of-range", "missing-tangent", "only-first-of-grads"),
        "the slip itself is known",
        Within.FORMULA,
        joins=True,
    ),
)


def unexplained(
    claims: Collection[Claim],
    yields_to: Mapping[str, tuple[Yields, ...]],
    premises: Premises,
) -> set[Diagnostic]:
    """The findings that follow from no other one.

    Args:
        claims: what the rules say of a file.
        yields_to: what the rules yield to, by their names.
        premises: what is wrong with the entries that findings rest on.
    """
    found = {claim.diagnostic: claim for claim in claims}
    by_entry: dict[str | None, dict[str, list[Diagnostic]]] = {}
    in_file: dict[str, list[Diagnostic]] = {}
    for diagnostic in found:
        by_entry.setdefault(diagnostic.entry, {}).setdefault(diagnostic.rule, []).append(diagnostic)
        in_file.setdefault(diagnostic.rule, []).append(diagnostic)
    rules = tuple(in_file)
    #: for each rule those of the rules that it yields to which found something
    reasons = {
        name: [(rule, each) for each in yields_to.get(name, ()) for rule in each.rules if rule in in_file]
        for name in rules
    }
    kept = set(found)
    joined: dict[Diagnostic, list[Diagnostic]] = defaultdict(list)
    for diagnostic, claim in found.items():
        if any(premises.reject(diagnostic, operator) for operator in claim.rests_on):
            kept.discard(diagnostic)
        in_entry = by_entry[diagnostic.entry]
        for rule, each in reasons[diagnostic.rule]:
            for other in (in_file if each.within is Within.FILE else in_entry).get(rule, ()):
                if _explains(each, other, diagnostic, claim.about or diagnostic.span):
                    kept.discard(diagnostic)
                    joined[other].append(diagnostic)
    return {_raised(item, joined[item]) if item in joined else item for item in kept}


def base_of(operator: str) -> str:
    """The base name of an operator."""
    return operator.partition(".")[0]


def _explains(declared: Yields, other: Diagnostic, diagnostic: Diagnostic, about: Span) -> bool:
    if not declared.joins and not _outweighs(other, diagnostic):
        return False
    if declared.within is Within.FILE:
        return True
    if declared.within is Within.ENTRY:
        return diagnostic.entry is not None
    if declared.within is Within.FORMULA:
        return (other.dispatch, other.key) == (diagnostic.dispatch, diagnostic.key) and diagnostic.key is not None
    one, two = other.span, about
    return (one.start < two.end and two.start < one.end) or one == two


def _raised(diagnostic: Diagnostic, joined: Iterable[Diagnostic]) -> Diagnostic:
    """A finding that is as severe and as certain as those that it explains."""
    every = (diagnostic, *joined)
    return replace(
        diagnostic, severity=max(item.severity for item in every), confidence=max(item.confidence for item in every)
    )


def _outweighs(other: Diagnostic | _Wrong, diagnostic: Diagnostic) -> bool:
    """Whether one finding is shown, and counts, wherever the other one does."""
    return other.severity >= diagnostic.severity and other.confidence >= diagnostic.confidence


class _Wrong(NamedTuple):
    """What is wrong, wherever it stands."""

    rule: str
    dispatch: str | None
    key: str | None
    severity: Severity
    confidence: Confidence


#: What findings rest on where something is wrong: an entry, the entries of a base name, or any.
_About = tuple[str, str]
_ANY: _About = ("any", "")


def _all_wrong(claims: Iterable[Claim]) -> Iterator[tuple[_About, _Wrong]]:
    for claim in claims:
        item = claim.diagnostic
        wrong = _Wrong(item.rule, item.dispatch, item.key, item.severity, item.confidence)
        if item.rule in HIDING:
            yield _ANY, wrong
        # what does not rest on something else itself
        if item.entry is not None and not claim.rests_on:
            if item.rule in MISLEADING:
                yield ("entry", item.entry), wrong
            yield ("base", base_of(item.entry)), wrong


class Premises:
    """What is wrong with the entries that findings rest on."""

    def __init__(
        self,
        claims: Iterable[Claim],
        yields_to: Mapping[str, tuple[Yields, ...]],
        unresolved: Iterable[str] = (),
    ) -> None:
        """Take what was found.

        Args:
            claims: what the rules say of a file.
            yields_to: what the rules yield to, by their names.
            unresolved: the operators of entries that were not found, as they are written.
        """
        self._yields_to = yields_to
        self._unresolved = tuple(sorted({base_of(name) for name in unresolved}))
        self._wrong: dict[_About, list[_Wrong]] = {}
        for about, wrong in _all_wrong(claims):
            self._wrong.setdefault(about, []).append(wrong)
        self._rejected: dict[tuple[str, Severity, Confidence], bool] = {}

    def reject(self, diagnostic: Diagnostic, operator: str) -> bool:
        """Whether a premise does not hold: something is wrong with the entry, or it may be one that is misspelt."""
        if operator == diagnostic.entry:
            # other findings of the entry are what it may follow from
            return any(
                _outweighs(other, diagnostic) and not self._follows(other, diagnostic)
                for other in self._wrong.get(("entry", operator), ())
            )
        question = (operator, diagnostic.severity, diagnostic.confidence)
        known = self._rejected.get(question)
        if known is None:
            known = self._rejected[question] = self._is_rejected(diagnostic, base_of(operator))
        return known

    def _is_rejected(self, diagnostic: Diagnostic, base: str) -> bool:
        wrong = chain(self._wrong.get(("base", base), ()), self._wrong.get(_ANY, ()))
        if any(_outweighs(other, diagnostic) for other in wrong):
            return True
        unresolved = self._unresolved
        # an entry that is not found may be that of the operator, misspelt
        return bool(unresolved) and (base in unresolved or closest(base, unresolved) is not None)

    def _follows(self, other: _Wrong, diagnostic: Diagnostic) -> bool:
        """Whether a finding may follow from another one of the entry, which is not dropped because of it."""
        same = (other.dispatch, other.key) == (diagnostic.dispatch, diagnostic.key)
        return any(
            diagnostic.rule in each.rules and (same or each.within is Within.ENTRY)
            for each in self._yields_to[other.rule]
        )
