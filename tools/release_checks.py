"""Checks of a PyTorch release: a compiler reads the emitted C++, and its torchgen runs in the conformance tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from derivlint.cli.shared.terminal import show_progress
from derivlint.compiler.gxx import CompilerError, Toolchain, compile_command, find_toolchain, first_error, run
from derivlint.emit.emission import emission
from derivlint.emit.release import UnsupportedRelease
from derivlint.lint.wording import counted
from derivlint.model import Model
from derivlint.operators.sources import TorchSource
from derivlint.verify.known import KnownFindings, Place

#: The unpacked parts of a wheel: torchgen for the conformance tests, and the headers.
PARTS = ("torchgen/", "torch/include/")
#: The tests in the repository that compare models with torchgen's.
CONFORMANCE = Path("tests/model/test_model_conformance.py")
NAMESPACE = "derivlint_generated"
#: The maximum number of shown compiler errors.
MAX_SHOWN = 5

_PASSED = re.compile(r"^(\d+ passed.*?) in ", re.MULTILINE)


@contextmanager
def unpacked(source: TorchSource) -> Iterator[Path]:
    """Provide the folder of a release; the needed parts of a wheel are unpacked until the context ends."""
    if not source.is_archive:
        yield source.path
        return
    with tempfile.TemporaryDirectory(prefix="derivlint-") as name:
        source.unpack(Path(name), PARTS)
        yield Path(name)


def emission_lines(model: Model, folder: Path) -> Iterator[str]:
    """Emit a release's own file as C++, and compile it with the release's headers.

    Args:
        model: the file.
        folder: the folder of the release.
    """
    try:
        emitted = emission(model, None, NAMESPACE)
    except UnsupportedRelease as error:
        yield f"emission: {error}"
        return
    size = f"{counted(len(emitted.operators), 'operator')} with {counted(emitted.nodes, 'node class', 'node classes')}"
    include = folder / "torch" / "include"
    if not (include / "ATen" / "ATen.h").is_file():
        yield f"emission: {size}; not compiled, since there are no headers"
        return
    python = Path(sysconfig.get_paths()["include"])
    try:
        toolchain = find_toolchain(None, [include, include / "torch/csrc/api/include", python])
        errors = _refused(emitted.files, toolchain)
    except CompilerError as error:
        yield f"emission: {size}; not compiled: {error}"
        return
    sources = sum(name.endswith(".cpp") for name in emitted.files)
    yield f"emission: {size}; the compiler accepts {sources - len(errors)} of {sources} sources"
    yield from (f"  {text}" for text in errors[:MAX_SHOWN])


def _refused(files: Mapping[str, str], toolchain: Toolchain) -> list[str]:
    """Return the first error of each source that the compiler rejects."""
    sources = [name for name in files if name.endswith(".cpp")]
    with tempfile.TemporaryDirectory(prefix="derivlint-") as name:
        folder = Path(name)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        messages = []
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            errors = pool.map(partial(_syntax_error, folder=folder, toolchain=toolchain), sources)
            for number, (source, error) in enumerate(zip(sources, errors, strict=True), 1):
                show_progress(f"compiled {number} of {len(sources)} sources")
                if error is not None:
                    messages.append(f"{source}: {error}")
    return messages


def _syntax_error(name: str, folder: Path, toolchain: Toolchain) -> str | None:
    """Return the compiler's first error in a source, or None."""
    done = run(compile_command(toolchain, "-w", "-O0", "-fsyntax-only", name), folder)
    return first_error(done.stderr) if done.status else None


def conformance_line(folder: Path, root: Path) -> str:
    """Run the conformance tests with a release's own torchgen, and return their summary.

    Args:
        folder: the folder of the release.
        root: the repository with the tests.
    """
    tests = root / CONFORMANCE
    torchgen = folder / "torchgen"
    needed = ("__init__.py", "packaged/autograd/derivatives.yaml")
    if not all((torchgen / name).is_file() for name in needed):
        return "conformance: not tested, since there is no packaged torchgen"
    if not tests.is_file():
        return f'conformance: not tested, since there is no "{tests}"'
    show_progress("conformance tests")
    with tempfile.TemporaryDirectory(prefix="derivlint-") as name:
        # only torchgen replaces the installed one: the release's torch may be for another platform
        (Path(name) / "torchgen").symlink_to(torchgen.absolute(), target_is_directory=True)
        path = os.pathsep.join(filter(None, (name, os.environ.get("PYTHONPATH"))))
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", str(CONFORMANCE)]
        done = subprocess.run(
            command, cwd=root, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )
    passed = _PASSED.search(done.stdout)
    if done.returncode or passed is None:
        failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return "\n  ".join(["conformance: FAILED", *(failures or [*done.stderr.splitlines()[-1:]])])
    return f"conformance with its torchgen: {passed[1]}"


def vanished_findings(model: Model, known: Iterable[KnownFindings]) -> list[Place]:
    """Return the known findings about formulas that a file no longer has.

    Args:
        model: the file.
        known: the known findings.
    """
    present = {
        (entry.operator, formula.key_text)
        for entry in model.entries
        for body in entry.bodies
        for formula in body.formulas
    }
    return [place for finding in known for place in finding.findings if place[:2] not in present]
