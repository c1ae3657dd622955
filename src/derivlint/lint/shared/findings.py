"""Findings that several rules report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.undefined_tensors import UnguardedRead
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.formula import Binary, Unary
from derivlint.lint.diagnostic import Finding, Related
from derivlint.lint.option import Options
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DerivativeFormula, Entry, MatchProblem, Model
from derivlint.model.generated.foreach import ForeachProblem
from derivlint.model.generated.forward import InplaceProblem, MatchProblemKind
from derivlint.model.generated.gradients import GRADS
from derivlint.schema.natives import HelperBody
from derivlint.source import SourceFile
from derivlint.yaml_reader import Scalar, Sequence, YamlNode
from derivlint.yaml_reader.nodes import YamlProblemKind


def inplace_problems(
    entry: Entry, model: Model, kind: MatchProblemKind
) -> Iterator[tuple[MatchProblem, DerivativeFormula]]:
    """The formulas of an entry that in-place functions cannot use, for one reason."""
    for problem in model.match_problems(entry):
        detail = problem.detail
        if problem.kind is kind and isinstance(detail, InplaceProblem) and detail.derivative is not None:
            formula = detail.derivative.written
            if formula is not None:
                yield problem, formula


def foreach_problems(
    entry: Entry, model: Model, *kinds: MatchProblemKind
) -> Iterator[tuple[MatchProblem, ForeachProblem, DerivativeFormula]]:
    """The formulas of an entry that foreach functions cannot use, for given reasons."""
    for problem in model.match_problems(entry):
        detail = problem.detail
        if problem.kind in kinds and not problem.is_of_part and isinstance(detail, ForeachProblem):
            formula = detail.derivative.written
            if formula is not None and formula.parsed.tree is not None:
                yield problem, detail, formula


def rewrite_findings(
    entry: Entry,
    model: Model,
    kind: MatchProblemKind,
    cure: Callable[[ForeachProblem], str | None],
    is_another_slip: Callable[[DerivativeFormula, str], bool] = lambda formula, name: False,
) -> Iterator[Finding]:
    """Findings about names that the rewrite for a foreach function breaks, once per name and formula.

    Args:
        entry: the entry.
        model: the model of its file.
        kind: the kind of breakage.
        cure: returns the help.
        is_another_slip: whether another rule reports the name in the formula itself.
    """
    seen: set[tuple[DerivativeFormula, str]] = set()
    for problem, detail, formula in foreach_problems(entry, model, kind):
        word = next((word for word in formula.parsed.words if word.text == detail.name), None)
        if word is None or (formula, detail.name) in seen or is_another_slip(formula, detail.name):
            continue
        seen.add((formula, detail.name))
        yield Finding(
            formula.span_of(word),
            f"{quoted(str(problem.function.name))} shares this formula, in which "
            f"{quoted(detail.name)} becomes {quoted(detail.becomes or '')}",
            help=cure(detail),
            at=formula,
        )


def cure_for_lists(names: list[str]) -> str:
    """The help for a formula that needs the tangents of lists of tensors, which kernels do not unpack."""
    return f'call a function that takes {quoted_list(names)} and reads the tangents itself, as "cat_jvp" does'


def unguarded_findings(
    entry: Entry,
    model: Model,
    options: Options,
    reads: Callable[[Model, Interpretation], Iterable[UnguardedRead]],
    *,
    when: str,
    otherwise: str,
) -> Iterator[Finding]:
    """Findings about reads without a guard, except by operators in the option ``operators``.

    Args:
        entry: the entry.
        model: the model of its file.
        options: the options of the rule; ``operators`` lists operators that accept undefined tensors.
        reads: finds the reads in a formula.
        when: the condition under which the value is undefined, as the end of the message.
        otherwise: the formula for the undefined case.
    """
    for interpretation in analyses_of(model).interpretations(entry):
        formula = interpretation.formula
        for read in reads(model, interpretation):
            if not options.lists("operators", read.operator):
                yield Finding(
                    formula.span_of(read.node),
                    f"{_use(read)}, {when}",
                    help=(
                        'call a function that accepts undefined elements, such as "unbind_backward"'
                        if read.name == GRADS
                        else f'guard it: "{read.name}.defined() ? ... : {otherwise}"'
                    ),
                    at=formula.written,
                )


def _use(read: UnguardedRead) -> str:
    if not read.operator and isinstance(read.reader, (Binary, Unary)):
        return f"{quoted(read.reader.op)} is applied to {quoted(read.name)}"
    return f"{quoted(read.operator) if read.operator else 'an operator'} is passed {quoted(read.name)}"


_SCALARS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "timestamp": "a date",
    "binary": "binary data",
}


def kind_of(node: YamlNode) -> str:
    """The kind of a YAML node, such as ``a list`` or ``an integer``."""
    if isinstance(node, Scalar):
        return _SCALARS.get(node.kind, "a special value")
    return "a list" if isinstance(node, Sequence) else "a mapping"


def document_findings(model: Model, *kinds: YamlProblemKind) -> Iterator[Finding]:
    """Findings about problems of given kinds from the YAML reader."""
    for problem in model.document.problems:
        if problem.kind in kinds:
            related = tuple(Related(text, span) for text, span in problem.related)
            yield Finding(problem.span, problem.message, help=problem.help, related=related)


def shown_bodies(model: Model) -> Iterator[tuple[SourceFile, str, HelperBody]]:
    """The helpers with known bodies, with file and name; none of files that may not be quoted."""
    bodies = model.natives.bodies
    if bodies is not None and bodies.is_shown:
        for name, functions in bodies.functions.items():
            for body in functions:
                yield bodies.source, name, body
