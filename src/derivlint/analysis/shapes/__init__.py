"""Evaluation of formulas on tensor sizes: whether operands match, and whether gradients have the sizes of inputs.

Begin with ``judgement``; ``cases`` chooses sizes, a different prime for each dimension, ``evaluate`` runs a formula on
them, ``compare`` checks what the autograd engine and forward mode check.
"""
