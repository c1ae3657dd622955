"""Derivatives of whole graphs, from the entries of a derivatives file.

The terms are graph, block, node and value (``ir``), entries (``differentiation.entries``), which give each node its
formulas, and the gradient of a graph (``differentiation.gradient``), named like ``torch::jit::Gradient``. Begin with
:mod:`derivlint.graph.differentiation.reverse` (``differentiate``). ``ir`` defines graphs, ``syntax`` reads and prints
them, ``differentiation`` has the two modes and reports what cannot be differentiated, ``lowering`` turns a formula into
nodes, ``passes`` simplifies. ``evaluate`` runs a graph with PyTorch, ``checking`` compares derivatives.
"""
