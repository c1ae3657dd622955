"""Evaluation of formulas on tensor sizes: whether operands match, and gradients have the sizes of inputs.

* case (``cases``): arguments of an operator, whose dimensions have different primes as sizes.
* size evaluator (``evaluate``): a formula compiled to a function of sizes.
* sized signature (``compare``): an operator in one case, with the sizes of its outputs.
* wrong shape (``compare``): sizes that the autograd engine or forward mode would reject.
* judgement (``compare``): all wrong shapes of an entry, computed once; begin with ``shape_judgement_of``.
"""
