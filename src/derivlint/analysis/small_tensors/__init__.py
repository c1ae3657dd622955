"""Evaluation of formulas on small tensors, where a dimension, a mask or an index determines the result.

* small tensor (``tensor``): sizes and a list of elements; views are strides over linear indices.
* lifted operator (``domain``): an elementwise operator of ``scalar_evaluation``, applied to each element.
* table (``tensor``): the other operators, from ``view_ops``, ``index_ops``, ``reduce_ops``, ``products``, ``windows``.
* seed (``inputs``): a gradient or tangent with different numbers everywhere, as the arguments have.
* judgement (``compare``): the formulas of an entry that are wrong, computed once; begin with ``small_tensors_of``.
"""
