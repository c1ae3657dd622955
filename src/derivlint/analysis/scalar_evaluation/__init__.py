"""Scalar evaluation of formulas: a tensor has one element and is a number.

Every formula also has to be right for one-element tensors. There a matrix product is a product of numbers, a sum is the
identity, and formulas can be evaluated and compared with the derivatives of the operator.

* point (``points``, ``compare``): values of an operator's arguments and outputs, and seeds.
* seed (``points``): a gradient or tangent at a point.
* reference operator (``reference``): the operator's own value, and its derivatives by finite differences.
* formula check (``compare``): a formula while it is compared with the reference at one point after the other.
* implementation (``functions.table``, ``domain``): an operator or helper on numbers, from the table or by definition.
* judgement (``judgement``): all mistakes of an entry's formulas, computed once; begin here.
"""
