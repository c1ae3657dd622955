"""Checking formulas numerically against an installed PyTorch, which is not rebuilt."""
