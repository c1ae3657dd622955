"""Differentiability of operators and of formulas, for higher orders.

* way (``operators``): how an operator is differentiated: by formula, decomposition, hand-written kernel, or not.
* verdict (``operators``): yes, no, in part or unknown, with the reasons.
* outer mode (``flow``): the mode of the second differentiation; double backward is reverse over reverse.
* flow (``flow``): the operators in a formula that a gradient passes.
* coverage (``coverage``): all verdicts of an operator, for ``derivlint coverage``.
"""
