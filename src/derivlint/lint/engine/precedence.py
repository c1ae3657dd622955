"""Precedence of rules: findings that follow from others are dropped, so that each mistake has one diagnostic.

Rules declare in ``META.yields_to`` which rules supersede them; no rule reads the findings of another. A finding is
dropped if a superseding finding overlaps its range, or is in the same formula or entry, as declared. A finding that
relies on other formulas or entries is dropped if those have errors. The remaining finding gets the greater severity and
confidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint.diagnostic import Confidence, Diagnostic, Severity
from derivlint.lint.wording import closest
from derivlint.source import Span


class Within(Enum):
    """The scopes in which findings supersede others."""

    #: in an overlapping range of the same entry
    RANGE = "range"
    #: anywhere in the same key or formula
    FORMULA = "formula"
    #: anywhere in the entry
    ENTRY = "entry"
    #: in the entry, in entries of its operator's other forms, and in those that the finding relies on
    OPERATOR = "operator"


class SupersededBy(Struct, frozen=True):
    """A declaration that findings of some rules supersede those of another.

    Attributes:
        rules: the names of the superseding rules.
        reason: the reason.
        within: the scope.
        joins: whether superseding findings state the same fact more exactly, and take over severity and confidence.
    """

    rules: tuple[str, ...]
    reason: str
    within: Within = Within.RANGE
    joins: bool = False


class RawFinding(Struct, frozen=True):
    """A finding before precedence.

    Attributes:
        diagnostic: the finding.
        about: the range that causes it, by default its span.
        rests_on: the operators of the entries that it relies on.
    """

    diagnostic: Diagnostic
    about: Span | None = None
    rests_on: tuple[str, ...] = ()


#: Rules about unreadable formulas.
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
#: Rules about undeclared names.
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
#: Rules about C++ type errors.
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
#: The rule about illegal sizes, which only supersedes findings about formulas derived from the backward formula.
ILLEGAL_SIZES = "illegal-operand-shapes"
MADE_OF_BACKWARD = frozenset({"wrong-auto-element-wise", "wrong-auto-linear"})
#: Rules about the value or key of a formula, which supersede findings that rely on the formula.
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
        ILLEGAL_SIZES,
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
        "wrong-gradient-shape",
        "wrong-output-name",
        "wrong-tangent",
    }
)
#: Rules about entries that may have been misread.
HIDING = frozenset(
    {"duplicate-yaml-key", "malformed-entry", "malformed-schema", "not-a-list-of-entries", "yaml-syntax-error"}
)
#: For findings about an operator without an entry.
WITHOUT_NAME = SupersededBy(
    ("argument-in-two-keys", "unknown-key", "wrong-output-differentiability-length"),
    "the formulas of the entry may follow those of another one, without its name",
    Within.OPERATOR,
)
CONFLICT = SupersededBy(
    ("mixed-grad-and-grads", "mixed-named-gradient"), "it is not known which gradients are meant", Within.ENTRY
)
#: For keys and formulas that belong to the next entry, whose name is missing.
JOINED_ENTRIES = SupersededBy(
    ("argument-in-two-keys", "duplicate-yaml-key"),
    "the formulas of another entry may follow without its name",
    Within.ENTRY,
)
FOREIGN_KEY = SupersededBy(
    ("argument-in-two-keys", "duplicate-yaml-key", "ignored-key-beside-dispatch", "unknown-key"),
    "the formulas of another entry may follow without its name",
    Within.ENTRY,
)
#: For all findings in an entry.
SHADOWED = SupersededBy(("reserved-argument-name",), "formulas do not see the argument that they name", Within.ENTRY)
UNNAMED_KEY = SupersededBy(("non-string-key",), "the key may be meant to name an argument", Within.ENTRY)
EXCHANGED = SupersededBy(
    ("duplicate-yaml-key", "misspelt-keyword", "primal-in-backward-formula"), "formulas are exchanged", Within.ENTRY
)
SYMBOLIC = SupersededBy(("non-symint-size",), "the symbolic size has another type")
FULL_STOP = SupersededBy(("uncalled-function", "undefined-member"), "a full stop stands for a comma", Within.FORMULA)
OTHER_VARIABLE = SupersededBy(
    (
        "base-name-in-forward-formula",
        "gradient-in-forward-formula",
        "mixed-grad-and-grads",
        "primal-in-backward-formula",
    ),
    "another variable is meant",
    Within.FORMULA,
)
UNKNOWN_OUTPUTS = SupersededBy(
    ("missing-forward-output",), "it is not known which outputs are meant to be differentiable", Within.ENTRY
)
UNREAD = SupersededBy(
    # the text before a trailing semicolon is parsed
    tuple(name for name in UNREADABLE if name != "trailing-semicolon"),
    "what cannot be read has neither names nor types",
    Within.FORMULA,
)
#: For findings about formulas that are invalid in C++ or have another meaning.
PYTHON = SupersededBy(("python-in-formula",), "the formula is written in Python", Within.FORMULA)
UNCOMPILED = SupersededBy((*UNREADABLE, *UNNAMED, *UNTYPED), "what does not compile has no meaning", Within.FORMULA)
UNCOMPILED_BESIDE = SupersededBy(
    (*UNTYPED, *UNNAMED, "duplicate-yaml-key", "ignored-derivative", "mixed-key"),
    "the formulas of an entry are meant together, or none of them counts",
    Within.ENTRY,
)
UNNAMED_HERE = SupersededBy((*UNREADABLE, *UNNAMED), "a name is reported where it comes first", Within.FORMULA)
UNCOMPILED_HERE = SupersededBy((*UNREADABLE, *UNNAMED, *UNTYPED), "what does not compile has no meaning")

#: Rules about nonlinear formulas; linearity takes precedence over values.
NOT_LINEAR = (
    "affine-gradient",
    "affine-tangent",
    "nonlinear-gradient",
    "nonlinear-tangent",
    "unused-gradient",
    "unused-tangent",
)
WRONG_VALUE = SupersededBy(
    (*NOT_LINEAR, "wrong-gradient", "wrong-tangent", "wrong-gradient-at-ties"),
    "the formula is wrong as a whole",
    Within.FORMULA,
)
#: For errors with complex inputs; errors with all inputs take precedence.
WRONG_SHAPE = SupersededBy(
    ("illegal-operand-shapes", "wrong-gradient-shape", "wrong-tangent-shape"),
    "the formula is wrong as a whole",
    Within.FORMULA,
)
#: For gradients and tangents of integral outputs.
OUTPUT_OF_INTEGERS = SupersededBy(
    ("differentiable-integral-output",), "another output is meant to be differentiable", Within.ENTRY, joins=True
)
#: Rules that name the mistake that causes a wrong value.
SLIP = SupersededBy(
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
        "misspelt-string",
        "overwritten-tensor",
        "reordered-key",
        "repeated-gradient",
        "swapped-arguments",
        "truncated-number",
    ),
    "the slip itself is known",
    Within.FORMULA,
    joins=True,
)
#: For findings that a formula is not linear.
NONLINEAR = (
    UNCOMPILED_HERE,
    SLIP,
    CONFLICT,
    UNNAMED_HERE,
    SupersededBy(
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
WRONG_DEGREE = SupersededBy(NOT_LINEAR, "what is not linear has no right value", Within.FORMULA)
#: For findings about values of gradients that are not computed; the rule's warnings are about other masks.
MASKED_OUT = SupersededBy(("missing-grad-input-mask",), "the mask switches a gradient off", Within.FORMULA)
#: For findings about wrong values.
WRONG_NUMBERS = (UNCOMPILED, WRONG_DEGREE, SLIP, MASKED_OUT, UNCOMPILED_BESIDE)
#: For findings about wrong tangents.
WRONG_TANGENT = (
    UNCOMPILED,
    WRONG_DEGREE,
    SLIP,
    MASKED_OUT,
    SupersededBy(
        ("aliased-tangent", "missing-tangent", "wrong-auto-element-wise", "wrong-auto-linear"),
        "the slip itself is known",
        Within.FORMULA,
        joins=True,
    ),
    UNCOMPILED_BESIDE,
)
#: For findings about wrong sizes.
WRONG_SIZES = (
    UNCOMPILED,
    UNCOMPILED_BESIDE,
    WRONG_DEGREE,
    WRONG_VALUE,
    SLIP,
    SupersededBy(
        (
            "aliased-tangent",
            "grads-index-out-of-range",
            "missing-tangent",
            "only-first-of-grads",
            "wrong-auto-element-wise",
        ),
        "the slip itself is known",
        Within.FORMULA,
        joins=True,
    ),
)


def resolve_precedence(
    findings: Collection[RawFinding],
    yields_to: Mapping[str, tuple[SupersededBy, ...]],
    premises: PremiseErrors,
) -> set[Diagnostic]:
    """Return the findings that no other one supersedes.

    Args:
        findings: the findings of all rules in a file.
        yields_to: the declarations of the rules, by name.
        premises: the errors of the entries that findings rely on.
    """
    by_diagnostic = {finding.diagnostic: finding for finding in findings}
    by_entry: dict[str | None, dict[str, list[Diagnostic]]] = {}
    in_file: dict[str, list[Diagnostic]] = {}
    for diagnostic in by_diagnostic:
        by_entry.setdefault(diagnostic.entry, {}).setdefault(diagnostic.rule, []).append(diagnostic)
        in_file.setdefault(diagnostic.rule, []).append(diagnostic)
    #: for each rule, the superseding rules that have findings in the file
    declarations = {
        name: [(rule, declared) for declared in yields_to.get(name, ()) for rule in declared.rules if rule in in_file]
        for name in in_file
    }
    surviving = set(by_diagnostic)
    joined: dict[Diagnostic, list[Diagnostic]] = defaultdict(list)
    for diagnostic, finding in by_diagnostic.items():
        if any(premises.reject(diagnostic, operator) for operator in finding.rests_on):
            surviving.discard(diagnostic)
        in_entry = by_entry[diagnostic.entry]
        for rule, declared in declarations[diagnostic.rule]:
            for cause in (in_file if declared.within is Within.OPERATOR else in_entry).get(rule, ()):
                if _supersedes(declared, cause, finding):
                    surviving.discard(diagnostic)
                    joined[cause].append(diagnostic)
    for diagnostic in surviving & joined.keys():
        every = (diagnostic, *joined[diagnostic])
        severity, confidence = max(item.severity for item in every), max(item.confidence for item in every)
        surviving.discard(diagnostic)
        surviving.add(replace(diagnostic, severity=severity, confidence=confidence))
    return surviving


def base_of(operator: str) -> str:
    """The base name of an operator."""
    return operator.partition(".")[0]


def _form_of(operator: str | None) -> str | None:
    """The base name that an operator shares with its in-place form."""
    return base_of(operator).rstrip("_") if operator is not None else None


def _supersedes(declared: SupersededBy, cause: Diagnostic, finding: RawFinding) -> bool:
    diagnostic = finding.diagnostic
    if not declared.joins and not _outweighs(cause, diagnostic):
        return False
    if declared.within is Within.OPERATOR:
        return _form_of(cause.entry) in map(_form_of, (diagnostic.entry, *finding.rests_on))
    if declared.within is Within.ENTRY:
        return diagnostic.entry is not None
    if declared.within is Within.FORMULA:
        return (cause.dispatch, cause.key) == (diagnostic.dispatch, diagnostic.key) and diagnostic.key is not None
    one, two = cause.span, finding.about or diagnostic.span
    return (one.start < two.end and two.start < one.end) or one == two


def _outweighs(cause: Diagnostic | _Error, diagnostic: Diagnostic) -> bool:
    """Whether a finding is shown and counts wherever another one would be."""
    return cause.severity >= diagnostic.severity and cause.confidence >= diagnostic.confidence


class _Error(NamedTuple):
    """A finding without its span."""

    rule: str
    dispatch: str | None
    key: str | None
    severity: Severity
    confidence: Confidence


class PremiseErrors:
    """The errors of entries that findings rely on."""

    def __init__(
        self,
        findings: Iterable[RawFinding],
        yields_to: Mapping[str, tuple[SupersededBy, ...]],
        unresolved: Iterable[str] = (),
    ) -> None:
        """Collect the errors.

        Args:
            findings: the findings of all rules in a file.
            yields_to: the declarations of the rules, by name.
            unresolved: the operators of entries without a function, as written.
        """
        self._yields_to = yields_to
        self._unresolved = tuple(sorted({base_of(name) for name in unresolved}))
        #: errors that may hide an entry, by base name and by operator
        self._hiding: list[_Error] = []
        self._of_base: dict[str, list[_Error]] = {}
        self._misleading: dict[str, list[_Error]] = {}
        for finding in findings:
            item = finding.diagnostic
            error = _Error(item.rule, item.dispatch, item.key, item.severity, item.confidence)
            if item.rule in HIDING:
                self._hiding.append(error)
            if item.entry is not None and not finding.rests_on:
                if item.rule in MISLEADING:
                    self._misleading.setdefault(item.entry, []).append(error)
                self._of_base.setdefault(base_of(item.entry), []).append(error)
        self._rejected: dict[tuple[str, Severity, Confidence], bool] = {}

    def reject(self, diagnostic: Diagnostic, operator: str) -> bool:
        """Whether the entry of an operator has errors, or may be an entry with a misspelt name."""
        if operator == diagnostic.entry:
            return any(
                _outweighs(error, diagnostic)
                and not self._follows(error, diagnostic)
                and (error.rule != ILLEGAL_SIZES or diagnostic.rule in MADE_OF_BACKWARD)
                for error in self._misleading.get(operator, ())
            )
        question = (operator, diagnostic.severity, diagnostic.confidence)
        rejected = self._rejected.get(question)
        if rejected is None:
            base, unresolved = base_of(operator), self._unresolved
            rejected = any(_outweighs(error, diagnostic) for error in (*self._of_base.get(base, ()), *self._hiding))
            # an unresolved entry may be a misspelt entry of the operator
            rejected = rejected or base in unresolved or (bool(unresolved) and closest(base, unresolved) is not None)
            self._rejected[question] = rejected
        return rejected

    def _follows(self, error: _Error, diagnostic: Diagnostic) -> bool:
        """Whether an error in the same entry may follow from the finding, which then stays."""
        same = (error.dispatch, error.key) == (diagnostic.dispatch, diagnostic.key)
        return any(
            diagnostic.rule in declared.rules and (same or declared.within is Within.ENTRY)
            for declared in self._yields_to[error.rule]
        )
