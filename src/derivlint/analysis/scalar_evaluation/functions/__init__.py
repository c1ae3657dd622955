"""The functions of scalar evaluation, by names of operators and helpers."""
