"""Open files and their checks: which text is checked when, on a thread of its own, and who is notified."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

from derivlint.lint.engine.kept import Kept, Stopped
from derivlint.lsp.checker import CheckedDocument, check
from derivlint.lsp.documents import OpenDocument
from derivlint.lsp.memory import Memory
from derivlint.lsp.slips import make_slips
from derivlint.lsp.workspace import Project, Projects
from derivlint.model import Model
from derivlint.project.errors import InputError
from derivlint.source import SourceFile

#: Seconds without an edit before memory is freed, which takes a moment in which no request is answered.
REST = 4.0

#: Seconds until the editor knows of a check.
SHOWN = 0.02

#: How often a request is tried whose text changes while it is answered.
ATTEMPTS = 5

T = TypeVar("T")
#: The check of a text, or why there is none.
Outcome = CheckedDocument | str


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
        self.checked: CheckedDocument | None = None
        #: the text that ``outcome`` is of, and how often configurations had been read
        self.outcome_of: tuple[SourceFile, int] | None = None
        #: the model of ``checked``, or of the check after it; earlier ones are discarded
        self.newest: Model | None = None
        #: what was found last, perhaps by a check that was stopped, and what it was checked with
        self.kept: tuple[Project, Kept | None] | None = None
        self.lock = asyncio.Lock()
        self.publishing: asyncio.Task[None] | None = None
        self.resting: asyncio.Task[None] | None = None
        self.stop = Event()


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
            log: is called with what no one expected.
        """
        self.projects = projects
        self.files: dict[str, OpenFile] = {}
        self._tell = tell
        self._log = log
        self._generation = 0
        self._memory = Memory()
        #: the project whose texts are checked as fast as they ever will be
        self._ready: Project | None = None
        self._freeing: set[asyncio.Task[None]] = set()
        self._is_shut_down = False
        # one thread: the models and the operators work things out when they are asked, and are not place for two
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
            self._memory.let_go()
            self.projects.closed(file.document.path)
            self._interrupt(file)
            for task in (file.publishing, file.resting):
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
        self._memory.let_go()
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
        """Check the present text; an edit meanwhile stops that, and what was found until then is kept."""
        source, generation, stop = file.document.source, self._generation, file.stop
        loop = asyncio.get_running_loop()
        before, known = file.newest, (file.outcome, file.checked, file.kept)
        outcome = await loop.run_in_executor(self._engine, self._outcome_of, source, file, stop)
        # to free what was known of the text before takes a moment, and the editor comes first
        freeing = loop.create_task(self._free(_freed(before if before is not file.newest else None, known)))
        self._freeing.add(freeing)
        freeing.add_done_callback(self._freeing.discard)
        if outcome is None:
            return
        file.outcome, file.outcome_of = outcome, (source, generation)
        if isinstance(outcome, CheckedDocument):
            file.checked = outcome
            self._rest_later(file)

    def _outcome_of(self, source: SourceFile, file: OpenFile, stop: Event) -> Outcome | None:
        """Check a text, on the thread for it; None where that was stopped."""
        try:
            project: Project = self.projects.of(file.document.path, source)
            kept = file.kept[1] if file.kept is not None and file.kept[0] is project else None
            try:
                found = check(source, project, file.checked, kept, stop)
            except Stopped as stopped:
                file.kept = (project, stopped.kept or kept)
                return None
            file.kept = (project, found.kept or kept)
            file.newest = found.analysis.model
            if found.kept is not None:
                # many edits follow
                found.kept.prepare()
            if self._ready is not project:
                self._ready = project
                make_slips(found)
            self._memory.checked()
            return found
        except InputError as error:
            return "\n".join(error.messages)
        except Exception as error:
            message = f"internal error: {type(error).__name__}: {error}"
            self._log(message, error)
            return message

    async def _free(self, parts: Iterator[None]) -> None:
        """Free what was known of an earlier text, a part at a time, when nothing is checked."""
        run = asyncio.get_running_loop().run_in_executor
        while True:
            await asyncio.sleep(SHOWN)
            while not any(file.lock.locked() for file in self.files.values()):
                # the thread has ended with the server, or nothing is left
                if self._is_shut_down or await run(self._engine, lambda: next(parts, True) is True):
                    return

    def _rest_later(self, file: OpenFile) -> None:
        if file.resting is not None:
            file.resting.cancel()
        file.resting = asyncio.get_running_loop().create_task(self._rest())

    async def _rest(self) -> None:
        await asyncio.sleep(REST)
        await asyncio.get_running_loop().run_in_executor(self._engine, self._memory.rest)

    async def run(self, file: OpenFile, find: Callable[[CheckedDocument], T]) -> T | None:
        """What a function finds in the present text, on the thread for checks; None where there is no check.

        The function is given the check with what is known of the present text, or of the last one that was YAML. Where
        the text changes meanwhile it is asked again; who types on has no use for the answer.
        """
        loop = asyncio.get_running_loop()
        for _ in range(ATTEMPTS):
            checked = await self.outcome(file)
            if not isinstance(checked, CheckedDocument):
                return None
            found = await loop.run_in_executor(self._engine, _find_in, checked, find)
            if found is not None and self._is_current(file):
                return found[0]
        return None

    def publish_later(self, file: OpenFile) -> None:
        """Tell the editor of the present text as soon as it is checked; the check of a text that is gone stops."""
        if file.publishing is None or file.publishing.done():
            file.publishing = asyncio.get_running_loop().create_task(self._publish(file))

    async def _publish(self, file: OpenFile) -> None:
        while file.is_open:
            outcome = await self.outcome(file)
            await self._tell(file, outcome)
            if self._is_current(file):
                return

    def shutdown(self) -> None:
        """End all work."""
        for uri in list(self.files):
            self.close(uri)
        self._is_shut_down = True
        self._engine.shutdown(wait=False, cancel_futures=True)


def _freed(model: Model | None, known: object) -> Iterator[None]:
    """Frees a model, a part at each step, and then what else was known of its text when no one else knows it."""
    if model is not None:
        yield from model.discard_in_parts()


def _find_in(checked: CheckedDocument, find: Callable[[CheckedDocument], T]) -> tuple[T] | None:
    """What a function finds; None where a later text was checked meanwhile."""
    return None if checked.analysis.model.is_discarded else (find(checked),)
