"""Runs the tests that need no PyTorch with the oldest Python, with the oldest dependencies, and with the newest.

``python .ci/pythons.py [oldest] [newest] [VERSION...]`` runs in the environment that ``.ci/run`` makes, which has
``packaging``. Each run has an environment of its own below that one. ``oldest`` and ``newest``, both by default, run
some of these tests (``OLDEST`` and ``NEWEST``) on one processor; with versions, such as ``3.12``, all of these tests
run, and the last run counts the lines that they reach. The exit status is 1 where a run failed. A
Python that this machine lacks, or that cannot make an environment, is reported and does not count.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
#: The minor versions of Python 3 that derivlint supports.
MINORS = range(10, 15)
#: The first one that can count lines itself.
MONITORS = 12
#: What a newer Python with today's dependencies can break: imports, formats, settings, the command, the server.
NEWEST = (
    *("cli/test_check.py", "cli/test_process.py", "formats", "lsp/test_server.py", "project/test_settings.py"),
    *("source", "test_layers.py"),
)
#: With the oldest dependencies also rules and parsers.
OLDEST = (*NEWEST, "formula", "rules/test_cases.py", "yaml_reader")


def candidates(minor: int, path: str, pyenv: Path) -> Iterator[Path]:
    """Where a Python 3 of this minor version may be: on the path, and among those of pyenv, newest first."""
    for folder in path.split(os.pathsep):
        if (found := shutil.which(f"python3.{minor}", path=folder)) is not None:
            yield Path(found)
    versions = [each for each in pyenv.glob(f"versions/3.{minor}.*/bin/python") if each.parents[1].name[-1].isdigit()]
    yield from sorted(versions, key=lambda each: int(each.parents[1].name.rpartition(".")[2]), reverse=True)


def environment(candidate: Path, minor: int, folder: Path) -> str:
    """Make a virtual environment with a Python.

    Returns:
        Why it cannot be made; empty when it was.
    """
    # the shims of pyenv have the names of versions that are not chosen, and fail
    probe = "import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, int(sys.argv[1])))"
    for arguments in (("-c", probe, str(minor)), ("-m", "venv", "--clear", str(folder))):
        try:
            command = [str(candidate), *arguments]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            return str(error.strerror)
        if done.returncode:
            return (done.stderr or done.stdout).strip().partition("\n")[0] or f"exit status {done.returncode}"
    return ""


def lowest(pyproject: str) -> list[str]:
    """The lowest versions that a ``pyproject.toml`` declares, of what derivlint and its language server need.

    Raises:
        ValueError: A requirement has no lowest version.
    """
    project = tomllib.loads(pyproject)["project"]
    pins = []
    for text in (*project["dependencies"], *project["optional-dependencies"]["lsp"]):
        requirement = Requirement(text)
        versions = [each.version for each in requirement.specifier if each.operator in (">=", "==", "~=")]
        if len(versions) != 1:
            raise ValueError(f'"{text}" does not declare one lowest version')
        marker = f"; {requirement.marker}" if requirement.marker is not None else ""
        pins.append(f"{requirement.name}=={versions[0]}{marker}")
    return pins


class Run(NamedTuple):
    """A run of the tests that need no PyTorch.

    Attributes:
        minor: the minor version of its Python 3.
        folder: its environment.
        pins: the dependencies that are pinned.
    """

    minor: int
    folder: Path
    pins: list[str]


def run_of(minor: int, base: Path, *, oldest: bool) -> Run | None:
    """Make the environment of a run, with the first Python of a minor version that can; report where none can.

    Args:
        minor: the minor version of Python 3.
        base: the folder of the environments.
        oldest: whether the dependencies are the oldest ones, too, some of which no newer Python takes.
    """
    folder = base / ("lowest" if oldest else f"3.{minor}")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    is_own = minor == sys.version_info.minor
    reasons = []
    for candidate in [Path(sys.executable)] if is_own else candidates(minor, os.environ.get("PATH", ""), pyenv):
        reason = environment(candidate, minor, folder)
        if not reason:
            return Run(minor, folder, lowest((ROOT / "pyproject.toml").read_text(encoding="utf-8")) if oldest else [])
        reasons.append(f"{candidate}: {reason}")
    print(f"pythons: Python 3.{minor} left out: {'; '.join(reasons) or 'not found'}", flush=True)
    return None


def tested(run: Run, chosen: Sequence[str], *, counts: bool) -> bool:
    """Install derivlint into an environment and run the tests that need no PyTorch.

    Args:
        run: the environment.
        chosen: arguments of pytest that choose among them.
        counts: whether the lines that the tests reach are counted, and have to be as many as ``pyproject.toml`` says.
    """
    minor, folder, pins = run
    name = f"Python 3.{minor}" + (f" with {', '.join(pins)}" if pins else "")
    start = time.monotonic()
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{pin}\n" for pin in pins), encoding="utf-8")
    python = folder / "bin" / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    print(f"pythons: {name}", flush=True)
    done = subprocess.run([*pip, "-c", constraints, "-e", ".[test]"], cwd=ROOT, check=False)
    counted = ("--cov", "--cov-report=") if counts else ()
    commands = [[python, "-m", "pytest", "--light", "-p", "no:cacheprovider", *chosen, *counted]]
    if counts:
        commands.append([python, "-m", "coverage", "report", "--skip-covered", "--sort=-cover"])
    # counting takes a sixth longer where the Python itself can, and twice as long where it cannot
    environ = {**os.environ, "COVERAGE_CORE": "sysmon"} if minor >= MONITORS else None
    for command in commands:
        if not done.returncode:
            done = subprocess.run(command, cwd=ROOT, env=environ, check=False)
    outcome = f"failed with {done.returncode}" if done.returncode else "passed"
    print(f"pythons: {name} {outcome} in {time.monotonic() - start:.0f} s", flush=True)
    return not done.returncode


def first(minors: Iterable[int], base: Path, *, oldest: bool) -> list[Run]:
    """The run of the first of some minor versions that the machine has."""
    return list(islice(filter(None, (run_of(minor, base, oldest=oldest) for minor in minors)), 1))


def main() -> int:
    """Run the oldest and the newest Python that is there, or what is named."""
    names = sys.argv[1:] or ["oldest", "newest"]
    base = Path(sys.prefix) / "pythons"
    some = first(MINORS, base, oldest=True) if "oldest" in names else []
    if "newest" in names:
        # the Python of this environment has run all tests
        some += first(reversed(range(sys.version_info.minor + 1, MINORS.stop)), base, oldest=False)
    named = [minor for minor in MINORS if f"3.{minor}" in names]
    whole = list(filter(None, (run_of(minor, base, oldest=minor == MINORS.start) for minor in named)))
    results = [
        tested(run, ("-n", "0", *(f"tests/{name}" for name in (OLDEST if run.pins else NEWEST))), counts=False)
        for run in some
    ]
    results += [tested(run, (), counts=run is whole[-1]) for run in whole]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
