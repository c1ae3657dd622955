"""Replay the history of a derivatives file, each state with the operators of its commit.

    python -m tests.history FOLDER [--every 10] [--window 4] [--states 020 040]

FOLDER has a folder for each state, sorted by name, with ``derivatives.yaml`` and the files of operators. ``log.tsv``
has the date and pull request of each state, and whether it is a fix. New and removed findings of each state are
printed, at the default settings.

Checks are incremental: memos are reused while the operators are unchanged. In every tenth state, the texts of the four
previous states are checked first, and all findings are compared with those of a check from scratch; the exit status is
1 on differences.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from derivlint.lint import Diagnostic
from derivlint.model.memos import Memos
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.operators import LoadedOperators, Operators, load_operators, operators_for, resolve_release
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

DERIVATIVES = "derivatives.yaml"
SETTINGS = Settings()
RULES = SETTINGS.selected(load_rules())


class Finding(NamedTuple):
    """A finding without its span, which edits above it move."""

    entry: str
    key: str
    message: str
    rule: str

    def __str__(self) -> str:
        return f"{self.entry}, {self.key}: {self.message} [{self.rule}]"


class Change(NamedTuple):
    """The difference in findings between a state and the previous one.

    Attributes:
        state: the folder of the state.
        new: the findings that only this state has; all findings of the first one.
        gone: the findings that only the previous state has.
        differences: findings by only one of the incremental check and the check from scratch; None if not compared.
    """

    state: str
    new: list[Finding]
    gone: list[Finding]
    differences: list[Diagnostic] | None


def replayed(states: Sequence[Path], every: int, window: int) -> Iterator[Change]:
    """Check each state in order.

    Args:
        states: the folders.
        every: the interval of comparisons with a check from scratch; 0 for none.
        window: the number of previous texts to check before a comparison.
    """
    before: Counter[Finding] = Counter()
    read_operators, memos = b"", Memos()
    for number, state in enumerate(states):
        content = _operator_files(state)
        if content != read_operators:
            read_operators, memos = content, Memos()
        natives = _natives(state)
        is_compared = every > 0 and number % every == every - 1
        for earlier in states[max(number - window, 0) : number] if is_compared else ():
            _check(earlier, natives, memos)
        checked = _check(state, natives, memos)
        differences = None
        if is_compared:
            scratch = _check(state, natives, None)
            differences = sorted({*checked.unfiltered} ^ {*scratch.unfiltered})
        findings = Counter(
            Finding(item.entry or "-", item.key or "-", item.message, item.rule) for item in checked.shown
        )
        yield Change(
            state.name, sorted((findings - before).elements()), sorted((before - findings).elements()), differences
        )
        before = findings
        gc.collect()


def _operator_files(state: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in sorted(state.iterdir()) if path.name != DERIVATIVES)


def _natives(state: Path) -> NativeFunctions:
    def load(operators: Operators) -> LoadedOperators:
        return load_operators(operators, use_cache=False)

    source = SourceFile.read(state / DERIVATIVES)
    operators = resolve_release(operators_for(state, SETTINGS), source, load, False)
    return load(operators).natives


def _check(state: Path, natives: NativeFunctions, memos: Memos | None) -> CheckedFile:
    source = SourceFile(DERIVATIVES, SourceFile.read(state / DERIVATIVES).text)
    return check_source(source, natives, SETTINGS, RULES, memos=memos)


def log_of(folder: Path) -> Mapping[str, str]:
    """The columns of ``log.tsv`` by state; empty without the file."""
    path = folder / "log.tsv"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {state: " ".join(about.split()) for state, _, about in (line.partition("\t") for line in lines)}


def main(arguments: Sequence[str]) -> int:
    """Print the changes; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=10, help="compare every so many states with a check from scratch")
    parser.add_argument("--window", type=int, default=4, help="check the texts of so many states before such a state")
    parser.add_argument("--states", nargs=2, metavar=("FIRST", "LAST"), help="replay only these, by prefixes of names")
    options = parser.parse_args(arguments)
    states = sorted(path.parent for path in options.folder.glob(f"*/{DERIVATIVES}"))
    if options.states:
        first, last = options.states
        states = [
            state for state in states if state.name >= first and (state.name <= last or state.name.startswith(last))
        ]
    log = log_of(options.folder)
    totals: Counter[str] = Counter()
    for change in replayed(states, options.every, options.window):
        totals.update(states=1, new=len(change.new), gone=len(change.gone))
        if change.new or change.gone or change.differences:
            print(f"{change.state} {log.get(change.state, '')}".rstrip(), flush=True)
        for sign, findings in (("+", change.new), ("-", change.gone)):
            for finding in findings:
                print(f"  {sign} {finding}", flush=True)
        if change.differences is not None:
            totals.update(compared=1, differences=len(change.differences))
        for item in change.differences or ():
            print(f"  ! {item.entry}, {item.key}: {item.message} [{item.rule}]", flush=True)
    print(
        f"{totals['states']} states: {totals['new']} findings new, {totals['gone']} gone; "
        f"{totals['compared']} compared with checks from scratch, {totals['differences']} differences"
    )
    return int(not totals["states"] or totals["differences"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
