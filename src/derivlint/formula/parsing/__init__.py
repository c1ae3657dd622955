"""From the text of a formula to its syntax tree: :mod:`derivlint.formula.parsing.parser`."""
