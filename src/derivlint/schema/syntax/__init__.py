"""Operator schemas as text and as objects."""
