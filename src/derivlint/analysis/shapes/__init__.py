"""Evaluation of formulas on tensor sizes: whether operands match, and whether gradients have the sizes of inputs.

* case (``cases``): arguments of an operator, with a different prime for the size of each dimension.
* size evaluator (``evaluate``): a formula, compiled into a function of sizes.
* sized signature (``compare``): an operator at one case, with the sizes of its outputs.
* wrong shape (``compare``): sizes that the autograd engine or forward mode would refuse.
* judgement (``compare``): all wrong shapes of an entry, computed once; begin with ``shape_judgement_of``.
"""
