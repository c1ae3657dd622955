"""Scalar evaluation of formulas, where each tensor has one element and is represented by a number.

Formulas must also be right for one-element tensors, for which a matrix product is a product of numbers and a sum the
identity, so that they are easily compared with derivatives of the operator.

* point (``points``, ``compare``): values of an operator's arguments and outputs, and seeds.
* seed (``points``): a gradient or tangent at a point.
* reference operator (``reference``): the operator's own value, and its derivatives by finite differences.
* formula check (``compare``): the state of a formula's comparison with the reference, point by point.
* implementation (``functions.table``, ``domain``): an operator or helper on numbers, from the table or by definition.
* judgement (``judgement``): all mistakes of an entry's formulas, computed once; begin here.
"""
