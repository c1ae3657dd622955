"""Random edits of an open file, between requests, cancelled checks and failures: ``python -m tests.safety.edits``.

Exits with 1 where a request or a check fails by itself, or where the diagnostics after an edit are not those of a check
from scratch.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from unittest import mock

from derivlint.lsp.analysis import CheckedDocument, check
from derivlint.lsp.session import OpenFile, Session
from derivlint.lsp.workspace import Projects
from derivlint.schema import installed_torch
from tests.lsp.test_session import REQUESTS, change, ignored
from tests.mutators.edits import edited
from tests.safety.test_memory import small

#: One check of so many fails.
FAILING = 50
#: Where it fails: around the rules, or inside of some of them.
FAILURES = (
    "derivlint.project.check.filter_findings",
    "derivlint.project.check.judge_suppressions",
    "derivlint.project.check.check_text",
    "derivlint.model.model.Model.functions_of",
    "derivlint.model.model.Model.type_problems",
)


class Campaign:
    """The edits of one text.

    Attributes:
        counts: how often each thing was done.
        problems: what went wrong, each with the number of the edit.
    """

    def __init__(self, text: str, seed: int, compare: int) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self._begin = self._text = text
        self._random = Random(seed)
        self._compare = compare
        self._number = 0

    def _log(self, message: str, error: BaseException) -> None:
        if not isinstance(error, ZeroDivisionError):
            self._report(message)

    def _report(self, problem: str) -> None:
        self.problems.append(f"edit {self._number}: {problem}")
        print(self.problems[-1], flush=True)

    async def run(self, edits: int, path: Path) -> None:
        """Edit so many times."""
        session = Session(Projects(), ignored, self._log)
        file = session.open(path.as_uri(), 1, self._text)
        began = time.monotonic()
        for self._number in range(1, edits + 1):
            self._edit(session, file)
            if self._number % FAILING == 0:
                await self._fail(session, file)
            await self._act(session, file)
            if self._number % self._compare == 0 or self._number % FAILING == 0:
                await self._is_right(session, file)
            if self._number % 100 == 0:
                print(f"{self._number:6} edits, {time.monotonic() - began:6.0f} s, {dict(self.counts)}", flush=True)
        session.shutdown()

    def _edit(self, session: Session, file: OpenFile) -> None:
        # every hundredth text is the first one again, so that a broken file does not stay so
        self._text = edited(self._begin if self._random.random() < 0.01 else self._text, self._random)
        change(session, file, self._text)
        self.counts["edits"] += 1

    async def _fail(self, session: Session, file: OpenFile) -> None:
        """Let the check of the present text fail; the next one is of another text."""
        with mock.patch(self._random.choice(FAILURES), side_effect=ZeroDivisionError):
            await session.outcome(file)
        self.counts["failures"] += 1
        self._text += " "
        change(session, file, self._text)

    async def _act(self, session: Session, file: OpenFile) -> None:
        match self._random.randrange(3):
            case 0 | 1:
                name = self._random.choice([*REQUESTS])
                offset = self._random.randrange(len(self._text) + 1)

                def answer(checked: CheckedDocument) -> object:
                    return REQUESTS[name](checked, min(offset, len(checked.source.text)))

                try:
                    await session.run(file, answer)
                except Exception as error:
                    self._report(f"{name}: {type(error).__name__}: {error}")
                self.counts[name] += 1
            case _:
                task = asyncio.get_running_loop().create_task(session.outcome(file))
                await asyncio.sleep(self._random.random() * 0.05)
                self._edit(session, file)
                await task
                self.counts["cancelled"] += 1

    async def _is_right(self, session: Session, file: OpenFile) -> None:
        outcome = await session.outcome(file)
        if not isinstance(outcome, CheckedDocument):
            self._report(outcome)
        elif outcome.shown != check(outcome.source, outcome.project).shown:
            self._report(f"other diagnostics than from scratch, of {outcome.source.text!r}")
        self.counts["comparisons"] += 1


def main() -> int:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=5_000)
    parser.add_argument("--entries", type=int, default=70, help="0 for PyTorch's file as a whole")
    parser.add_argument("--compare", type=int, default=1, help="compare with a check from scratch after so many edits")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch = installed_torch()
    assert torch is not None
    assert torch.derivatives is not None
    text = torch.derivatives.read_text(encoding="utf-8")
    campaign = Campaign(small(text, given.entries) if given.entries else text, given.seed, given.compare)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(campaign.run(given.edits, Path(folder, "derivatives.yaml")))
    print(f"{len(campaign.problems)} problems in {dict(campaign.counts)}")
    return int(bool(campaign.problems))


if __name__ == "__main__":
    sys.exit(main())
