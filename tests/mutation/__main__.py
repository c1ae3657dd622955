"""How many small mistakes the tests notice: ``python -m tests.mutation --sample 200 --seed 1``.

The first run, or one with ``--new-map``, writes down which test reaches which line, into ``.mutation-map`` at the top
of the repository. Each mutant then runs the tests that reach its lines, in a process of its own whose import of the one
module takes the mutant: no file is changed. Tests that start the command as a process do not meet the mutant.

A mutant is killed by a failing test, or timed out where it takes more processor time than allowed; what survives is
printed with its place. The score is the share of mutants that did not survive.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import coverage
import pytest

from tests.mutation.operators import Mutant, mutants

ROOT = Path(__file__).parents[2]
MAP = ROOT / ".mutation-map"
PACKAGES = ("formula", "model", "cpp", "analysis")
#: The tests that may kill a mutant: those of the packages, and the cases of the rules.
TESTS = (*(f"tests/{package}" for package in PACKAGES), "tests/rules/test_cases.py")
#: How the map is measured: with the branches and the rest of derivlint it would take several times as long.
MEASURING = """\
[run]
source_pkgs = {packages}
relative_files = true
"""
#: In the process of a mutant: the loader of one module hands out the tree that is on standard input.
CHILD = """
import importlib.machinery, resource, sys
import pytest
path, seconds = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
text = sys.stdin.read()
original = importlib.machinery.SourceFileLoader.get_code

def get_code(loader, name):
    if loader.path == path:
        return compile(text, path, "exec", dont_inherit=True)
    return original(loader, name)

importlib.machinery.SourceFileLoader.get_code = get_code
options = ["-x", "-q", "-n0", "--no-header", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--tb=no"]
sys.exit(pytest.main([*options, *sys.argv[3:]]))
"""


@dataclass(frozen=True)
class Sampled:
    """A mutant of a module."""

    path: Path
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.mutant.lines[0]}: {self.mutant}"


def write_map(*options: str) -> None:
    """Run the tests, and write down which of them reach which line."""
    environment = {**os.environ, "COVERAGE_FILE": str(MAP), "CI": "true"}
    with TemporaryDirectory() as folder:
        config = Path(folder) / "coveragerc"
        config.write_text(MEASURING.format(packages=", ".join(f"derivlint.{name}" for name in PACKAGES)))
        measure = ("--cov", f"--cov-config={config}", "--cov-context=test", "--cov-report=")
        command = [sys.executable, "-m", "pytest", "-m", "not full and not growth and not long", *measure, *options]
        done = subprocess.run([*command, *TESTS], cwd=ROOT, env=environment, check=False)
    if done.returncode:
        # a test that fails by itself would kill every mutant
        MAP.unlink(missing_ok=True)
        sys.exit("the tests fail without a mutant")


def tests_of(data: coverage.CoverageData, sampled: Sampled, most: int, dice: random.Random) -> list[str]:
    """Tests that reach the lines of a mutant, those of its package first; all of its package where none does."""
    measured = {(ROOT / name).resolve(): name for name in data.measured_files()}
    reached = data.contexts_by_lineno(measured.get(sampled.path.resolve(), ""))
    names = {
        context.rpartition("|")[0] for line in sampled.mutant.lines for context in reached.get(line, ()) if context
    }
    package = f"tests/{sampled.path.relative_to(ROOT / 'src' / 'derivlint').parts[0]}"
    if not names:
        return [package]
    shuffled = dice.sample(sorted(names), len(names))
    return sorted(shuffled, key=lambda name: not name.startswith(package))[:most]


def outcome(sampled: Sampled, tests: list[str], seconds: int) -> str:
    """Whether a mutant is killed, times out, or survives; or whether the map names tests that there are no more."""
    status = run(sampled.path, sampled.mutant.text(), tests, seconds)
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return "timeout"
    if status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        # a mutant may break the collection; where the tests are not found without it either, the map is stale
        untouched = run(sampled.path, sampled.path.read_text(encoding="utf-8"), ["--collect-only", *tests], seconds)
        return "killed" if untouched == 0 else "stale"
    return "survived" if status == 0 else "killed"


def run(path: Path, text: str, tests: list[str], seconds: int) -> int:
    """The exit status of tests for which a module has another text."""
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(seconds), *tests],
        input=text,
        cwd=ROOT,
        env={**os.environ, "CI": "true"},
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode


def summary(counts: Counter[str]) -> str:
    """How many mutants had which outcome, and the score."""
    judged = counts.total() - counts["stale"]
    score = 100 * (judged - counts["survived"]) / judged if judged else 100.0
    return f"{', '.join(f'{count} {name}' for name, count in sorted(counts.items()))}; score {score:.1f}%"


def main() -> None:
    """Sample mutants, run them, and print the score and what survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=200, metavar="N", help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which ones")
    parser.add_argument("--packages", default=",".join(PACKAGES), metavar="NAME,...", help="packages of src/derivlint")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="mutants at once")
    parser.add_argument("--tests", type=int, default=200, metavar="N", help="tests of a mutant at most")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="processor time of a mutant")
    parser.add_argument("--new-map", action="store_true", help="write down again which test reaches which line")
    parser.add_argument("--light", action="store_true", help="in a new map, only the tests that need no PyTorch")
    arguments = parser.parse_args()
    if arguments.new_map or not MAP.exists():
        write_map(*(["--light"] if arguments.light else []))
    data = coverage.CoverageData(str(MAP))
    data.read()
    paths = [
        path
        for package in arguments.packages.split(",")
        for path in sorted((ROOT / "src" / "derivlint" / package).rglob("*.py"))
    ]
    population = [Sampled(path, mutant) for path in paths for mutant in mutants(path.read_text(encoding="utf-8"))]
    dice = random.Random(arguments.seed)
    sample = dice.sample(population, min(arguments.sample, len(population)))
    chosen = [(each, tests_of(data, each, arguments.tests, dice)) for each in sample]
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda pair: outcome(pair[0], pair[1], arguments.seconds), chosen)
        for (sampled, tests), result in zip(chosen, results, strict=True):
            counts[result] += 1
            if result != "killed":
                print(f"{result} {len(tests)} tests: {sampled}", flush=True)
            if not counts.total() % 10:
                print(f"after {counts.total()}: {summary(counts)}", file=sys.stderr)
    total = counts.total()
    print(f"{total} of {len(population)} mutants: {summary(counts)}")


if __name__ == "__main__":
    main()
