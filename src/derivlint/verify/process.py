"""The process that checks, as the one that has it work sees it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from derivlint.verify.errors import VerifyError


class Server:
    """The process that checks. PyTorch is imported there as soon as it is started.

    Args:
        many: whether it is going to check many operators, for which it imports all that children may need.
    """

    def __init__(self, *, many: bool) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "derivlint.verify.server", *(["--many"] if many else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def work(self, task: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Have it work, and pass on what it says.

        Raises:
            VerifyError: it cannot work.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(task) + "\n")
            stdin.flush()
        except OSError as error:
            raise VerifyError("torch cannot be imported in a process of its own") from error
        for line in stdout:
            message = json.loads(line)
            if "fatal" in message:
                raise VerifyError(message["fatal"])
            if "end" in message:
                return
            yield message
        raise VerifyError("the process that checks formulas has ended before its work was done")
