"""The slips of ``python_habits.txt`` in entries of PyTorch's file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from derivlint.lint import Diagnostic
from derivlint.model import Model, build_model
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

_FILE = Path(__file__).parent / "python_habits.txt"
_COLUMN = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Habit:
    """A slip: the operator and the key of its entry, the formula with it, as it is meant, and where findings are."""

    operator: str
    key: str
    slip: str
    meant: str
    tokens: tuple[str, ...]


def habits() -> Iterator[Habit]:
    """The slips of the file."""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("# "):
            operator, key, slip, meant, tokens = (column.strip().replace("\\|", "|") for column in _COLUMN.split(line))
            yield Habit(operator, key, slip, meant, tuple(tokens.split(", ")))


class HabitJudge:
    """Checks entries of PyTorch's file with another formula.

    Attributes:
        natives: the operators.
        model: PyTorch's file.
    """

    def __init__(self, source: SourceFile, natives: NativeFunctions) -> None:
        self.natives = natives
        self.model: Model = build_model(source, natives)
        self._entries = {entry.operator: entry for entry in self.model.entries}
        self._rules = Settings().selected(load_rules())

    def entry_text(self, habit: Habit, formula: str, style: str = "literal") -> str:
        """The entry with a formula under the key of a slip."""
        entry = self._entries[habit.operator]
        assert entry.name is not None
        lines = [f"- name: {entry.name.value}"]
        formulas = {item.key_text: item.text or "" for item in entry.bodies[0].formulas}
        for key, text in {**formulas, habit.key: formula}.items():
            if key != habit.key or style == "double":
                escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
                lines.append(f'  {key}: "{escaped}"')
            elif style == "folded":
                lines += [f"  {key}: >-", *(f"    {line}" for line in text.split("\n"))]
            else:
                lines += [f"  {key}: |-", *(f"    {line}" for line in text.split("\n"))]
        return "\n".join(lines) + "\n"

    def check(self, text: str) -> tuple[Diagnostic, ...]:
        """What is found in an entry."""
        return self.checked(SourceFile("derivatives.yaml", text)).shown

    def checked(self, source: SourceFile) -> CheckedFile:
        """The check of a text, for fixes."""
        return check_source(source, self.natives, Settings(), self._rules)

    def formula(self, text: str, key: str) -> str:
        """The formula under a key of the only entry of a text."""
        entry = build_model(SourceFile("derivatives.yaml", text), self.natives).entries[0]
        return next(formula.text or "" for formula in entry.formulas if formula.key_text == key)

    @staticmethod
    def tokens(text: str, found: tuple[Diagnostic, ...], style: str) -> list[str]:
        """The source that findings are at."""
        tokens = [text[item.span.start : item.span.end] for item in found]
        return [token.replace('\\"', '"') for token in tokens] if style == "double" else tokens
