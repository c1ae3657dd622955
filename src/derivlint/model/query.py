"""Questions about a file and their answers, each with what of the file as a whole it rests on.

An answer is worked out once. While that happens, everything is noted that is looked up in the file as a whole: entries
by a name (:class:`~derivlint.model.index.EntryIndex`), and facts of the whole file. What was found in one entry holds
in another text as long as the entry is the same and all that was looked up would be found again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Read(NamedTuple):
    """Something that was looked up in the file as a whole.

    Attributes:
        source: the index that was asked, or the fact.
        key: the name that was looked up, or what the fact is about.
        whole: whether the entries that were found count with all their text, not only with what the index holds.
    """

    source: str
    key: str
    whole: bool = False


class Answers:
    """What was worked out of one text, each answer with what was looked up for it.

    Attributes:
        is_noted: whether it is noted what is looked up; where no other text follows, no one asks.
        noted: what is looked up for the answer that is worked out now, by itself and for the answers that it uses.
    """

    def __init__(self, *, is_noted: bool) -> None:
        self.is_noted = is_noted
        self._answers: dict[tuple[Hashable, ...], tuple[Any, frozenset[Read]]] = {}
        #: equal sets are one object, so that few have to be put together
        self._sets: dict[frozenset[Read], frozenset[Read]] = {}
        self._single: dict[Read, frozenset[Read]] = {}
        self.noted: dict[int, frozenset[Read]] | None = None

    def ask(self, find: Callable[..., T], *subject: Hashable) -> T:
        """What a function answers, worked out when it is asked for the first time.

        Args:
            find: a pure function of its arguments, of this text and of the operators.
            subject: its arguments.
        """
        question = (find, *subject)
        known = self._answers.get(question)
        if known is None:
            known = self._answers[question] = self.recorded(find, *subject)
        answer, reads = known
        if reads:
            # as :meth:`use`, without a call: no function is called more often
            if self.noted is None:
                self.noted = {id(reads): reads}
            else:
                self.noted[id(reads)] = reads
        return answer  # type: ignore[no-any-return]

    def use(self, reads: frozenset[Read]) -> None:
        """An answer is used for which all this was looked up."""
        if self.noted is None:
            self.noted = {id(reads): reads}
        else:
            self.noted[id(reads)] = reads

    def note(self, read: Read) -> None:
        """Something is looked up."""
        if not self.is_noted:
            return
        single = self._single.get(read)
        if single is None:
            single = self._single[read] = frozenset((read,))
        self.use(single)

    def recorded(self, find: Callable[..., T], *subject: object) -> tuple[T, frozenset[Read]]:
        """What a function answers, and all that is looked up for it."""
        outer, self.noted = self.noted, None
        try:
            answer = find(*subject)
            return answer, self.looked_up()
        finally:
            self.noted = outer

    def looked_up(self) -> frozenset[Read]:
        """What was looked up since this was asked last, or since an answer began to be worked out."""
        noted, self.noted = self.noted, None
        if noted is None:
            return _NOTHING
        if len(noted) == 1:
            return next(iter(noted.values()))
        reads = _NOTHING.union(*noted.values())
        return self._sets.setdefault(reads, reads)


_NOTHING: frozenset[Read] = frozenset()
