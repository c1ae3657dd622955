"""Scalar evaluation of formulas: a tensor has one element and is a number.

Every formula also has to be right for one-element tensors. There a matrix product is a product of numbers, a sum is the
identity, and formulas can be evaluated and compared with the derivatives of the operator. Begin with ``judgement``;
``compare`` compares a formula with ``truth``, the derivative of the operator by finite differences.
"""
