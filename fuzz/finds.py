"""What an input shows: a find has a key that is the same for all inputs that show the same."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from fuzz.case import Case
from fuzz.limits import TooSlowError, bounded
from fuzz.target import Target, Violation

#: How often an input is run to make it smaller.
_TRIALS = 250


@dataclass(frozen=True)
class Find:
    """Something found.

    Attributes:
        target: the name of the target.
        key: what is wrong, the same for every input that shows it.
        detail: what was seen.
        index: the number of the input.
        data: the input, as small as could be made.
    """

    target: str
    key: str
    detail: str
    index: int
    data: bytes


def observed(target: Target, data: bytes, index: int = -1, *, twice: bool = False) -> Find | None:
    """Run an input and see what is wrong; None where nothing is.

    Args:
        target: the target.
        data: the input.
        index: its number.
        twice: whether to run it again and compare.
    """
    try:
        with bounded(target.seconds):
            first = target.execute(data)
        if twice and not target.is_costly:
            with bounded(target.seconds):
                again = target.execute(data)
            if first != again:
                raise Violation("another result of the same input", f"{first!r:.500} and {again!r:.500}")
    except Violation as error:
        return Find(target.name, error.kind, error.detail, index, data)
    except TooSlowError as error:
        where = _place(error.__traceback__)
        return Find(
            target.name, f"more than {target.seconds:g} s of processor time in {where[0]}", _trace(error), index, data
        )
    except RecursionError as error:
        return Find(target.name, f"RecursionError in {_place(error.__traceback__)[0]}", _trace(error), index, data)
    except Exception as error:
        module, function = _place(error.__traceback__)
        return Find(target.name, f"{type(error).__name__} in {module}.{function}", _trace(error), index, data)
    return None


def _place(trace: TracebackType | None) -> tuple[str, str]:
    """The module and the function of derivlint that an error came through last."""
    found = ("?", "?")
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", "?"))
        if module.startswith("derivlint") or found[0] == "?":
            found = module, trace.tb_frame.f_code.co_name
        trace = trace.tb_next
    return found


def _trace(error: BaseException) -> str:
    lines = traceback.format_exception(error)
    return "".join(lines if len(lines) < 24 else [*lines[:4], "...\n", *lines[-16:]])[-4000:]


class _Smaller:
    """Makes an input smaller as long as it shows the same."""

    def __init__(self, target: Target, find: Find) -> None:
        self._target = target
        self._find = find
        self._trials = 8 if target.is_costly else _TRIALS

    def _shows(self, data: bytes) -> bool:
        self._trials -= 1
        seen = observed(self._target, data)
        return seen is not None and seen.key == self._find.key

    def data(self) -> bytes:
        try:
            case = Case.decoded(self._find.data)
        except ValueError:
            return self._cut(self._find.data, lambda part: part)
        return self._smaller_case(case).encoded()

    def _smaller_case(self, case: Case) -> Case:
        for name in sorted(case.files):
            without = Case(case.arguments, {key: value for key, value in case.files.items() if key != name}, case.stdin)
            if self._trials > 0 and self._shows(without.encoded()):
                case = without
        at = len(case.arguments)
        while at > 1:
            at -= 1
            without = Case((*case.arguments[:at], *case.arguments[at + 1 :]), case.files, case.stdin)
            if self._trials > 0 and self._shows(without.encoded()):
                case = without
        for name in sorted(case.files):

            def with_file(part: bytes, case: Case = case, name: str = name) -> bytes:
                return Case(case.arguments, {**case.files, name: part}, case.stdin).encoded()

            case = Case(case.arguments, {**case.files, name: self._cut(case.files[name], with_file)}, case.stdin)
        return case

    def _cut(self, data: bytes, whole: Callable[[bytes], bytes]) -> bytes:
        """Leave out parts, large ones first."""
        size = len(data) // 2
        while size > 0 and self._trials > 0:
            at = 0
            while at < len(data) and self._trials > 0:
                shorter = data[:at] + data[at + size :]
                if self._shows(whole(shorter)):
                    data = shorter
                else:
                    at += size
            size //= 2
        return data


def smaller(target: Target, find: Find) -> Find:
    """The find with a smaller input, where that is quickly found."""
    if "processor time" in find.key or " MB" in find.key:
        return find
    return Find(find.target, find.key, find.detail, find.index, _Smaller(target, find).data())
