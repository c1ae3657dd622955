"""Formulas evaluated on tensors of a few elements, where a dimension, a mask or an index decides what comes out.

A tensor is a list of numbers with its sizes. What operators do to single elements is what they do in
:mod:`derivlint.meaning.one_element`.
"""
