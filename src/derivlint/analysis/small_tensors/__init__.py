"""Evaluation of formulas on small tensors, where a dimension, a mask or an index determines the result.

A tensor is a list of numbers with its sizes. Elementwise operators are lifted from
:mod:`derivlint.analysis.scalar_evaluation`; the others are in the tables here. Begin with ``compare``.
"""
