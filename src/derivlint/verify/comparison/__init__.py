"""Compares formulas with finite differences, one another, and the installed PyTorch."""
