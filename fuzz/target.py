"""What is fuzzed: a target makes inputs and judges what derivlint does with one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random


class Violation(Exception):  # noqa: N818  # what it says of derivlint, not of the suite
    """Something that derivlint must not do.

    Attributes:
        kind: what went wrong, in words that are the same for every input that shows it.
        detail: what was seen.
    """

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind = kind
        self.detail = detail


def require(holds: bool, kind: str, detail: object = "") -> None:
    """Expect something of derivlint.

    Raises:
        Violation: it does not hold.
    """
    if not holds:
        raise Violation(kind, str(detail)[:2000])


@dataclass(frozen=True)
class Target:
    """One way into derivlint.

    Attributes:
        name: what the command line and the corpus call it.
        weight: its share of the inputs, relative to the others.
        generate: makes an input.
        execute: gives derivlint an input and judges what it does; returns what has to be the same when it is done
            again. Raises :class:`Violation`, or whatever derivlint raises.
        seconds: the processor time that an input may take.
        is_costly: whether one input takes so long that it is not done twice, to compare, and seldom to minimise.
    """

    name: str
    weight: float
    generate: Callable[[Random], bytes]
    execute: Callable[[bytes], object]
    seconds: float = 2.0
    is_costly: bool = False
