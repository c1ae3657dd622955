"""Formulas in the one-element world, where a tensor is a number.

Every formula has to be right for tensors with one element, too. There a product of matrices is a product of numbers, a
sum is the identity, and formulas can be evaluated and compared with the derivatives of the operator.
"""

from derivlint.meaning.one_element.compare import Disagreement
from derivlint.meaning.one_element.judgement import Judgement, judgement_of
from derivlint.meaning.one_element.ties import WrongShares

__all__ = ["Disagreement", "Judgement", "WrongShares", "judgement_of"]
