"""What a node saves although no formula uses it, because torchgen finds names by matching text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from derivlint.formula import Word
    from derivlint.model.entry import DerivativeFormula, DispatchBody
    from derivlint.model.saved_attribute import SavedAttribute


class AccidentalSave(Struct, frozen=True):
    """One value that is saved for nothing.

    Attributes:
        written: the first formula that asks for it.
        saved: the value.
        word: the word that torchgen takes for a use.
    """

    written: DerivativeFormula
    saved: SavedAttribute
    word: Word


def accidental_saves(body: DispatchBody) -> list[AccidentalSave]:
    """The values that every formula of one dispatch key saves by accident, in file order."""
    info = body.info
    if info is None:
        return []
    used: set[str] = set()
    saves: dict[str, AccidentalSave] = {}
    for derivative in sorted(info.derivatives, key=lambda item: item.written.index if item.written is not None else -1):
        for saved in (*derivative.saved_inputs, *derivative.saved_outputs):
            if not saved.accidental:
                used.add(saved.name)
            elif derivative.written is not None and saved.word is not None:
                saves.setdefault(saved.name, AccidentalSave(derivative.written, saved, saved.word))
    return [item for name, item in saves.items() if name not in used]
