"""Parsing of formulas to syntax trees: :mod:`derivlint.formula.parsing.parser`."""
