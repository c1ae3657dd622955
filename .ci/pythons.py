"""Runs the tests that need no PyTorch with the oldest Python, with the oldest dependencies, and with the newest.

``python .ci/pythons.py [NAME...]`` runs in the environment that ``.ci/run`` makes, which has ``packaging``. Each run
has an environment of its own below that one. Without a name the oldest Python runs the quick ones of these tests, and
the newest some of them; with names, such as ``3.12``, all of these tests run, and the last run counts the lines that
they reach. The exit status is 1 where a run failed. A
Python that this machine lacks, or that cannot make an environment, is reported and does not count.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
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
#: What the newest Python runs, with the newest dependencies: every rule, the parsers, the formats, the command.
SOME = ("cli/test_check.py", "formats", "formula", "rules/test_cases.py", "source", "test_layers.py", "yaml_reader")


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


def main() -> int:
    """Run the oldest and the newest Python that is there, or what is named, such as ``3.12``.

    The oldest Python runs with the oldest dependencies, some of which no newer one takes; every other one runs with the
    newest.
    """
    names = sys.argv[1:]
    base = Path(sys.prefix) / "pythons"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = []
    for minor in MINORS:
        if minor == sys.version_info.minor:
            found.append((Path(sys.executable), minor))
            continue
        reasons = []
        for candidate in candidates(minor, os.environ.get("PATH", ""), pyenv):
            reason = environment(candidate, minor, base / f"3.{minor}")
            if not reason:
                found.append((candidate, minor))
                break
            reasons.append(f"{candidate}: {reason}")
        else:
            print(f"pythons: Python 3.{minor} left out: {'; '.join(reasons) or 'not found'}", flush=True)
    runs = []
    for number, (candidate, minor) in enumerate(found):
        if f"3.{minor}" not in names if names else 0 < number < len(found) - 1:
            continue
        if number == 0:
            reason = environment(candidate, minor, base / "lowest")
            if reason:
                print(f"pythons: no environment for the lowest versions: {reason}", flush=True)
                return 1
            pins = lowest((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
            runs.append(Run(minor, base / "lowest", pins))
        elif minor != sys.version_info.minor:
            runs.append(Run(minor, base / f"3.{minor}", []))
    results = []
    for run in runs:
        quick = ("-m", "quick") if run.pins else tuple(f"tests/{name}" for name in SOME)
        results.append(tested(run, () if names else quick, counts=bool(names) and run is runs[-1]))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
