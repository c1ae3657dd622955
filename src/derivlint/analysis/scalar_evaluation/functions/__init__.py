"""The functions that scalar evaluation has of its own, by the names of operators and helpers."""
