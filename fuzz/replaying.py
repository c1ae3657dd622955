"""The inputs that once showed something, and how they are run again.

``fuzz/corpus/TARGET/NAME`` is an input of a target; its name says what it once showed.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from fuzz.finds import Find, observed
from fuzz.registry import TARGETS

CORPUS = Path(__file__).parent / "corpus"


def inputs() -> list[Path]:
    """The files of the corpus."""
    return sorted(path for path in CORPUS.glob("*/*") if path.is_file())


def replay(targets: Collection[str]) -> list[tuple[str, Find]]:
    """Run the corpus of some targets; what inputs still show, by their names."""
    found = []
    for path in inputs():
        if path.parent.name not in targets:
            continue
        find = observed(TARGETS[path.parent.name], path.read_bytes())
        if find is not None:
            found.append((f"{path.parent.name}/{path.name}", find))
    return found
