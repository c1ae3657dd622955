"""What checks find: failures by rule, and how much was compared."""

from __future__ import annotations

from msgspec import Struct, field

WRONG_VJP = "wrong-vjp"
WRONG_JVP = "wrong-jvp"
INCONSISTENT = "inconsistent-vjp-jvp"
WRONG_SECOND = "wrong-second-derivative"
WRONG_UNDEFINED = "wrong-undefined-gradient"
MASK_IGNORED = "mask-ignored"
WRONG_SHAPE = "wrong-gradient-shape"
CRASH = "crash"
OTHER_CONVENTION = "different-convention"

#: An error that says more is cut.
LONGEST = 160


class Failure(Struct, frozen=True):
    """A check that failed.

    Attributes:
        function: the number of the function.
        rule: what is wrong.
        what: which argument or output it is about.
        expected: the number that differences, or the other way to compute it, gave.
        found: what the formula gave; None where it gave none.
        said: the message, where it is about something else than numbers.
    """

    function: int
    rule: str
    what: str
    expected: float | None = None
    found: float | None = None
    said: str = ""


class Tally(Struct):
    """What was done.

    Attributes:
        compared: comparisons of a derivative with another one.
        unjudged: those that could not be made.
        functions: the functions whose derivative was compared at least once.
        nonzero: those of them whose derivative was not always zero.
    """

    compared: int = 0
    unjudged: int = 0
    functions: set[int] = field(default_factory=set)
    nonzero: set[int] = field(default_factory=set)

    def count(self, function: int, expected: float, found: float) -> None:
        """Count a comparison."""
        self.compared += 1
        self.functions.add(function)
        if expected or found:
            self.nonzero.add(function)


def first_line(error: Exception) -> str:
    """What an error says, without what follows in further lines or, where that is long, sentences."""
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return line if len(line) <= LONGEST else line[:LONGEST].rpartition(". ")[0] or f"{line[:LONGEST]}..."
