"""Derivatives of whole graphs, from the entries of a derivatives file.

Terms: graph, block, node and value (``ir``); entries, which have the formulas of each node
(``differentiation.entries``); and the gradient of a graph, named after ``torch::jit::Gradient``
(``differentiation.gradient``). Begin with :mod:`derivlint.graph.differentiation.reverse` (``differentiate``). ``ir``
defines graphs, ``syntax`` reads and prints them, ``differentiation`` has the two modes and reports what cannot be
differentiated, ``lowering`` turns a formula into nodes, ``passes`` simplifies. ``evaluate`` runs a graph with PyTorch,
``checking`` compares derivatives.
"""
