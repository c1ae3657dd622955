"""Groups of rules, which are selected, ignored and given severities like rules; options of rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

#: The value of an option; a list has names of functions or arguments, or patterns.
OptionValue = bool | int | str | tuple[str, ...]


class Option(Struct, frozen=True):
    """An option of a rule.

    Attributes:
        name: its key in the configuration, in kebab case.
        default: its default, which has the option's type.
        doc: its effect, as a phrase.
        minimum: the minimum of a number.
        choices: the valid strings; empty for any.
    """

    name: str
    default: OptionValue
    doc: str
    minimum: int = 0
    choices: tuple[str, ...] = ()


class Options:
    """The values of a rule's options; undeclared names raise ``KeyError``."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, OptionValue] | None = None) -> None:
        self._values = dict(values or {})

    @classmethod
    def of(cls, options: tuple[Option, ...]) -> Options:
        """Make options with their defaults."""
        return cls({option.name: option.default for option in options})

    def changed(self, values: Mapping[str, OptionValue]) -> Options:
        """Return a copy with other values for some options."""
        return Options({**self._values, **values})

    def __getitem__(self, name: str) -> OptionValue:
        return self._values[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._values)))

    def __repr__(self) -> str:
        return f"Options({self._values!r})"

    def flag(self, name: str) -> bool:
        """The value of a boolean option."""
        value = self._values[name]
        assert isinstance(value, bool)
        return value

    def number(self, name: str) -> int:
        """The value of an integer option."""
        value = self._values[name]
        assert isinstance(value, int)
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """The value of an option with a list of names."""
        value = self._values[name]
        assert isinstance(value, tuple)
        return value

    def lists(self, name: str, word: str) -> bool:
        """Whether a list of names or patterns, such as ``my_*``, matches a word."""
        names = self.names(name)
        if not names:
            return False
        # fnmatch is imported on demand: most runs configure nothing
        from fnmatch import fnmatchcase

        return any(fnmatchcase(word, pattern) for pattern in names)


Group: TypeAlias = Literal[
    "arguments",
    "complex",
    "differentiability",
    "dispatch",
    "foreach",
    "gradients",
    "higher-order",
    "keys",
    "names",
    "numbers",
    "precision",
    "registration",
    "saving",
    "schema",
    "shapes",
    "style",
    "suppressions",
    "syntax",
    "tangents",
    "types",
    "views",
    "yaml",
]

#: The topic of each group, in listing order, from files to values.
GROUPS: dict[Group, str] = {
    "yaml": "the file and its entries as YAML",
    "schema": "the operator that an entry is about",
    "keys": "which arguments and outputs have formulas",
    "registration": "which operators get an autograd kernel of their entry, and what it lacks",
    "dispatch": "formulas for single dispatch keys",
    "differentiability": "which outputs and arguments are differentiable",
    "syntax": "formulas as C++ expressions, and the words that stand for a whole formula",
    "names": "the names that formulas use",
    "types": "the types of C++ in formulas",
    "arguments": "what calls are given for which parameter",
    "gradients": "backward formulas: linear in the gradients, and right",
    "tangents": "forward formulas: linear in the tangents, and right",
    "complex": "conjugates",
    "shapes": "the sizes of gradients, tangents and operands",
    "precision": "integers, casts and digits that are lost",
    "views": "views, aliases and what is written in place",
    "saving": "what is saved for the backward pass",
    "foreach": "foreach operators, which share formulas with others",
    "higher-order": "derivatives of the formulas themselves",
    "style": "what is right and could be better",
    "suppressions": "the comments that silence findings",
    "numbers": "what running formulas finds (derivlint verify)",
}
