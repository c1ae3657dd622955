"""Evaluation of formulas on small tensors, for operators with dimensions, masks or indices.

* small tensor (``tensor``): sizes and a list of elements; views are strides over linear indices.
* lifted operator (``domain``): an elementwise operator of ``scalar_evaluation``, applied to each element.
* table (``tensor``): the other operators, from ``view_ops``, ``index_ops``, ``reduce_ops``, ``products``, ``windows``.
* seed (``inputs``): a gradient or tangent with distinct elements, as in arguments.
* judgement (``compare``): the wrong formulas of an entry; begin with ``small_tensors_of``.
"""
