"""Derivatives of whole graphs, from the entries of a derivatives file."""
