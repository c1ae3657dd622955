"""The OpInfos that an operator's inputs are recorded from: a table written by ``tools.sample_sources``.

A recording of some operators runs their OpInfos only, and has the inputs that a recording of all operators would have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

PATH = Path(__file__).parent.parent / "data" / "sample_sources.txt"


def table_text(version: str, sources: Mapping[str, Iterable[str]]) -> str:
    """The table: the version of PyTorch, and a line for each stem of operators."""
    lines = (f"{operator}: {' '.join(infos)}\n" for operator, infos in sorted(sources.items()))
    return "".join((f"# PyTorch {version}, by python -m tools.sample_sources\n", *lines))


@cache
def _table() -> tuple[str, dict[str, tuple[str, ...]]]:
    head, *lines = PATH.read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(": ") for line in lines)
    return head.split()[2].rstrip(","), {operator: tuple(infos.split()) for operator, _, infos in pairs}


def stems_with_samples() -> tuple[str, ...]:
    """The stems of operators that have inputs."""
    return tuple(_table()[1])


def sample_sources(stems: Iterable[str], version: str) -> set[str] | None:
    """Return the names of the OpInfos for stems of operators, or None if only a recording of all of them tells.

    Args:
        stems: the operators (:func:`derivlint.verify.inputs.samples.stem`).
        version: of the installed PyTorch; operators without OpInfos in the table's PyTorch may have some in another.
    """
    written, table = _table()
    stems = set(stems)
    if version != written and not stems <= table.keys():
        return None
    return {info for name in stems for info in table.get(name, ())}
