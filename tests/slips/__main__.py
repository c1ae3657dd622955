"""Slips in PyTorch's own file, and what is said of them: ``python -m tests.slips --seed 1 --count 2000``."""

from __future__ import annotations

import argparse
import time

from derivlint.schema import load_index
from derivlint.source import SourceFile
from tests.conftest import packaged_folder
from tests.slips.applied import FixJudge
from tests.slips.fixes import Fixer
from tests.slips.generate import KINDS, equal_rewrites, slips
from tests.slips.judge import Judge, clashes, report


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="python -m tests.slips", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--kinds", default="", help="kinds, separated by commas")
    parser.add_argument("--every", action="store_true", help="also show diagnostics at other formulas of the entry")
    parser.add_argument("--clashes", action="store_true", help="only which rules report the same slip")
    parser.add_argument("--equal", action="store_true", help="equal rewrites instead of slips")
    parser.add_argument("--fixes", action="store_true", help="sets of slips and what fixes make of them")
    parser.add_argument("--applied", action="store_true", help="slips that fixes do not undo, each in its entry alone")
    arguments = parser.parse_args()
    judge = Judge(SourceFile.read(packaged_folder() / "autograd" / "derivatives.yaml"), load_index())
    if arguments.fixes:
        print_fixes(Fixer(judge.source, load_index()), arguments.seed, arguments.count)
        return
    if arguments.applied:
        print_applied(FixJudge(judge.source, load_index()), arguments.seed, arguments.count)
        return
    kinds = tuple(arguments.kinds.split(",")) if arguments.kinds else KINDS
    begin = time.process_time()
    if arguments.equal:
        drawn = equal_rewrites(judge.model, arguments.seed, arguments.count)
    else:
        drawn = slips(judge.model, arguments.seed, arguments.count, kinds)
    verdicts = judge.verdicts(drawn)
    if arguments.clashes:
        print(clashes(verdicts, judge.source.text))
        return
    print(report(verdicts, judge.source.text, every=arguments.every))
    print(f"{judge.checks} checks, {time.process_time() - begin:.0f} s of processor time")


def print_applied(judge: FixJudge, seed: int, count: int) -> None:
    """Fix slips, and print those that are another entry now, to be judged by a person, with what numbers refute."""
    applied = list(judge.applied(slips(judge.model, seed, count)))
    others = [item for item in applied if not item.is_undone or item.refuted]
    print(*(item.shown() for item in others), sep="\n")
    refuted = sum(bool(item.refuted) for item in applied)
    print(
        f"{count} slips, {len(applied)} fixed, {len(others)} in another way than undone, {refuted} refuted by numbers"
    )


def print_fixes(fixer: Fixer, seed: int, count: int) -> None:
    """Fix sets of slips, and print those in which something is wrong."""
    wrong = resolved = left = 0
    for number in range(seed, seed + count):
        made = fixer.fixed(number)
        resolved += len(made.unsafe.fixed)
        left += len(made.unsafe.dropped)
        problems = [f"lost: {item.message} [{item.rule}]" for item in made.lost]
        if made.again.text != made.unsafe.text:
            problems.append("a second run changes the text:\n" + made.again.text)
        if len(set(made.comments)) > 1:
            problems.append(f"comments: {made.comments}")
        if problems:
            wrong += 1
            print(f"set {number}:", *problems, "---- before", made.text, "---- after", made.unsafe.text, sep="\n")
    print(
        f"{count} sets, {resolved} findings fixed, {left} fixes left out since they make errors; {wrong} sets are wrong"
    )


if __name__ == "__main__":
    main()
