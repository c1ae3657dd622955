"""All emitted kernels at once, on PyTorch's own samples: results are those of PyTorch's own kernels.

Building takes some minutes, and PyTorch's samples need the package expecttest: this runs where ``DERIVLINT_FULL`` is
set.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import derivlint
from derivlint.emit.files import emission, write_files
from derivlint.model import build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.emit import opinfo_checks

pytestmark = pytest.mark.skipif(
    not os.environ.get("DERIVLINT_FULL"),
    reason="builds all kernels for minutes and needs the package expecttest: set DERIVLINT_FULL",
)

#: The operators whose derivatives must be found right through our nodes.
AT_LEAST = 350


def results(folder: str, build_folder: Path) -> dict[str, tuple[str, bool]]:
    """What the checks say of each operator, and whether a node of ours made its output; crashes are results, too."""
    package = str(Path(derivlint.__file__).parent.parent)
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    found: dict[str, tuple[str, bool]] = {}
    start = 0
    while True:
        done = subprocess.run(
            [sys.executable, opinfo_checks.__file__, folder, str(build_folder), str(start)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        assert rows, done.stderr[-4000:]
        found |= {name: (result, bool(nodes)) for _, name, result, nodes in rows}
        if done.returncode == 0:
            return found
        position, name, _, _ = rows[-1]
        found[name] = ("crashed", False)
        start = position + 1


def test_all_kernels_give_what_pytorchs_own_give(
    derivatives_path: Path, installed_natives: NativeFunctions, tmp_path: Path
) -> None:
    model = build_model(SourceFile.read(derivatives_path), installed_natives)
    write_files(tmp_path, emission(model, None, "derivlint_tests", shards=4).files)
    ours = results(str(tmp_path), tmp_path / "build")
    own = results("-", tmp_path / "build")
    assert {name: result for name, (result, _) in ours.items()} == {name: result for name, (result, _) in own.items()}
    assert sum(result == "right" and is_ours for result, is_ours in ours.values()) >= AT_LEAST
