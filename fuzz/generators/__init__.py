"""Makers of inputs, one module for each kind; all of them take their randomness from the number of the input."""
