"""Abstract interpretation of typed formulas.

* degree (``degree``): how an expression depends on the seeds: zero, constant, linear, affine, nonlinear.
* seed (``analysis.typed``): an output gradient or a tangent.
* dependence (``facts``): how an expression depends on a variable: by its value, or by its metadata only.
* fact (``facts``): degree, dependence and aliases of one expression; ``interpret`` computes it for every expression.
* callee (``callee``, ``derived_calls``): a called function, its arguments bound to parameters.
* operator degrees (``operators``): degrees by the operator book, bodies of helpers, and other entries.
"""
