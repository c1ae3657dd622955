"""The parser from formulas to syntax trees: :mod:`derivlint.formula.parsing.parser`."""
