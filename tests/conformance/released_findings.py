"""Compare what the checks find in the files of PyTorch's releases with the reviewed list.

    python -m tests.conformance.released_findings FOLDER ...

A folder holds wheels of torch, or what was unpacked of them in folders named like their versions. What is found and not
on the list, and what is on the list and not found, is printed; the exit status is 1 where there is any of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from derivlint.lint import run_rules
from derivlint.model import build_model
from derivlint.operators.book import release_number
from derivlint.operators.history import load_release
from derivlint.operators.records import Release
from derivlint.operators.sources import SourceProblem, TorchSource
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

LIST = Path(__file__).with_name("released_findings.txt")
#: The releases that the list is about.
FIRST, LAST = (2, 1), (2, 15)
SHOWN = "    shown: "


class Found(NamedTuple):
    """A finding, whatever its message is.

    Attributes:
        rule: the rule.
        entry: the operator of the entry.
        key: the key of the formula, "-" for a finding about the entry.
    """

    rule: str
    entry: str
    key: str


class Reviewed(NamedTuple):
    """A line of the list.

    Attributes:
        finding: the finding.
        releases: the first and the last release of each run of releases that have it.
        verdict: ``true`` or ``taste``, with the reason.
        shown: where it was run, or what was read.
    """

    finding: Found
    releases: tuple[tuple[Release, Release], ...]
    verdict: str
    shown: str

    def is_in(self, release: Release) -> bool:
        """Whether a release has it."""
        return any(first <= release <= last for first, last in self.releases)


def reviewed_findings() -> Iterator[Reviewed]:
    """The lines of the list."""
    rule = verdict = shown = ""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            rule, _, verdict = line[1:].partition("] ")
        elif line.startswith(SHOWN):
            shown = line.removeprefix(SHOWN)
        elif line and not line.startswith("#"):
            entry, key, releases = line.split(" | ")
            yield Reviewed(Found(rule, entry, key), tuple(map(_span, releases.split(", "))), verdict, shown)


def _span(text: str) -> tuple[Release, Release]:
    first, _, last = text.partition("-")
    one, other = release_number(first), release_number(last or first)
    assert one is not None
    assert other is not None
    return one, other


def found_in(source: SourceFile, natives: NativeFunctions) -> set[Found]:
    """What all rules find in a file, at any confidence and severity."""
    result = run_rules(build_model(source, natives), load_rules())
    assert result.internal_errors == 0
    return {Found(item.rule, item.entry or "-", item.key or "-") for item in result.diagnostics}


def differences(release: Release, findings: set[Found]) -> Iterator[str]:
    """What is not as the list has it."""
    expected = {item.finding for item in reviewed_findings() if item.is_in(release)}
    for sign, items in (("+", findings - expected), ("-", expected - findings)):
        for item in sorted(items):
            yield f"{sign} [{item.rule}] {item.entry} | {item.key}"


def _releases(folders: list[Path]) -> Iterator[tuple[str, SourceFile]]:
    for folder in folders:
        for path in sorted(folder.iterdir()):
            try:
                torch = TorchSource(path)
                derivatives = torch.derivatives
            except SourceProblem:
                continue
            version = torch.version or path.name
            release = release_number(version)
            if derivatives is not None and release is not None and FIRST <= release <= LAST:
                yield ".".join(map(str, release)), derivatives


def main(folders: list[Path]) -> int:
    """Compare every release in folders; returns the exit status."""
    differing = compared = 0
    for version, derivatives in _releases(folders):
        release = release_number(version)
        assert release is not None
        lines = list(differences(release, found_in(derivatives, load_release(version))))
        compared += 1
        differing += bool(lines)
        print("\n  ".join([f"{version}: {len(lines)} differences", *lines]), flush=True)
    if not compared:
        print("no release of PyTorch is there", file=sys.stderr)
    return int(differing > 0 or not compared)


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
