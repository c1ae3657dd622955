"""Open files and their checks: which text is checked when, on a thread of its own, and who is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import TypeVar

from msgspec.structs import replace

from derivlint.lsp.analysis import Analysis
from derivlint.lsp.checker import Cancelled, Checked, analysis_of, check_whole
from derivlint.lsp.documents import OpenDocument
from derivlint.lsp.incremental import check_edit
from derivlint.lsp.memory import Memory
from derivlint.lsp.workspace import Project, Projects
from derivlint.project.check import model_of
from derivlint.project.errors import InputError
from derivlint.source import SourceFile

#: Seconds between two checks of a file while somebody types; the first edit after a pause is checked at once.
DEBOUNCE = 0.15
#: Seconds without an edit before the whole file is checked again.
QUIET = 0.4
#: Seconds after that before memory is freed, which takes a moment in which no request is answered.
REST = 4.0

#: How often a request is tried whose text changes while it is answered.
ATTEMPTS = 5

T = TypeVar("T")
#: The check of a text, or why there is none.
Outcome = Checked | str


class OpenFile:
    """An open file with what is known of it.

    Attributes:
        document: the text.
        is_checked: whether it is a file to check.
        outcome: the check of the newest text that was checked.
        checked: the last outcome that is a check.
    """

    def __init__(self, document: OpenDocument, is_checked: bool) -> None:
        self.document = document
        self.is_checked = is_checked
        self.is_open = True
        self.outcome: Outcome | None = None
        self.checked: Checked | None = None
        #: the text that ``outcome`` is of, and how often configurations had been read
        self.outcome_of: tuple[SourceFile, int] | None = None
        #: what is known of a text that was checked in part only, without a check, and that text
        self.modelled: tuple[SourceFile, Analysis] | None = None
        self.lock = asyncio.Lock()
        self.publishing: asyncio.Task[None] | None = None
        self.confirming: asyncio.Task[None] | None = None
        self.stop = Event()
        self.last_check = 0.0


class Session:
    """The open files of an editor."""

    def __init__(
        self,
        projects: Projects,
        tell: Callable[[OpenFile, Outcome], Awaitable[None]],
        log: Callable[[str, BaseException], None],
    ) -> None:
        """Begin without files.

        Args:
            projects: knows what files are checked with.
            tell: is called with every new outcome of a file that the editor may want to know.
            log: is called with what nobody expected.
        """
        self.projects = projects
        self.files: dict[str, OpenFile] = {}
        self._tell = tell
        self._log = log
        self._generation = 0
        self._memory = Memory()
        # one thread: the models and the operators work things out when they are asked, and are no place for two
        self._engine = ThreadPoolExecutor(max_workers=1, thread_name_prefix="derivlint")

    def open(self, uri: str, version: int, text: str) -> OpenFile:
        """Take a text that the editor opened."""
        self.close(uri)
        document = OpenDocument(uri, version, text)
        file = self.files[uri] = OpenFile(document, self.projects.is_derivatives_file(document.path))
        return file

    async def saved(self, file: OpenFile) -> bool:
        """Detect the release of a lone file that was saved; whether it is another one than before."""
        loop = asyncio.get_running_loop()
        document = file.document
        try:
            detect = self.projects.detect_again
            return await loop.run_in_executor(self._engine, detect, document.path, document.source)
        except InputError:
            # the next check says why there is none
            return False

    def close(self, uri: str) -> OpenFile | None:
        """Forget a text that the editor closed."""
        file = self.files.pop(uri, None)
        if file is not None:
            file.is_open = False
            self.projects.closed(file.document.path)
            self._interrupt(file)
            for task in (file.publishing, file.confirming):
                if task is not None:
                    task.cancel()
        return file

    def edited(self, file: OpenFile) -> None:
        """Stop what is done for the text before."""
        self._interrupt(file)

    def _interrupt(self, file: OpenFile) -> None:
        file.stop.set()
        file.stop = Event()

    def forget(self) -> list[OpenFile]:
        """Read configurations and operators again; the files that are to be checked again."""
        self._generation += 1
        self.projects.forget()
        for file in self.files.values():
            self._interrupt(file)
            file.is_checked = self.projects.is_derivatives_file(file.document.path)
        return [file for file in self.files.values() if file.is_checked]

    async def outcome(self, file: OpenFile) -> Outcome:
        """The check of the present text, or why there is none."""
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
        source, generation, before = file.document.source, self._generation, file.checked
        loop = asyncio.get_running_loop()
        outcome = await loop.run_in_executor(self._engine, self._outcome_of, source, file.document.path, before)
        file.last_check = loop.time()
        file.outcome, file.outcome_of = outcome, (source, generation)
        if isinstance(outcome, Checked):
            file.checked = outcome
            if not outcome.is_final:
                self._confirm_later(file)

    def _outcome_of(self, source: SourceFile, path: Path, before: Checked | None) -> Outcome:
        """Check a text, on the thread for it; only what an edit can have changed, where that is possible."""
        try:
            project: Project = self.projects.of(path, source)
            found = check_edit(source, project, before) if before is not None else None
            if found is not None:
                self._memory.checked_part()
                return found
            whole = check_whole(source, project, before)
            self._memory.checked_whole()
            return whole
        except InputError as error:
            return "\n".join(error.messages)
        except Exception as error:
            message = f"internal error: {type(error).__name__}: {error}"
            self._log(message, error)
            return message

    def _confirm_later(self, file: OpenFile) -> None:
        if file.confirming is not None:
            file.confirming.cancel()
        file.confirming = asyncio.get_running_loop().create_task(self._confirm(file))

    async def _confirm(self, file: OpenFile) -> None:
        """Check the whole text when it has been left alone for a while; what is known of it is right from then on."""
        await asyncio.sleep(QUIET)
        partial = file.checked
        if partial is None or not self._is_current(file) or partial.source is not file.document.source:
            return
        loop = asyncio.get_running_loop()
        whole = await loop.run_in_executor(self._engine, self._whole, partial, file.stop)
        if whole is None or not file.is_open or file.checked is not partial or not self._is_current(file):
            return
        file.outcome = file.checked = whole
        if whole.result_id != partial.result_id:
            await self._tell(file, whole)
        await asyncio.sleep(REST)
        await loop.run_in_executor(self._engine, self._memory.rest)

    def _whole(self, partial: Checked, stop: Event) -> Checked | None:
        try:
            whole = check_whole(partial.source, partial.project, partial, stop)
        except (Cancelled, InputError):
            return None
        except Exception as error:
            self._log(f"internal error: {type(error).__name__}: {error}", error)
            return None
        self._memory.checked_whole()
        return whole

    async def run(self, file: OpenFile, find: Callable[[Checked], T]) -> T | None:
        """What a function finds in the present text, on the thread for checks; None where there is no check.

        The function is given the check with what is known of the present text, or of the last one that was YAML. Where
        the text changes meanwhile it is asked again; who types on has no use for the answer.
        """
        loop = asyncio.get_running_loop()
        for _ in range(ATTEMPTS):
            checked = await self.outcome(file)
            if not isinstance(checked, Checked):
                return None
            if file.confirming is not None and not checked.is_final:
                # somebody waits: the whole file can wait
                self._interrupt(file)
                self._confirm_later(file)
            modelled = file.modelled
            if not checked.is_final and (modelled is None or modelled[0] is not checked.source):
                analysis = await loop.run_in_executor(self._engine, _modelled, checked)
                file.modelled = modelled = (checked.source, analysis)
            if not self._is_current(file):
                continue
            if not checked.is_final and modelled is not None:
                checked = replace(checked, analysis=modelled[1])
            found = await loop.run_in_executor(self._engine, find, checked)
            if self._is_current(file):
                return found
        return None

    def publish_later(self, file: OpenFile) -> None:
        """Tell the editor of the present text soon: at once after a pause, else as often as is useful."""
        if file.publishing is None or file.publishing.done():
            file.publishing = asyncio.get_running_loop().create_task(self._publish(file))

    async def _publish(self, file: OpenFile) -> None:
        loop = asyncio.get_running_loop()
        while file.is_open:
            wait = file.last_check + DEBOUNCE - loop.time()
            if wait > 0 and file.outcome is not None:
                await asyncio.sleep(wait)
            outcome = await self.outcome(file)
            await self._tell(file, outcome)
            if self._is_current(file):
                return

    def shutdown(self) -> None:
        """End all work."""
        for uri in list(self.files):
            self.close(uri)
        self._engine.shutdown(wait=False, cancel_futures=True)


def _modelled(checked: Checked) -> Analysis:
    """The model of a text that was checked in part only, without a check."""
    model = model_of(checked.source, checked.project.loaded.natives, checked.project.settings)
    return analysis_of(checked.source, checked.project, model, None, checked.base)
