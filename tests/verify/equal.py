"""Formulas written in another way that means the same, beside themselves: ``python -m tests.verify.equal --seed 1``."""

from __future__ import annotations

import argparse
import random
import time

from derivlint.model import Model, build_model
from derivlint.operators import Book
from derivlint.schema import load_index
from derivlint.source import SourceFile
from derivlint.verify.base import Base
from derivlint.verify.comparison.verdicts import FindingVerdict
from derivlint.verify.findings import JudgedFinding, judged_findings
from derivlint.verify.known import known_findings
from derivlint.verify.runner import ORDINARY, QUICK, Effort, RunOptions, verify
from tests.conftest import packaged_folder
from tests.mutators.rewrites import REWRITES, written_formulas
from tests.slips.generate import Slip

#: Rewrites that are not equal: some helpers ask whether the matrix requires a gradient, which a copy does not, and
#: a sparse matrix refuses to be contiguous.
_NOT_EQUAL = {
    (operator, "contiguous")
    for operator in ("_linalg_solve_ex", "_linalg_det", "_linalg_slogdet", *Book.by_hand("other-layouts"))
}


def drawn_rewrites(model: Model, seed: int, count: int) -> list[Slip]:
    """Rewrites of as many formulas, one of each, of any kind that it allows; those with a known finding first."""
    drawn = random.Random(seed)
    known = {place[0] for each in known_findings() for place in each.findings}
    formulas = [each for entry in written_formulas(model).values() for each in entry]
    drawn.shuffle(formulas)
    found = []
    for written in sorted(formulas, key=lambda each: each.written.entry.operator not in known):
        kinds = {kind: list(rewrite(written)) for kind, rewrite in REWRITES.items()}
        operator = written.written.entry.operator or ""
        kinds = {kind: each for kind, each in kinds.items() if each and (operator, kind) not in _NOT_EQUAL}
        if kinds:
            kind = drawn.choice(sorted(kinds))
            start, end, text = drawn.choice(kinds[kind])
            formula = written.written
            whole, span = formula.entry.span, formula.range(start, end)
            part = whole.start, whole.end
            found.append(Slip(kind, operator, part, formula.key_text, span.start, span.end, text))
    return found[:count]


def parenthesized(model: Model) -> list[Slip]:
    """All formulas in parentheses, which makes other functions of them."""
    return [
        Slip(
            "parenthesized",
            written.written.entry.operator or "",
            (0, 0),
            written.written.key_text,
            span.start,
            span.end,
            f"({written.text})",
        )
        for entry in written_formulas(model).values()
        for written in entry
        for span in [written.written.range(0, len(written.text))]
    ]


def rewritten(model: Model, rewrites: list[Slip]) -> Model:
    """The file with all rewrites."""
    text = model.source.text
    for each in sorted(rewrites, key=lambda each: -each.start):
        text = each.applied(text)
    return build_model(SourceFile(model.source.path, text), model.natives)


def findings(model: Model, rewrites: list[Slip], effort: Effort, seed: int) -> list[JudgedFinding]:
    """What is found in rewritten formulas that the formulas before do not have, or had."""
    operators = {each.operator for each in rewrites}
    dtypes = ("float64",) if effort is QUICK else ("float64", "complex128")
    options = RunOptions(effort, dtypes, seed=seed, jobs=1)
    outcome = verify(rewritten(model, rewrites), operators, options, base=Base(model, "itself"))
    found = judged_findings(model, outcome)
    return [each for each in found if each.verdict is not FindingVerdict.UNCHANGED]


def main() -> None:
    """Print what is found."""
    parser = argparse.ArgumentParser(prog="python -m tests.verify.equal", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--all", action="store_true", help="all formulas in parentheses")
    arguments = parser.parse_args()
    source = SourceFile.read(packaged_folder() / "autograd" / "derivatives.yaml")
    model = build_model(source, load_index())
    begin = time.time()
    rewrites = parenthesized(model) if arguments.all else drawn_rewrites(model, arguments.seed, arguments.count)
    of = {(each.operator, each.key): each for each in rewrites}
    different = findings(model, rewrites, QUICK if arguments.quick else ORDINARY, arguments.seed)
    for each in different:
        assert each.verdict is not None
        finding = each.diagnostic
        print(f"{each.verdict.value}: {finding.entry}, {finding.key}: {finding.message} [{finding.rule}]")
        print(f"    {finding.help}")
        own = of.get((finding.entry or "", finding.key or ""))
        if own is not None:
            print(own.shown(source.text))
    print(f"{len(rewrites)} rewrites, {len(different)} findings, {time.time() - begin:.0f} s")


if __name__ == "__main__":
    main()
