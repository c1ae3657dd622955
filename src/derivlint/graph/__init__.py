"""Derivatives of whole graphs, from the entries of a derivatives file.

Begin with :mod:`derivlint.graph.differentiation.gradient` (``differentiate``). ``ir`` defines graphs, ``syntax`` reads
and prints them, ``differentiation`` has the two modes and names what cannot be differentiated, ``lowering`` turns a
formula into nodes, ``passes`` simplifies.
"""
