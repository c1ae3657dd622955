"""What formulas are compared with: finite differences, one another, and the installed PyTorch."""
