"""Candidates that are one small edit away from the present formula.

Edits are made on the syntax tree and preserve the rest of the text; only unparsable text is edited by tokens. Each kind
has a weight, the number of such corrections in the history of PyTorch's derivatives.yaml; the more edits there are of a
kind, the less likely is each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from math import log

from msgspec.structs import replace

from derivlint.analysis.soundness import with_formula
from derivlint.cpp.naming import NAMESPACES
from derivlint.formula import Edit, apply_edits, parse_formula, tokens
from derivlint.formula.vocabulary import TRIVIA
from derivlint.lint.diagnostic import Diagnostic, Fix
from derivlint.lint.fixing import apply_fixes
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Model
from derivlint.model.model import probe_model
from derivlint.model.scope import visible_names
from derivlint.repair.candidates import Candidate, Target
from derivlint.repair.helper_calls import helper_calls, sibling_forms
from derivlint.repair.slips import WEIGHTS, Change, Slip
from derivlint.repair.tree_edits import TreeChanges
from derivlint.source import Span

#: The factor by which mistakes are likelier at an underlined position, and in a finding's fix.
AT_FINDING = 50
IN_FIX = 1000
#: The additional cost of a second mistake: derived formulas are likelier.
SECOND = log(IN_FIX)
#: Longer formulas are not edited: the number of edits is quadratic in that of tokens. PyTorch's longest has 245.
MAX_TOKENS = 400
MAX_CHARACTERS = 4000
#: Tokens that are often lost or mistyped.
_MARKS = ("(", ")", ",", ".", "::", "*", "-", "+", "/", "_")
#: How much likelier a bracket is lost at the end than anywhere else.
AT_END = 4


def edited_formulas(target: Target, model: Model) -> Iterator[Candidate]:
    """The candidates for a wrong formula that are one edit away from it, the likeliest first."""
    formula = target.formula
    if formula is None or formula.text is None or not formula.is_exact():
        return iter(())
    own = [item for item in target.findings if item.key == target.key]
    every = (
        *helper_calls(model, formula),
        *sibling_forms(formula),
        *_edited(model, formula, own),
    )
    candidates: dict[str, Candidate] = {}
    for candidate in every:
        twin = candidates.get(candidate.text)
        if twin is not None:
            candidate = replace(min(twin, candidate, key=lambda item: item.cost), edits=twin.edits or candidate.edits)
        candidates[candidate.text] = candidate
    for candidate in _fixed(model, formula, own):
        # an edit names the mistake, a fix only its cure
        candidates[candidate.text] = replace(candidates.get(candidate.text, candidate), cost=candidate.cost)
    candidates.pop(formula.text, None)
    return iter(sorted(candidates.values(), key=lambda candidate: candidate.cost))


def is_too_long(formula: DerivativeFormula) -> bool:
    """Whether a formula is too long to be edited."""
    text = formula.text or ""
    return len(text) > MAX_CHARACTERS or len(tokens(text)) > MAX_TOKENS


def twice_edited(target: Target, once: Candidate, model: Model) -> Iterator[Candidate]:
    """The candidates that are one edit away from another candidate."""
    probe = with_formula(model, target.body, target.key, once.text)
    formulas = [item for entry in probe.entries for item in entry.formulas] if probe is not None else []
    formula = next((item for item in formulas if item.key_text == target.key), None)
    if probe is None or formula is None:
        return iter(())
    twice = (
        Candidate(
            item.text,
            "edit",
            SECOND + once.cost + item.cost,
            cause=", and ".join(filter(None, (once.cause, item.cause))),
        )
        for item in (*sibling_forms(formula), *_edited(probe, formula, ()))
    )
    return iter(sorted(twice, key=lambda candidate: candidate.cost))


def _edited(model: Model, formula: DerivativeFormula, findings: Iterable[Diagnostic]) -> Iterator[Candidate]:
    if is_too_long(formula):
        return
    text = formula.text or ""
    tree = formula.parsed.tree
    if tree is not None:
        changes = list(TreeChanges(model, formula, tree))
    else:
        every = _token_changes(text, visible_names(formula))
        changes = [item for item in every if parse_formula(apply_edits(text, [item.edit])).tree is not None]
    totals: defaultdict[Slip, float] = defaultdict(float)
    for change in changes:
        totals[change.slip] += change.weight
    spans = [item.span for item in findings if item.span != formula.value_span]
    for change in changes:
        likelihood = WEIGHTS[change.slip] * change.weight / totals[change.slip]
        place = formula.range(change.edit.start, change.edit.end)
        if any(span.start <= place.end and place.start <= span.end for span in spans):
            likelihood *= AT_FINDING
        yield Candidate(apply_edits(text, [change.edit]), "edit", -log(likelihood), (change.edit,), change.cause)


def _fixed(model: Model, formula: DerivativeFormula, findings: Iterable[Diagnostic]) -> Iterator[Candidate]:
    """The formula after the fix of each finding, and after all of them."""
    entry, source = formula.entry, model.source
    fixed = [item for item in findings if item.fix is not None and all(map(entry.span.contains, _places(item.fix)))]
    start = source.text.rfind("\n", 0, entry.span.start) + 1
    for group in (*([item] for item in fixed), *([fixed] if len(fixed) > 1 else [])):
        outcome = apply_fixes(source, group, unsafe=True)
        end = entry.span.end + len(outcome.text) - len(source.text)
        probe = probe_model(outcome.text[start:end], model)
        formulas = [item for entry in probe.entries for item in entry.formulas if item.key_text == formula.key_text]
        if len(formulas) == 1 and formulas[0].text is not None:
            titles = dict.fromkeys(item.fix.title for item in group if item.fix is not None)
            yield Candidate(formulas[0].text, "edit", -log(IN_FIX), cause=", and ".join(titles))


def _places(fix: Fix) -> Iterator[Span]:
    return (edit.span for edit in fix.edits)


def _token_changes(text: str, names: Collection[str]) -> Iterator[Change]:
    """The changes of one token of a formula that does not parse."""
    parts = [token for token in tokens(text) if token.type not in TRIVIA]
    in_namespace = {name.start for namespace, name in pairwise(parts) if namespace.text in NAMESPACES}
    for token in parts:
        yield Change(Slip.TOKEN, Edit(token.start, token.end, ""), f"{quoted(token.text)} is superfluous")
        if token.text[:1].isalnum() or token.text[:1] in "_\"'":
            for name in (*names, *map(str, range(4))):
                if token.text.endswith(name) and token.text != name:
                    place = token.end - len(name)
                    yield Change(Slip.TOKEN, Edit(place, place, "("), '"(" is missing')
        else:
            for mark in _MARKS:
                if mark == "::" and token.start not in in_namespace:
                    continue
                cause = f"{quoted(mark)} is meant, not {quoted(token.text)}"
                yield Change(Slip.TOKEN, Edit(token.start, token.end, mark), cause)
    for left, right in pairwise(parts):
        for mark in _MARKS:
            if mark == "::" and right.start not in in_namespace:
                continue
            is_joint = mark in ("_", ".", "::")
            end = right.start if is_joint else left.end
            inserted = f" {mark}" if mark in "*-+/" else mark
            yield Change(Slip.TOKEN, Edit(left.end, end, inserted), f"{quoted(mark)} is missing")
    yield Change(Slip.TOKEN, Edit(len(text), len(text), ")"), '")" is missing', AT_END)
    yield Change(Slip.TOKEN, Edit(0, 0, "("), '"(" is missing')
