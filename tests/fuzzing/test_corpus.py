"""What fuzzing once found stays fixed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.registry import TARGETS
from fuzz.replaying import CORPUS, inputs

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


def test_every_input_of_the_corpus_belongs_to_a_target() -> None:
    assert {path.parent.name for path in inputs()} <= set(TARGETS)
    assert {path.name for path in CORPUS.iterdir()} <= set(TARGETS)


def test_past_finds_are_not_back() -> None:
    """In a process of its own: inputs change the working folder, variables and timers."""
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "replay"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
