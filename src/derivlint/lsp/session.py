"""The open files and their checks, which run on one thread and are cancelled by edits."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from typing import TypeVar

from derivlint.lint.engine.incremental import Cancelled
from derivlint.lsp.analysis import CheckedDocument, check
from derivlint.lsp.documents import OpenDocument
from derivlint.lsp.workspace import Project, Projects
from derivlint.model.memos import Memos
from derivlint.project.errors import InputError
from derivlint.source import SourceFile
from derivlint.source.file import MAX_SOURCE_BYTES

#: Thresholds of the garbage collector: with the defaults a check takes 1.5 times as long, because each collection
#: visits all operators. A full collection runs after ``CHECKS_PER_COLLECTION`` checks, and freezes live objects.
GC_THRESHOLDS = (50_000, 20, 1_000_000)
CHECKS_PER_COLLECTION = 500

#: The number of attempts for a request whose text changes while it runs.
ATTEMPTS = 5

T = TypeVar("T")
#: The check of a text, or the reason why it was not checked.
Outcome = CheckedDocument | str


class OpenFile:
    """An open file and its last check.

    Attributes:
        document: the text.
        is_checked: whether it is a derivatives file, to be checked.
        outcome: the outcome for the newest checked text.
        checked: the last successful check.
    """

    def __init__(self, document: OpenDocument, is_checked: bool) -> None:
        self.document = document
        self.is_checked = is_checked
        self.is_open = True
        self.outcome: Outcome | None = None
        self.checked: CheckedDocument | None = None
        #: the text of ``outcome``, and the generation of the configurations
        self.outcome_of: tuple[SourceFile, int] | None = None
        #: the memos of earlier texts, and the project of those checks
        self.memos: tuple[Project, Memos] | None = None
        self.lock = asyncio.Lock()
        self.publishing: asyncio.Task[None] | None = None
        self.stop = Event()


class Session:
    """The open files of an editor."""

    def __init__(
        self,
        projects: Projects,
        notify: Callable[[OpenFile, Outcome], Awaitable[None]],
        log: Callable[[str, BaseException], None],
    ) -> None:
        """Create a session without files.

        Args:
            projects: the cache of projects.
            notify: called with every new outcome of a file.
            log: called with unexpected errors.
        """
        self.projects = projects
        self.files: dict[str, OpenFile] = {}
        self._notify = notify
        self._log = log
        self._generation = 0
        self._checks = 0
        gc.set_threshold(*GC_THRESHOLDS)
        # one thread: models and operators compute facts lazily, without locks
        self._engine = ThreadPoolExecutor(max_workers=1, thread_name_prefix="derivlint")

    def open(self, uri: str, version: int, text: str) -> OpenFile:
        """Open a text, in place of an earlier one of this URI."""
        self.close(uri)
        document = OpenDocument(uri, version, text)
        file = self.files[uri] = OpenFile(document, self.projects.is_derivatives_file(document.path))
        return file

    async def redetect_release(self, file: OpenFile) -> bool:
        """Detect the release of a saved standalone file again; return whether it has changed."""
        loop = asyncio.get_running_loop()
        document = file.document
        try:
            detect = self.projects.redetect_release
            return await loop.run_in_executor(self._engine, detect, document.path, document.source)
        except InputError:
            # the error is reported by the next check
            return False

    def close(self, uri: str) -> OpenFile | None:
        """Close a text, and cancel its check."""
        file = self.files.pop(uri, None)
        if file is not None:
            file.is_open = False
            self.projects.forget_file(file.document.path)
            self.cancel_check(file)
            if file.publishing is not None:
                file.publishing.cancel()
        return file

    def cancel_check(self, file: OpenFile) -> None:
        """Cancel the check of the previous text."""
        file.stop.set()
        file.stop = Event()

    def forget(self) -> list[OpenFile]:
        """Discard cached configurations and operators; return the files to check again."""
        self._generation += 1
        self.projects.forget()
        for file in self.files.values():
            self.cancel_check(file)
            file.is_checked = self.projects.is_derivatives_file(file.document.path)
        return [file for file in self.files.values() if file.is_checked]

    async def outcome(self, file: OpenFile) -> Outcome:
        """Return the outcome for the current text."""
        while True:
            if file.outcome is not None and self._is_current(file):
                return file.outcome
            async with file.lock:
                if not self._is_current(file):
                    await self._check(file)

    def _is_current(self, file: OpenFile) -> bool:
        return file.outcome_of is not None and (
            file.outcome_of[0] is file.document.source and file.outcome_of[1] == self._generation
        )

    async def _check(self, file: OpenFile) -> None:
        """Check the current text; an edit cancels the check, whose memos so far are kept."""
        source, generation, stop = file.document.source, self._generation, file.stop
        loop = asyncio.get_running_loop()
        outcome = await loop.run_in_executor(self._engine, self._checked, source, file, stop)
        if outcome is None:
            return
        file.outcome, file.outcome_of = outcome, (source, generation)
        if isinstance(outcome, CheckedDocument):
            file.checked = outcome
            self._checks += 1
            # the second check makes the model of the first text garbage
            if self._checks == 2 or self._checks % CHECKS_PER_COLLECTION == 0:
                # the thread may have been shut down
                with suppress(RuntimeError):
                    loop.run_in_executor(self._engine, _collect)

    def _checked(self, source: SourceFile, file: OpenFile, stop: Event) -> Outcome | None:
        """Check a text on the worker thread; return None if it was cancelled."""
        if len(source.text) > MAX_SOURCE_BYTES:
            return f'cannot check "{source.path}": it has more than {MAX_SOURCE_BYTES // 2**20} MiB'
        try:
            project: Project = self.projects.of(file.document.path, source)
            if file.memos is None or file.memos[0] is not project:
                file.memos = (project, Memos())
            return check(source, project, file.checked, file.memos[1], stop)
        except Cancelled:
            return None
        except InputError as error:
            return "\n".join(error.messages)
        except Exception as error:
            # the next check starts without memos
            file.memos = None
            message = f"internal error: {type(error).__name__}: {error}"
            self._log(message, error)
            return message

    async def run(self, file: OpenFile, find: Callable[[CheckedDocument], T]) -> T | None:
        """Run a function on the check of the current text, on the worker thread; return None if there is no check.

        The analysis is of the current text, or of the last one that parsed as YAML. If the text changes meanwhile, the
        function runs again.
        """
        loop = asyncio.get_running_loop()
        for _ in range(ATTEMPTS):
            checked = await self.outcome(file)
            if not isinstance(checked, CheckedDocument):
                return None
            answer = await loop.run_in_executor(self._engine, find, checked)
            if self._is_current(file):
                return answer
        return None

    def publish_later(self, file: OpenFile) -> None:
        """Publish the outcome for the current text once it is checked; cancel the check of an earlier text."""
        if file.publishing is None or file.publishing.done():
            file.publishing = asyncio.get_running_loop().create_task(self._publish(file))

    async def _publish(self, file: OpenFile) -> None:
        while file.is_open:
            outcome = await self.outcome(file)
            await self._notify(file, outcome)
            if self._is_current(file):
                return

    def shutdown(self) -> None:
        """Cancel all work and stop the worker thread."""
        for uri in list(self.files):
            self.close(uri)
        self._engine.shutdown(wait=False, cancel_futures=True)


def _collect() -> None:
    """Collect cyclic garbage, which takes 0.25 s."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
