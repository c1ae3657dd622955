"""The derivatives of graphs, forward and reverse."""
