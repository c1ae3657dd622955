"""Questions about a file and their answers, each with the dependencies of the answer.

An answer is worked out once. Meanwhile everything is recorded that is read in the file as a whole: entries by a key
(:class:`~derivlint.model.index.EntryIndex`), and facts of the file (:mod:`derivlint.model.memos`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from derivlint.model.memos import Dependency

T = TypeVar("T")


class Answers:
    """The answers about one text, with their dependencies.

    Attributes:
        is_recording: whether dependencies are recorded.
        active: the dependencies of the answer that is worked out now, its own and those of the answers that it uses.
    """

    def __init__(self, *, is_recording: bool) -> None:
        self.is_recording = is_recording
        self._answers: dict[tuple[Hashable, ...], tuple[Any, frozenset[Dependency]]] = {}
        #: equal sets are one object, so that few have to be joined
        self._sets: dict[frozenset[Dependency], frozenset[Dependency]] = {}
        self._single: dict[Dependency, frozenset[Dependency]] = {}
        self.active: dict[int, frozenset[Dependency]] | None = None

    def ask(self, find: Callable[..., T], *subject: Hashable) -> T:
        """The answer of a function, worked out when it is needed for the first time.

        Args:
            find: a pure function of its arguments, of this text and of the operators.
            subject: its arguments.
        """
        question = (find, *subject)
        known = self._answers.get(question)
        if known is None:
            known = self._answers[question] = self.recorded(find, *subject)
        answer, dependencies = known
        if dependencies:
            # as :meth:`use`, without a call: no function is called more often
            if self.active is None:
                self.active = {id(dependencies): dependencies}
            else:
                self.active[id(dependencies)] = dependencies
        return answer  # type: ignore[no-any-return]

    def use(self, dependencies: frozenset[Dependency]) -> None:
        """Record that an answer with these dependencies is used."""
        if self.active is None:
            self.active = {id(dependencies): dependencies}
        else:
            self.active[id(dependencies)] = dependencies

    def record(self, dependency: Dependency) -> None:
        """Record a dependency."""
        if not self.is_recording:
            return
        single = self._single.get(dependency)
        if single is None:
            single = self._single[dependency] = frozenset((dependency,))
        self.use(single)

    def recorded(self, find: Callable[..., T], *subject: object) -> tuple[T, frozenset[Dependency]]:
        """The answer of a function, and its dependencies."""
        outer, self.active = self.active, None
        try:
            answer = find(*subject)
            return answer, self.dependencies()
        finally:
            self.active = outer

    def dependencies(self) -> frozenset[Dependency]:
        """The dependencies since this was called last, or since an answer began to be worked out."""
        active, self.active = self.active, None
        if active is None:
            return _NOTHING
        if len(active) == 1:
            return next(iter(active.values()))
        joined = _NOTHING.union(*active.values())
        return self._sets.setdefault(joined, joined)


_NOTHING: frozenset[Dependency] = frozenset()
