"""``derivlint verify`` with three right entries and inputs that were recorded, in a process or in this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
import torch

from derivlint.cli.main import cli
from derivlint.verify.inputs.samples import stems_with_samples
from derivlint.verify.inputs.stored import write_inputs
from derivlint.verify.processes.recordings import recording_path
from tests.running import runner

ENTRIES = """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
  result: auto_element_wise

- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()

- name: cos(Tensor self) -> Tensor
  self: grad * -self.sin().conj()
"""
WITH_BASE = ("--no-config", "--no-compile", "--quick", "--jobs", "1")
#: Nothing is read of the file that PyTorch ships.
FAST = (*WITH_BASE, "--no-base")
#: The command as it is installed.
SCRIPT = Path(sys.executable).with_name("derivlint")


@dataclass(frozen=True)
class Place:
    """A folder with ``derivatives.yaml``, and a cache with inputs of its operators."""

    folder: Path
    cache: Path

    @property
    def samples(self) -> Path:
        """The recorded inputs."""
        return recording_path(self.cache / "verify", "float64", metadata.version("torch").partition("+")[0])

    def record(self) -> None:
        """Write the inputs of the operators; all others have none."""
        inputs = [[torch.rand(3, dtype=torch.float64) + 0.5]]
        operators = ("exp", "sin", "cos")
        write_inputs(self.samples, {name: inputs if name in operators else [] for name in stems_with_samples()})

    def verify(self, *arguments: str, options: tuple[str, ...] = FAST) -> tuple[int, str, str]:
        """Run the command in this process, in the folder: status, standard output and standard error."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            patch.setenv("DERIVLINT_CACHE_DIR", str(self.cache))
            result = runner().invoke(cli, ["verify", "derivatives.yaml", *options, *arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    def command(
        self, *arguments: str, start: tuple[str, ...] = (str(SCRIPT),), more: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command in a process of its own, in the folder."""
        return subprocess.run(
            [*start, "verify", "derivatives.yaml", *FAST, *arguments],
            cwd=self.folder,
            env={**os.environ, "DERIVLINT_CACHE_DIR": str(self.cache), **(more or {})},
            capture_output=True,
            text=True,
            check=False,
        )


def place_in(path: Path) -> Place:
    """Make such a folder."""
    place = Place(path / "checkout", path / "cache")
    place.folder.mkdir()
    (place.folder / "derivatives.yaml").write_text(ENTRIES)
    place.cache.mkdir(mode=0o700)
    (place.cache / "verify").mkdir(mode=0o700)
    place.record()
    return place
