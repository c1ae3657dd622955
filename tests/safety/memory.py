"""The server's memory over many edits: ``python -m tests.safety.memory --edits 20000``.

Prints the resident memory as it goes, and exits with 1 where it still grows in the last three quarters of the edits.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from random import Random

from lsprotocol import types

from derivlint.lsp.session import OpenFile, Outcome, Session
from derivlint.lsp.workspace import Projects
from derivlint.schema import installed_torch
from tests.mutators.edits import edited

#: So many bytes an edit may stay, in the last three quarters: the memory of a process is not flat to the byte.
ALLOWED = 2_500


def resident() -> int:
    """The bytes of memory that the process has."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def small(text: str, entries: int) -> str:
    """The first entries of a derivatives file."""
    starts = [at for at in range(len(text)) if text.startswith("\n- name", at)]
    return text[starts[0] + 1 : starts[entries] + 1]


async def measured(text: str, edits: int, seed: int, folder: Path) -> list[int]:
    """The memory after each fortieth of the edits; every edit makes a text that never was.

    Of twenty edits one is taken from the random edits, and undone; the others change a formula as someone types.
    """

    async def tell(file: OpenFile, outcome: Outcome) -> None:
        pass

    def log(message: str, error: BaseException) -> None:
        raise error

    session = Session(Projects(), tell, log)
    file = session.open((folder / "derivatives.yaml").as_uri(), 0, text)
    await session.outcome(file)
    random = Random(seed)
    taken: list[int] = []
    places = [at for at in range(len(text)) if text.startswith(": grad", at)]
    for number in range(1, edits + 1):
        if number % 20:
            at = random.choice(places) + 2
            now = f"{text[:at]}grad * {number} - {text[at:]}"
        else:
            now = edited(text, random)
        file.document.change(number, [types.TextDocumentContentChangeWholeDocument(now)], "utf-16")
        session.cancel_check(file)
        await session.outcome(file)
        if number % max(edits // 40, 1) == 0:
            taken.append(resident())
            print(f"{number:6} edits: {taken[-1] / 2**20:7.1f} MiB", flush=True)
    session.shutdown()
    return taken


def growth(taken: list[int], edits: int) -> float:
    """The bytes that an edit leaves, in the last three quarters: the slope of the line through the measurements."""
    last = taken[len(taken) // 4 :]
    middle = (len(last) - 1) / 2
    mean = sum(last) / len(last)
    slope = sum((at - middle) * (value - mean) for at, value in enumerate(last))
    return slope / sum((at - middle) ** 2 for at in range(len(last))) * len(taken) / edits


def main() -> int:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=5_000)
    parser.add_argument("--entries", type=int, default=70, help="0 for PyTorch's file as a whole")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch = installed_torch()
    assert torch is not None
    assert torch.derivatives is not None
    text = torch.derivatives.read_text(encoding="utf-8")
    text = small(text, given.entries) if given.entries else text
    taken = asyncio.run(measured(text, given.edits, given.seed, Path.cwd()))
    left = growth(taken, given.edits)
    print(f"an edit leaves {left:,.0f} bytes")
    return int(left > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
