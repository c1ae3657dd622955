"""What formulas mean: an abstract interpretation of their typed syntax trees, for rules, editor and back ends."""

from derivlint.meaning.meaning import Meaning, meaning_of
from derivlint.meaning.typed import TypedFormula

__all__ = ["Meaning", "TypedFormula", "meaning_of"]
