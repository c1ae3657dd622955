"""Scalar evaluation of formulas: a tensor has one element and is a number.

Every formula has to be right for tensors with one element, too. There a product of matrices is a product of numbers, a
sum is the identity, and formulas can be evaluated and compared with the derivatives of the operator.
"""
