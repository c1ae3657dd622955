"""Linter, static checker and code generator for PyTorch's derivatives.yaml."""

__version__ = "0.1.0"
