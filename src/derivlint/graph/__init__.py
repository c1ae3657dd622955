"""Derivatives of whole graphs, from the entries of a derivatives file.

Begin with :mod:`derivlint.graph.gradient` (``differentiate``). ``ir`` defines graphs, ``reader`` and ``printer`` their
text, ``expression`` reads expressions, ``reverse`` and ``forward`` are the two modes, ``lowering`` turns a formula into
nodes, ``passes`` simplifies, ``refusal`` names what cannot be differentiated.
"""
