"""Differentiability of operators, and of formulas once more.

* way (``operators``): how an operator is differentiated: by a formula, by decomposition, by hand, or not.
* verdict (``operators``): yes, no, in part or unknown, with the reasons.
* outer mode (``flow``): the mode in which a formula is differentiated again; double backward is reverse over reverse.
* flow (``flow``): the operators through which a gradient flows in a formula.
* coverage (``coverage``): all verdicts of an operator, for ``derivlint coverage``.
"""
